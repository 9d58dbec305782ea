package histories

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
)

func record(t testing.TB, clients int, use func(*Recorder)) []byte {
	t.Helper()
	var file bytes.Buffer
	rec, err := NewRecorder(&file, Header{Lock: "test", TTL: Nanos(time.Second)}, clients)
	if err != nil {
		t.Fatal(err)
	}
	use(rec)
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// read returns the lines of a history and the warnings of the Reader.
func read(t testing.TB, text []byte) ([]Line, []string, error) {
	t.Helper()
	r, err := NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	var lines []Line
	for {
		l, err := r.Next()
		if err == io.EOF {
			return lines, r.Warnings, nil
		}
		if err != nil {
			return lines, r.Warnings, err
		}
		lines = append(lines, l)
	}
}

func TestRecordAndRead(t *testing.T) {
	file := record(t, 1, func(rec *Recorder) {
		l := rec.Log(0)
		l.Call(Op{Kind: Acquire, Hold: l.NextHold(), Key: `a "key" – €`, Wait: Unlimited})
		l.Return(Result{Outcome: OK, Depth: 2, SentAfter: 3, Validity: Unbounded, Fence: 7, Value: -1})
		l.Call(Op{Kind: Write, Hold: 1, Key: "k", Value: 9})
		l.Return(Result{Outcome: Refused, Error: "stale\n"})
		rec.Log(Harness).Inject(Op{Key: "k", Fault: "server-pause"})(OK, "")
		rec.Log(0).Inject(Op{Fault: "holder-kill", Value: Gone})(Refused, "no such process")
		rec.Log(0).Note(Op{Kind: Heal, Fault: "holder-kill", Outcome: OK, Call: rec.Since()})
	})
	lines, warnings, err := read(t, file)
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	var ops []Op
	for _, l := range lines {
		if !l.Mark {
			op := l.Op
			if op.Call < 0 || op.Return < op.Call || op.Due != op.Call {
				t.Errorf("times of %+v", op)
			}
			op.Due, op.Call, op.Return = 0, 0, 0
			ops = append(ops, op)
		}
	}
	want := []Op{
		{Hold: 1, Kind: Acquire, Outcome: OK, Depth: 2, Wait: Unlimited, Key: `a "key" – €`, SentAfter: 3, Validity: Unbounded, Fence: 7, Value: -1},
		{Hold: 1, Kind: Write, Outcome: Refused, Key: "k", Value: 9, Error: "stale\n"},
		{Kind: Inject, Outcome: Refused, Fault: "holder-kill", Value: Gone, Error: "no such process"},
		{Kind: Heal, Outcome: OK, Fault: "holder-kill"},
		{Client: Harness, Kind: Inject, Outcome: OK, Key: "k", Fault: "server-pause"},
	}
	if d := gocmp.Diff(want, ops); d != "" {
		t.Error(d)
	}
	if !lines[len(lines)-1].Mark {
		t.Error("a closed history ends with a mark")
	}
}

func TestLifeRisesAfterAnIndeterminateAcquireOrRelease(t *testing.T) {
	file := record(t, 1, func(rec *Recorder) {
		l := rec.Log(0)
		for _, step := range []struct {
			kind Kind
			end  Outcome
		}{{Acquire, Unknown}, {Acquire, OK}, {Write, Unknown}, {Release, Unknown}, {Acquire, Refused}, {Acquire, OK}} {
			l.Call(Op{Kind: step.kind, Key: "k"})
			l.Return(Result{Outcome: step.end})
		}
	})
	lines, _, err := read(t, file)
	if err != nil {
		t.Fatal(err)
	}
	var lives []int32
	for _, l := range lines {
		if !l.Mark {
			lives = append(lives, l.Op.Life)
		}
	}
	if want := []int32{0, 1, 1, 1, 2, 2}; !slices.Equal(lives, want) {
		t.Errorf("lives %v, want %v", lives, want)
	}
}

// TestReplayDeliversAllEvents checks that a replay has all events in order, even if marks (times up to which the file
// is complete) were written during recording.
func TestReplayDeliversAllEvents(t *testing.T) {
	const clients, each = 4, 3000
	file := record(t, clients, func(rec *Recorder) {
		var wg sync.WaitGroup
		marked := make(chan struct{}) // closed after the first mark, so that the clients perform operations after a mark; a mark is a time up to which the file is complete
		mark := sync.OnceFunc(func() { close(marked) })
		for c := range clients {
			wg.Go(func() {
				l := rec.Log(int32(c))
				for i := range each {
					if i == each/2 {
						<-marked
					}
					l.Call(Op{Kind: Acquire, Key: "k"})
					l.Return(Result{Outcome: OK})
				}
			})
		}
		done := make(chan struct{})
		go func() { wg.Wait(); close(done) }()
		for {
			select {
			case <-done:
				return
			case <-rec.Full():
				rec.Drain()
			default:
				rec.Mark(0)
				mark()
			}
		}
	})
	r, err := NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	var last time.Duration
	calls, returns := 0, 0
	cover, err := Replay(r.Next, func(ev Event) error {
		if ev.Time() < last {
			return fmt.Errorf("an event at %v after one at %v", ev.Time(), last)
		}
		last = ev.Time()
		if ev.Return {
			returns++
		} else {
			calls++
		}
		return nil
	})
	if err != nil || calls != clients*each || returns != clients*each || cover.LeftOut != 0 || cover.Marks < 2 {
		t.Errorf("%v: %d calls, %d returns, %+v", err, calls, returns, cover)
	}
}

func TestOpenOperationsAreListedAtAMark(t *testing.T) {
	file := record(t, 2, func(rec *Recorder) {
		rec.Log(0).Call(Op{Kind: Acquire, Key: "k"})
		rec.Mark(0)
		rec.Mark(0)
		rec.Log(0).Return(Result{Outcome: OK})
		rec.Log(1).Call(Op{Kind: Acquire, Key: "k"})
	})
	r, err := NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	if _, err := Replay(r.Next, func(ev Event) error {
		got = append(got, fmt.Sprint(ev.Op.Client, ev.Return))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"0 false", "0 true", "1 false"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestOpenFaultsAreListedAtAMark checks that each mark lists every fault that has not ended. A mark is a time up to
// which the file is complete, including the start of each fault.
func TestOpenFaultsAreListedAtAMark(t *testing.T) {
	file := record(t, 1, func(rec *Recorder) {
		l := rec.Log(0)
		killed := l.Inject(Op{Fault: "holder-kill", Value: Gone})
		paused := l.Inject(Op{Fault: "process-pause"})
		l.Call(Op{Kind: Acquire, Key: "k"})
		rec.Mark(0)
		rec.Mark(0)
		paused(Unknown, "not seen")
		l.Return(Result{Outcome: OK})
		killed(OK, "")
		l.Inject(Op{Fault: "partition"})
	})
	want := []string{"holder-kill false 1", "process-pause false 0", " false 0", "process-pause true 0", " true 0", "holder-kill true 1", "partition false 0"}
	got, ops := replayed(t, file)
	if !slices.Equal(got, want) || ops != 4 {
		t.Errorf("%d operations, %q, want 4, %q", ops, got, want)
	}
}

// replayed returns each event of a history as text, and the number of operations. The text of an event is the fault's
// name, whether the event is a return, and the value.
func replayed(t *testing.T, text []byte) (got []string, ops int) {
	t.Helper()
	r, err := NewReader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	cover, err := Replay(r.Next, func(ev Event) error {
		got = append(got, fmt.Sprint(ev.Op.Fault, " ", ev.Return, " ", ev.Op.Value))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got, cover.Ops
}

// TestEventsAtTheTimeOfAMark checks the order of events at the time of a mark. A mark is a time up to which the file is
// complete. Calls come before returns, even if the call is on a line after the mark.
func TestEventsAtTheTimeOfAMark(t *testing.T) {
	lines := []Line{
		{Op: Op{Client: 0, Kind: Acquire, Outcome: OK, Call: 5, Return: 10}},
		{Mark: true, At: 10},
		{Op: Op{Client: 1, Kind: Release, Outcome: OK, Call: 10, Return: 12}},
		{Mark: true, At: 20},
	}
	i := 0
	var got []string
	_, err := Replay(func() (Line, error) {
		if i == len(lines) {
			return Line{}, io.EOF
		}
		i++
		return lines[i-1], nil
	}, func(ev Event) error {
		got = append(got, fmt.Sprint(ev.Op.Client, ev.Return))
		return nil
	})
	if want := []string{"0 false", "1 false", "0 true", "1 true"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, want %v (%v)", got, want, err)
	}
}

// TestKilledRun checks that a truncated history file can be read and judged up to the last complete mark. A mark states
// that the file is complete up to a time.
func TestKilledRun(t *testing.T) {
	file := record(t, 1, func(rec *Recorder) {
		for i := range 2000 {
			rec.Log(0).Call(Op{Kind: Acquire, Hold: int64(i), Key: fmt.Sprint("k", i)})
			rec.Log(0).Return(Result{Outcome: OK})
			if i%100 == 0 {
				rec.Mark(0)
			}
		}
	})
	for cut := len(file) - 1; cut > len(file)/2; cut -= 37 {
		r, err := NewReader(bytes.NewReader(file[:cut]))
		if err != nil {
			t.Fatal(err)
		}
		cover, err := Replay(r.Next, func(ev Event) error { return nil })
		if err != nil {
			t.Fatalf("cut at %d of %d: %v", cut, len(file), err)
		}
		if len(r.Warnings) == 0 || cover.Marks == 0 {
			t.Errorf("cut at %d: warnings %v, %+v", cut, r.Warnings, cover)
		}
	}
}

const header = `{"lockbench":1}` + "\n"

func TestTruncatedLine(t *testing.T) {
	text := header + `{"client":0,"kind":"acquire","call":1,"return":2,"outcome":"ok"}` + "\n" + `{"client":0,"kind":"rele`
	lines, warnings, err := read(t, []byte(text))
	if err != nil || len(lines) != 1 || len(warnings) != 1 {
		t.Fatal(lines, warnings, err)
	}
	if want := fmt.Sprint("byte ", strings.LastIndex(text, "\n")+1); !strings.Contains(warnings[0], want) {
		t.Errorf("%q does not name %s", warnings[0], want)
	}
	// A malformed line that is not the last line is an error.
	if _, _, err := read(t, []byte(text+"\n"+`{"mark":5}`+"\n")); err == nil || !strings.Contains(err.Error(), "line 3") {
		t.Errorf("got %v, want an error that names line 3", err)
	}
}

func TestMalformed(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"empty":             {"", "line 1"},
		"no header":         {`{"client":0,"kind":"acquire","call":1}` + "\n", `"lockbench":2`},
		"newer":             {`{"lockbench":3,"what":{"is":"this"}}` + "\n", "version 3, this lockbench reads up to version 2"},
		"unknown in header": {`{"lockbench":1,"lok":"x"}` + "\n", "lok"},
		"unknown field":     {header + `{"client":0,"kind":"acquire","call":1,"retrun":2}` + "\n", `line 2: unknown field "retrun"`},
		"fault elsewhere":   {header + `{"client":0,"kind":"acquire","call":1,"fault":"x"}` + "\n", `"fault" belongs to an inject or a heal, not to kind acquire`},
		"wait elsewhere":    {header + `{"client":0,"kind":"release","call":1,"wait":"try"}` + "\n", `"wait" belongs to an acquire, not to kind release`},
		"wait below 0":      {header + `{"client":0,"kind":"acquire","call":1,"wait":-2}` + "\n", "from 0 on"},
		"open heal":         {header + `{"client":0,"kind":"heal","call":1,"fault":"x"}` + "\n", `a heal needs a "return"`},
		"twice":             {header + `{"client":0,"kind":"acquire","call":1,"call":2}` + "\n", `"call" occurs twice`},
		"unknown kind":      {header + `{"client":0,"kind":"lock","call":1}` + "\n", `unknown kind "lock" (one of acquire, `},
		"no kind":           {header + `{"client":0,"call":1}` + "\n", `needs a "kind"`},
		"no call":           {header + `{"client":0,"kind":"acquire"}` + "\n", `needs a "call"`},
		"backwards":         {header + `{"client":0,"kind":"acquire","call":5,"return":4}` + "\n", "before its call"},
		"ok without return": {header + `{"client":0,"kind":"acquire","call":5,"outcome":"ok"}` + "\n", `without a "return"`},
		"mark and more":     {header + `{"mark":1,"client":0}` + "\n", "a mark has no other fields"},
		"nested":            {header + `{"client":{"a":1},"kind":"acquire","call":5}` + "\n", "want a string or a whole number"},
		"float":             {header + `{"client":0,"kind":"acquire","call":5.5}` + "\n", "want a comma"},
		"negative time":     {header + `{"client":0,"kind":"acquire","call":-5}` + "\n", "from 0 on"},
		"client too low":    {header + `{"client":-2,"kind":"acquire","call":5}` + "\n", "from -1"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := read(t, []byte(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

func TestReplayRefusesOverlappingOperations(t *testing.T) {
	ops := []Op{{Kind: Acquire, Call: 1, Return: 5, Outcome: OK}, {Kind: Release, Call: 4, Return: 6, Outcome: OK}}
	if _, err := Replay(Ops(ops), func(Event) error { return nil }); err == nil || !strings.Contains(err.Error(), "client 0") {
		t.Errorf("got %v", err)
	}
}

// TestReplayOrder checks that the events of random histories are replayed in order of time, with and without marks.
func TestReplayOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		ops, lines := randomLines(r)
		var want []string
		events := func(next func() (Line, error)) (out []string, err error) {
			_, err = Replay(next, func(ev Event) error {
				out = append(out, fmt.Sprint(ev.Time(), ev.Return, ev.Op.Client, ev.Op.Hold))
				return nil
			})
			return out, err
		}
		want, err := events(Ops(ops))
		if err != nil {
			t.Fatal(err)
		}
		i := 0
		got, err := events(func() (Line, error) {
			if i == len(lines) {
				return Line{}, io.EOF
			}
			i++
			return lines[i-1], nil
		})
		slices.Sort(want) // ignore the order of calls at equal times
		slices.Sort(got)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("%v\n%s", err, gocmp.Diff(want, got))
		}
	}
}

// randomLines returns a random history twice: as plain operations, and as lines with marks as a Recorder writes them.
func randomLines(r *rand.Rand) (ops []Op, lines []Line) {
	for c := range int32(3) {
		at := time.Duration(0)
		for hold := range int64(5) {
			call := at + time.Duration(1+r.IntN(9))
			at = call + time.Duration(r.IntN(9))
			ops = append(ops, Op{Client: c, Hold: hold, Kind: Acquire, Outcome: OK, Due: call, Call: call, Return: at})
		}
	}
	slices.SortStableFunc(ops, func(a, b Op) int { return cmp.Compare(a.Return, b.Return) })
	end := ops[len(ops)-1].Return
	for i, mark := 0, time.Duration(0); mark <= end; {
		mark = min(mark+time.Duration(1+r.IntN(20)), end+1)
		for ; i < len(ops) && ops[i].Return <= mark; i++ {
			lines = append(lines, Line{Op: ops[i]})
		}
		for _, op := range ops[i:] {
			if op.Call <= mark {
				op.Return, op.Outcome = StillOpen, Unknown
				lines = append(lines, Line{Op: op})
			}
		}
		lines = append(lines, Line{Mark: true, At: mark})
	}
	return ops, lines
}

func TestFullDiskIsReported(t *testing.T) {
	rec, err := NewRecorder(&limited{left: 500}, Header{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 * logCapacity { // no other goroutine drains the log, so the client drains it
		rec.Log(0).Call(Op{Kind: Acquire, Key: fmt.Sprint(rand.Uint64(), i)})
		rec.Log(0).Return(Result{Outcome: OK})
	}
	if err := rec.Mark(0); err != errFull {
		t.Errorf("got %v, want %v", err, errFull)
	}
}

var errFull = fmt.Errorf("no space left on device")

type limited struct{ left int }

func (l *limited) Write(b []byte) (int, error) {
	if l.left -= len(b); l.left < 0 {
		return 0, errFull
	}
	return len(b), nil
}

func FuzzReader(f *testing.F) {
	files, _ := filepath.Glob("corpus/*.jsonl")
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	z, _ := zstd.NewWriter(nil)
	f.Add(z.EncodeAll([]byte(header+`{"mark":1}`+"\n"), nil))
	f.Add([]byte(header + `{"client":0,"kind":"acquire","key":"\u00e9\"","call":"1.5ms","return":2000000,"outcome":"ok"}`))
	f.Add([]byte(header + `{"client":3,"kind":"inject","fault":"holder-kill","call":1,"return":2,"outcome":"ok","value":1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		lines, _, err := read(t, text)
		for _, l := range lines { // encoding a decoded operation and decoding it again must return the same operation
			if l.Mark {
				continue
			}
			var again Op
			if err := again.UnmarshalJSON(AppendOp(nil, &l.Op)); err != nil || again != l.Op {
				t.Fatalf("%+v became %+v: %v", l.Op, again, err)
			}
		}
		if err == nil {
			Replay(func() func() (Line, error) {
				i := 0
				return func() (Line, error) {
					if i == len(lines) {
						return Line{}, io.EOF
					}
					i++
					return lines[i-1], nil
				}
			}(), func(Event) error { return nil })
		}
	})
}

// BenchmarkRecord records the call and the return of one operation. The goals are 150 ns and no allocation.
func BenchmarkRecord(b *testing.B) {
	rec, err := NewRecorder(io.Discard, Header{}, 1)
	if err != nil {
		b.Fatal(err)
	}
	l := rec.Log(0)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		l.Call(Op{Kind: Acquire, Hold: int64(i), Key: "k0"})
		l.Return(Result{Outcome: OK, Validity: 5 * time.Second})
		if i%(logCapacity/2) == 0 {
			b.StopTimer()
			rec.Drain()
			b.StartTimer()
		}
	}
}

// BenchmarkEncode encodes and compresses one operation.
func BenchmarkEncode(b *testing.B) {
	e, err := newEncoder(io.Discard)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		at := time.Duration(i) * 20_123
		op := Op{Client: int32(i % 8), Hold: int64(i / 2), Kind: Acquire, Outcome: OK, Key: "k0", Due: at, Call: at, Return: at + 123_456, SentAfter: 99_000, Validity: 5 * time.Second}
		if i%2 == 1 {
			op.Kind, op.SentAfter, op.Validity = Release, 0, 0
		}
		if err := e.op(&op); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRead parses one operation from JSON.
func BenchmarkRead(b *testing.B) {
	var text bytes.Buffer
	text.WriteString(header)
	op := Op{Client: 3, Hold: 12345, Kind: Acquire, Outcome: OK, Key: "k0", Due: 1e9, Call: 1e9, Return: 1e9 + 123_456, SentAfter: 99_000, Validity: 5 * time.Second}
	line := append(AppendOp(nil, &op), '\n')
	for b.Loop() {
		r := Reader{keys: map[string]string{}}
		if _, err := r.parse(line[:len(line)-1]); err != nil {
			b.Fatal(err)
		}
	}
}
