package properties

import (
	"testing"
	"time"

	"lockbench/checker/projection"
	"lockbench/histories"
)

// TestOverlapsWithEndlessHold checks that each grant during a hold without an end is a violation, and that the first
// violation is shown.
func TestOverlapsWithEndlessHold(t *testing.T) {
	const grants = 3 * maxOpen
	ops := []histories.Op{{Client: 0, Hold: 1, Kind: histories.Acquire, Outcome: histories.OK, Key: "k", Call: 1, Return: 2, Validity: histories.Unbounded}}
	for i := range int64(grants) {
		at := time.Duration(10 + 10*i)
		ops = append(ops, histories.Op{Client: 1, Hold: 2 + i, Kind: histories.Acquire, Outcome: histories.OK, Key: "k", Call: at, Return: at + 1, Validity: histories.Unbounded},
			histories.Op{Client: 1, Hold: 2 + i, Kind: histories.Release, Outcome: histories.OK, Key: "k", Call: at + 2, Return: at + 3})
	}
	for name, open := range map[string]func(monitor) Judgement{"mutual-exclusion": newMutualExclusion, "lease-exclusion": newLeaseExclusion} {
		f := NewFacts(histories.Header{Version: 1, Slack: 1})
		x := open(monitor{Facts: f}).(*exclusion)
		p := projection.New(1, x.Change)
		if _, err := histories.Replay(histories.Ops(ops), func(ev histories.Event) error {
			p.Event(p.Key(ev.Op.Key), ev)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if n := len(*x.open.Of(p.Key("k"))); n > maxOpen {
			t.Errorf("%s holds %d overlaps open", name, n)
		}
		p.Finish()
		f.Until = time.Second
		if found := x.Finding(); found.Violations != grants || found.Witness.From != 11 {
			t.Errorf("%s: %d violations, the first at %d; want %d and 11", name, found.Violations, found.Witness.From, grants)
		}
	}
}
