package edn

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"lockbench/histories"
)

// read returns the lines of a history and the warnings of the Reader.
func read(t testing.TB, text []byte) ([]histories.Line, []string, error) {
	t.Helper()
	r, err := histories.NewReader(bytes.NewReader(text), Format)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	var lines []histories.Line
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

// ednLines returns the operations of an EDN history. The test fails on errors and warnings.
func ednLines(t *testing.T, text string) []histories.Op {
	t.Helper()
	lines, warnings, err := read(t, []byte(text))
	if err != nil || len(warnings) > 0 {
		t.Fatalf("%v, warnings %q, of:\n%s", err, warnings, text)
	}
	var ops []histories.Op
	for _, l := range lines {
		if !l.Mark {
			ops = append(ops, l.Op)
		}
	}
	return ops
}

func TestEDNOperations(t *testing.T) {
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		text string
		want []histories.Op
	}{
		"two entries are one operation": {
			`{:type :invoke, :f :acquire, :process 4, :time 1000000, :index 0, :value nil}
			 {:type :ok, :f :acquire, :process 4, :time 2000000, :index 1, :value nil, :key "k0", :fence 7, :validity 5000000}`,
			[]histories.Op{{Client: 4, Kind: histories.Acquire, Outcome: histories.OK, Key: "k0", Due: ms, Call: ms, Return: 2 * ms, Validity: 5 * ms, Fence: 7}},
		},
		"tuples, synonyms, and a fence in the value": {
			`({:type :invoke :f :lock :process 0 :time 1 :value [:a nil]} {:type :fail :f :lock :process 0 :time 2 :value [:a nil] :error :busy}
			  {:type :invoke :f :lock :process 0 :time 3 :value [7 nil]} {:type :ok :f :lock :process 0 :time 4 :value [7 {:fence 3}]})`,
			[]histories.Op{{Kind: histories.Acquire, Outcome: histories.Refused, Key: ":a", Due: 1, Call: 1, Return: 2, Error: ":busy"},
				{Kind: histories.Acquire, Outcome: histories.OK, Key: "7", Due: 3, Call: 3, Return: 4, Fence: 3}},
		},
		"after :info a process that goes on has another life, and what is open stays open": {
			`{:type :invoke :f :release :process 1} {:type :info :f :release :process 1}
			 {:type :invoke :f :read :process 1}`,
			[]histories.Op{{Client: 1, Kind: histories.Release, Key: onlyKey, Due: 1, Call: 1, Return: 2},
				{Client: 1, Life: 1, Kind: histories.Read, Key: onlyKey, Due: 3, Call: 3, Return: histories.StillOpen}},
		},
		"a nemesis is two entries": {
			`[{:type :info :f :kill :process :nemesis :time 5 :value {:n1 :x}} {:type :info :f :kill :process :nemesis :time 8 :value #{"n1"}}
			  {:type :info :f :stop-partition :process :nemesis :time 9}]`,
			[]histories.Op{{Client: histories.Harness, Kind: histories.Inject, Outcome: histories.OK, Due: 5, Call: 5, Return: 8, Fault: "kill"},
				{Client: histories.Harness, Kind: histories.Heal, Outcome: histories.OK, Due: 9, Call: 9, Return: 9, Fault: "stop-partition"}},
		},
		"entries of one time keep their order": {
			`{:type :invoke :f :write :process 0 :time 5 :value 1} {:type :ok :f :write :process 0 :time 5 :value 1}
			 {:type :invoke :f :read :process 0 :time 5} {:type :ok :f :read :process 0 :time 5 :value 1}`,
			[]histories.Op{{Kind: histories.Write, Key: onlyKey, Outcome: histories.OK, Value: 1, Due: 5, Call: 5, Return: 6}, {Kind: histories.Read, Key: onlyKey, Outcome: histories.OK, Value: 1, Due: 7, Call: 7, Return: 8}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, ednLines(t, c.text)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestEDNMalformed(t *testing.T) {
	const first = "{:type :invoke :f :acquire :process 0 :time 5}\n"
	for _, c := range []struct{ text, want string }{
		{"{:type :invoke\n", "line 1: the text ends within a form"},
		{first + "{:type :ok\n :f :acquire]\n", "line 2: a ] without its opening bracket"},
		{first + "{:type :ok :f}", "line 2: a map with a key that has no value"},
		{first + "{:type :ok :type :ok}", "line 2: :type occurs twice"},
		{first + "{:type :ok :f :acquire :time 6}", "line 2: an operation needs a :process"},
		{first + "{:type :okay :f :acquire :process 0 :time 6}", "line 2: :type: want one of :invoke :ok :fail :info, got :okay"},
		{first + "{:type :ok :f :cas :process 0 :time 6}", `line 2: :f: unknown kind "cas" (one of acquire`},
		{first + "{:type :ok :f :release :process 0 :time 6}", "line 2: process 0 ends :release with :ok, but what it invoked at line 1 is :acquire"},
		{first + "{:type :ok :f :acquire :process 1 :time 6}", "line 2: process 1 ends :acquire with :ok, and did not invoke it"},
		{first + first, "line 2: process 0 invokes :acquire while its :acquire of line 1 is open"},
		{first + "{:type :ok :f :acquire :process 0 :time 4}", "line 2: :time 4 is before 5"},
		{first + "{:type :ok :f :acquire :process 0 :index 1}", "line 2: no :time, which the first operation has"},
		{first + "{:type :ok :f :acquire :process :p :time 6}", "line 2: :process: want a whole number or :nemesis, got :p"},
		{first + "{:type :ok :f :acquire :process 0 :time 6.5}", "line 2: :time: want a whole number from 0"},
		{first + "{:type :invoke :f :write :process 1 :time 6 :value \"x\"}", "line 2: :value of a write: want a whole number, got x"},
		{first + "{:type :invoke :f :write :process 1 :time 6}\n{:type :ok :f :write :process 1 :time 7}", "line 3: :value of a write: want a whole number, got none"},
		{first + `{:type :ok :f "\q"}`, `line 2: \q in a string`},
		{first + "^{:a 1}", "line 2: metadata"},
		{first + "[1 2]", "line 2: want a map such as"},
		{"[" + strings.TrimSpace(first) + "] 1", "line 1: unexpected text after the vector"},
		{strings.Repeat("[", 100), "line 1: nested more than 64 deep"},
		{`{:type :info :process :nemesis :f :lockbench :value "{\"lockbench\":3}"}`, "format version 3"},
		{first + `{:type :info :process :nemesis :f :lockbench :time 6 :value "{}"}`, "line 2: a header that is not the first entry"},
	} {
		if _, _, err := read(t, []byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want %q, got %v, of:\n%s", c.want, err, c.text)
		}
	}
}

func TestEDNTruncated(t *testing.T) {
	const first = "{:type :invoke :f :acquire :process 0}\n{:type :ok :f :acquire :process 0}\n"
	for text, want := range map[string]string{
		first + "{:type :invoke :f":      "the file ends within line 3, at byte 74",
		"[" + first:                      "the file ends at line 3 without its closing bracket",
		first + `{:type :invoke :f "x`:   "the file ends within line 3",
		"[" + first + "{:type #jepsen.h": "the file ends within line 3",
	} {
		lines, warnings, err := read(t, []byte(text))
		if err != nil || len(lines) != 2 || len(warnings) != 1 || !strings.Contains(warnings[0], want) {
			t.Errorf("got %d lines, %q, %v, of:\n%s", len(lines), warnings, err, text)
		}
	}
}

// TestEDNMemoryIsBounded checks that the reader adds marks at regular intervals. A mark is a time up to which the
// history is complete, so marks limit the memory of a replay.
func TestEDNMemoryIsBounded(t *testing.T) {
	var text strings.Builder
	for i := range 3 * markEvery {
		fmt.Fprintf(&text, "{:type :invoke :f :acquire :process %d}{:type :fail :f :acquire :process %d}\n", i%5, i%5)
	}
	text.WriteString("{:type :invoke :f :acquire :process 0}\n")
	r, err := histories.NewReader(strings.NewReader(text.String()), Format)
	if err != nil {
		t.Fatal(err)
	}
	cover, err := histories.Replay(r.Next, func(histories.Event) error { return nil })
	if err != nil || cover.Marks != 7 || cover.Ops != 3*markEvery+1 || cover.LeftOut != 0 {
		t.Errorf("%+v, %v", cover, err)
	}
}

// FuzzEDN checks that arbitrary text never causes a panic. Valid EDN must not change when it is exported and read
// again.
func FuzzEDN(f *testing.F) {
	files, _ := filepath.Glob("../corpus/*.edn")
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	files, _ = filepath.Glob("../corpus/*.jsonl")
	for _, name := range files {
		var out bytes.Buffer
		if _, err := Export(&out, name); err != nil {
			f.Fatal(err)
		}
		f.Add(out.Bytes())
	}
	f.Add([]byte(`{:type :invoke :f :w :process 0 :value -1} {:type :info :f :w, :process 0 :error "\u00e9\"" :x ##NaN :c [\{ #inst "2026"]}`))
	f.Add([]byte(`{:type :invoke :f :inject :process :nemesis :client 2 :fault "kill" :call 0 :value 1} {:type :info :f :inject :process :nemesis :client 2 :fault "kill" :call 0 :value 1} {:type :info :f :cut :process :nemesis}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if !looksLikeEDN(bufio.NewReader(bytes.NewReader(text))) {
			return
		}
		if lines, _, err := read(t, text); err != nil || len(lines) > markEvery {
			return
		}
		want := events(t, text)
		var out bytes.Buffer
		_, err := export(&out, func() (*histories.Reader, error) { return histories.NewReader(bytes.NewReader(text), Format) })
		if err != nil {
			t.Skip("a header that cannot be written:", err)
		}
		if diff := cmp.Diff(want, events(t, out.Bytes())); diff != "" {
			t.Fatalf("the history changed (-want +got):\n%s\n%s", diff, out.Bytes())
		}
	})
}

// events returns the calls and returns of a history. A call has only the fields that are known when the operation is
// called.
func events(t *testing.T, text []byte) []histories.Event {
	t.Helper()
	r, err := histories.NewReader(bytes.NewReader(text), Format)
	if err != nil {
		t.Fatalf("%v, of:\n%s", err, text)
	}
	var all []histories.Event
	_, err = histories.Replay(r.Next, func(ev histories.Event) error {
		op := *ev.Op
		if !ev.Return {
			known := histories.Op{Client: op.Client, Life: op.Life, Hold: op.Hold, Kind: op.Kind, Key: op.Key, Due: op.Due, Call: op.Call}
			if op.Kind == histories.Inject {
				known.Fault, known.Value = op.Fault, op.Value
			}
			op = known
		}
		all = append(all, histories.Event{Op: &op, Return: ev.Return})
		return nil
	})
	if err != nil && err != io.EOF {
		t.Fatalf("%v, of:\n%s", err, text)
	}
	return all
}

// TestOpenFaultsAreListedAtAMark checks that faults that overlap in time are exported and read in order.
func TestOpenFaultsAreListedAtAMark(t *testing.T) {
	var file, out bytes.Buffer
	rec, err := histories.NewRecorder(&file, histories.Header{Lock: "test"}, 1)
	if err != nil {
		t.Fatal(err)
	}
	l := rec.Log(0)
	killed := l.Inject(histories.Op{Fault: "holder-kill", Value: histories.Gone})
	paused := l.Inject(histories.Op{Fault: "process-pause"})
	l.Call(histories.Op{Kind: histories.Acquire, Key: "k"})
	rec.Mark(0)
	rec.Mark(0)
	paused(histories.Unknown, "not seen")
	l.Return(histories.Result{Outcome: histories.OK})
	killed(histories.OK, "")
	l.Inject(histories.Op{Fault: "partition"})
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := export(&out, func() (*histories.Reader, error) { return histories.NewReader(bytes.NewReader(file.Bytes()), Format) }); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, ev := range events(t, out.Bytes()) {
		got = append(got, fmt.Sprint(ev.Op.Fault, " ", ev.Return, " ", ev.Op.Value))
	}
	want := []string{"holder-kill false 1", "process-pause false 0", " false 0", "process-pause true 0", " true 0", "holder-kill true 1", "partition false 0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestExportedPause checks that an export states the longest pause of lockbench, because it has no marks.
func TestExportedPause(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.jsonl")
	text := `{"lockbench":2,"stall_ns":"1ms"}` + "\n" + `{"mark":5,"stall":30000000}` + "\n" + `{"mark":9,"stall":2}` + "\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := Export(&out, path); err != nil {
		t.Fatal(err)
	}
	r, err := histories.NewReader(&out, Format)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got := r.Header.Stall.D(); got != 30*time.Millisecond {
		t.Errorf("the export states a pause of %v", got)
	}
}
