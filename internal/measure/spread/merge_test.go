package spread

import (
	"bytes"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"lockbench/checker"
	"lockbench/checker/judge"
	"lockbench/histories"
	"lockbench/internal/fleet/clocks"
	"lockbench/workloads"
)

// machine is a simulated agent. Its clock shows offset at time 0, and its rate differs by the given part.
type machine struct {
	offset time.Duration
	rate   float64
}

func (m machine) read(at time.Duration) time.Duration {
	return m.offset + at + time.Duration(float64(at)*m.rate)
}

// began is the true time at which all simulated histories begin.
const began = time.Second

// recording returns the history of the machine's clients. The times of operations are true times.
func (m machine) recording(r *rand.Rand, ops []histories.Op, delay time.Duration) (Recording, error) {
	var all []clocks.Exchange
	for at := began / 2; at < began+2*time.Second; at += 20 * time.Millisecond {
		there := at + time.Duration(r.Int64N(int64(delay)))
		all = append(all, clocks.Exchange{Sent: at, Read: m.read(there), Received: there + time.Duration(r.Int64N(int64(delay)))})
	}
	offset, err := clocks.New(all)
	own := Recording{Header: histories.Header{Version: histories.Version, TTL: histories.Nanos(10 * time.Second)}, Zero: m.read(began), Offset: offset}
	for _, op := range ops {
		op.Due, op.Call, op.Return = m.read(op.Due)-own.Zero, m.read(op.Call)-own.Zero, m.read(op.Return)-own.Zero
		own.Ops, own.Last = append(own.Ops, op), max(own.Last, op.Return)
	}
	return own, err
}

// run simulates a lock with two machines of two clients each. The store grants holds one after the other; with overlap, it grants each
// one that much too early. It returns the operations of each machine, in true times.
func run(r *rand.Rand, overlap time.Duration) (ops [2][]histories.Op) {
	ready := [4]time.Duration{began, began, began, began} // when each client can call again
	free := began
	for hold := int64(1); hold < 200; hold++ {
		client := int32(r.IntN(4))
		for slices.Min(ready[:]) < free && ready[client] > free {
			client = int32(r.IntN(4)) // another client waits already
		}
		call := ready[client] + time.Duration(r.Int64N(int64(100*time.Microsecond)))
		applied := max(call, free-overlap) + time.Duration(r.Int64N(int64(50*time.Microsecond))) // when the store granted it
		granted := applied + time.Duration(r.Int64N(int64(200*time.Microsecond)))
		release := granted + time.Duration(r.ExpFloat64()*float64(3*time.Millisecond)) + 1
		freed := release + time.Duration(r.Int64N(int64(200*time.Microsecond)))
		done := freed + time.Duration(r.Int64N(int64(200*time.Microsecond)))
		free, ready[client] = max(free, freed), done+1
		of := &ops[client%2]
		*of = append(*of,
			histories.Op{Client: client, Hold: hold, Kind: histories.Acquire, Outcome: histories.OK, Key: "k0", Due: call, Call: call, Return: granted, Validity: 10 * time.Second, Fence: hold, Wait: histories.Unlimited},
			histories.Op{Client: client, Hold: hold, Kind: histories.Release, Outcome: histories.OK, Key: "k0", Due: release, Call: release, Return: done})
	}
	return ops
}

// verdict merges the histories of two machines and judges them.
func verdict(t *testing.T, seed uint64, overlap, delay time.Duration) (*Merged, *checker.Verdict) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 7))
	var all []Recording
	for i, ops := range run(r, overlap) {
		m := machine{time.Duration(i) * 3 * time.Second, (2*r.Float64() - 1) * clocks.MaxDrift / 2.1}
		own, err := m.recording(r, ops, delay)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		all = append(all, own)
	}
	merged, err := Merge(all)
	if err != nil {
		t.Fatal(err)
	}
	v, err := judge.History(merged.Header, histories.Ops(merged.Judged), judge.Options{})
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	if len(v.Oracle.Disagreements) > 0 {
		t.Errorf("seed %d: monitor and oracle disagree", seed)
	}
	return merged, v
}

func violated(v *checker.Verdict) (names []string) {
	for _, f := range v.Findings {
		if f.Observed == checker.Violated {
			names = append(names, f.Property)
		}
	}
	return names
}

// TestNoFalseViolation merges the histories of a correct lock on machines whose clocks are 3 s apart and have different rates. No
// violation may be found, also with a delay of the network that is longer than most holds.
func TestNoFalseViolation(t *testing.T) {
	t.Parallel()
	for seed := range uint64(500) {
		delay := []time.Duration{200 * time.Microsecond, 2 * time.Millisecond, 20 * time.Millisecond}[seed%3]
		merged, v := verdict(t, seed, 0, delay)
		if names := violated(v); names != nil {
			t.Fatalf("seed %d: %v with an uncertainty of %s", seed, names, merged.Uncertainty)
		}
		if merged.Grants < 199 || merged.Hidden > merged.Grants/2 && delay < time.Millisecond {
			t.Errorf("seed %d: %d of %d grants hidden", seed, merged.Hidden, merged.Grants)
		}
		checkMeasured(t, merged)
	}
}

// checkMeasured checks that conversion keeps durations.
func checkMeasured(t *testing.T, m *Merged) {
	t.Helper()
	for _, op := range m.Measured {
		if op.Kind == histories.Acquire && op.Return-op.Call > 250*time.Millisecond || op.Return < op.Call {
			t.Fatalf("an acquire lasts %s", op.Return-op.Call)
		}
	}
}

// TestViolationFound checks that two holders at once are found if they held the lock at once for longer than the uncertainty.
func TestViolationFound(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		merged, v := verdict(t, seed, 4*time.Millisecond, 500*time.Microsecond)
		if names := violated(v); !slices.Contains(names, "mutual-exclusion") || !slices.Contains(names, "lease-exclusion") {
			t.Errorf("seed %d: %v with an uncertainty of %s", seed, names, merged.Uncertainty)
		}
	}
}

// TestOnlyCertainProperties checks that a merged history decides nothing that depends on closer times, also when its file is
// judged again.
func TestOnlyCertainProperties(t *testing.T) {
	t.Parallel()
	merged, _ := verdict(t, 1, 0, time.Millisecond)
	path := filepath.Join(t.TempDir(), "history.jsonl.zst")
	if err := merged.Write(path); err != nil {
		t.Fatal(err)
	}
	v, header, err := judge.File(path, judge.Options{})
	if err != nil || header.Uncertainty == 0 {
		t.Fatal(err, header.Uncertainty)
	}
	for _, f := range v.Findings {
		if certain := slices.Contains([]string{"lease-exclusion", "mutual-exclusion", "fencing"}, f.Property); certain != (f.Observed == checker.Held) {
			t.Errorf("%s: %s", f.Property, f.Observed)
		}
	}
}

// FuzzRead checks that arbitrary bytes from an agent are decoded or refused, and that what is decoded can be merged.
func FuzzRead(f *testing.F) {
	var text bytes.Buffer
	rec, err := histories.NewRecorder(&text, histories.Header{Clients: 2}, 3)
	if err != nil {
		f.Fatal(err)
	}
	rec.Log(0).Call(histories.Op{Kind: histories.Acquire, Hold: 1, Key: "k0"})
	rec.Log(0).Return(histories.Result{Outcome: histories.OK})
	if err := rec.Close(); err != nil {
		f.Fatal(err)
	}
	f.Add(text.Bytes())
	f.Add([]byte(`{"lockbench":2,"clients":2}` + "\n" + `{"client":0,"hold":1,"kind":"acquire","outcome":"ok","call":1,"return":2}` + "\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := read(text, workloads.Part{Index: 0, Of: 2})
		if err != nil {
			return
		}
		r.Offset, _ = clocks.New([]clocks.Exchange{{Sent: 0, Received: 1000, Read: 500}})
		m, err := Merge([]Recording{r, r})
		if err != nil {
			t.Fatal(err)
		}
		for _, op := range slices.Concat(m.Judged, m.Measured) {
			if op.Call < 0 || op.Return < op.Call || op.Client%2 != 0 {
				t.Errorf("%+v", op)
			}
		}
	})
}
