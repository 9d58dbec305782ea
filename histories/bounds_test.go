package histories

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"
)

// unmarked returns a history without marks as text. Its clients acquire and release their own keys. Some operations last for long,
// some happen at the same time, and the last one of each client is open.
func unmarked(r *rand.Rand, clients, each int, order func(a, b Op) int) []byte {
	var ops []Op
	for c := range clients {
		at := time.Duration(0)
		for i := range each {
			at += time.Duration(r.IntN(3))
			op := Op{Client: int32(c), Hold: int64(i/2 + 1), Kind: []Kind{Acquire, Release}[i%2], Outcome: OK, Key: fmt.Sprint("k", c), Call: at}
			if at += time.Duration(1 + r.IntN(20)); r.IntN(100) == 0 {
				at += 500
			}
			if op.Return = at; i == each-1 {
				op.Return, op.Outcome = StillOpen, Unknown
			}
			ops = append(ops, op)
		}
	}
	slices.SortStableFunc(ops, order)
	text := []byte(`{"lockbench":2,"clients":3}` + "\n")
	for _, op := range ops {
		text = fmt.Appendf(text, `{"client":%d,"hold":%d,"kind":%q,"outcome":%q,"key":%q,"call":%d`, op.Client, op.Hold, op.Kind, op.Outcome, op.Key, op.Call)
		if !op.Open() {
			text = fmt.Appendf(text, `,"return":%d`, op.Return)
		}
		text = append(text, "}\n"...)
	}
	return text
}

// visited holds the events that Replay visited, and the number of lines that it had read before the first event.
type visited struct {
	events []Event
	cover  Coverage
	lines  int
}

func replayAll(t *testing.T, r *Reader) (all visited) {
	t.Helper()
	defer r.Close()
	lines := 0
	cover, err := Replay(func() (Line, error) { lines++; return r.Next() }, func(ev Event) error {
		if all.lines == 0 {
			all.lines = lines
		}
		op := *ev.Op
		all.events = append(all.events, Event{&op, ev.Return})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	all.cover = cover
	return all
}

// TestBounds checks that Replay visits the same events with bounds and without, and begins before it has read all lines.
func TestBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for name, c := range map[string]struct {
		order func(a, b Op) int
		early bool
	}{
		"by call":   {func(a, b Op) int { return int(a.Call - b.Call) }, true},
		"by return": {func(a, b Op) int { return cmp.Compare(uint64(a.Return), uint64(b.Return)) }, true}, // open operations are the last
		"by client": {func(a, b Op) int { return int(a.Client - b.Client) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			text := unmarked(r, 3, 2*boundEvery, c.order)
			path := filepath.Join(t.TempDir(), "unmarked.jsonl")
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
			plain, err := NewReader(bytes.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			bounded, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			want, got := replayAll(t, plain), replayAll(t, bounded)
			if !reflect.DeepEqual(got.events, want.events) || got.cover != want.cover {
				t.Errorf("%d events and %+v, want %d and %+v", len(got.events), got.cover, len(want.events), want.cover)
			}
			if early := got.lines < want.lines/2; early != c.early {
				t.Errorf("the first event came after %d of %d lines", got.lines, want.lines)
			}
		})
	}
}

// TestBoundsErrors checks that bounds change neither the line number of an error nor the warning for a truncated file.
func TestBoundsErrors(t *testing.T) {
	text := unmarked(rand.New(rand.NewPCG(3, 4)), 3, 2*boundEvery, func(a, b Op) int { return int(a.Call - b.Call) })
	for name, c := range map[string]struct{ text, want string }{
		"malformed": {string(text) + "{}\n", fmt.Sprintf("line %d: an operation needs a \"kind\"", 3*2*boundEvery+2)},
		"overlap": {string(text) + `{"client":0,"kind":"acquire","outcome":"ok","key":"k0","call":1,"return":2}` + "\n",
			fmt.Sprintf("line %d: client 0 calls at 1ns", 3*2*boundEvery+2)},
		"truncated": {string(text[:len(text)-5]), ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "unmarked.jsonl")
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			r, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			_, err = Replay(r.Next, func(Event) error { return nil })
			switch {
			case c.want == "" && (err != nil || len(r.Warnings) != 1):
				t.Errorf("error %v, warnings %q", err, r.Warnings)
			case c.want != "" && (err == nil || !bytes.Contains([]byte(err.Error()), []byte(c.want))):
				t.Errorf("error %v, want %s", err, c.want)
			}
		})
	}
}
