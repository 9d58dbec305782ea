package explore

import (
	"bytes"
	"reflect"
	"runtime"
	"testing"

	"lockbench/checker/judge"
	"lockbench/histories"
)

// TestRun checks that a case always records the same history, and that another seed records a different history. The
// history in memory and the history file must lead to the same verdict. Only the file is checked by package oracle, so
// its results are not compared.
func TestRun(t *testing.T) {
	before := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(before)
	digests := map[string]uint64{}
	for seed := range uint64(3) {
		c := usualCase("set-px-lua", seed)
		r, err := c.Run()
		if err != nil || r.Discarded != "" || len(r.Ops) < 20 {
			t.Fatal(r, err)
		}
		trial, err := c.Trial()
		if err != nil {
			t.Fatal(err)
		}
		var file bytes.Buffer
		if _, err := trial.Run(&file); err != nil {
			t.Fatal(err)
		}
		lines, err := histories.NewReader(&file)
		if err != nil {
			t.Fatal(err)
		}
		want, err := judge.History(lines.Header, lines.Next, judge.Options{})
		lines.Close()
		if err != nil || want.Oracle.Keys == 0 || r.Verdict.Oracle.Keys != 0 {
			t.Errorf("seed %d: %v, the oracle saw %d and %d keys", seed, err, want.Oracle.Keys, r.Verdict.Oracle.Keys)
		}
		want.Oracle = r.Verdict.Oracle
		again, err := c.Run()
		if err != nil {
			t.Fatal(err)
		}
		if again.Digest != r.Digest || !reflect.DeepEqual(want, r.Verdict) {
			t.Errorf("seed %d: digests %s and %s, verdicts %+v and %+v", seed, r.Digest, again.Digest, want, r.Verdict)
		}
		if other, taken := digests[r.Digest]; taken {
			t.Errorf("seeds %d and %d have one digest", seed, other)
		}
		digests[r.Digest] = seed
	}
}
