package properties

import (
	"math/rand/v2"
	"testing"
	"time"

	"lockbench/checker/projection"
	"lockbench/histories"
)

// TestStoredTokensAreBounded checks that the number of stored tokens is bounded. A new token that is lower than a
// discarded token must still be reported as a violation.
func TestStoredTokensAreBounded(t *testing.T) {
	x := &tokens{monitor: monitor{Facts: &Facts{}}, open: map[int32]time.Duration{}}
	k := &projection.Key{Name: "a"}
	grant := func(number, fence int64, from time.Duration) {
		op := histories.Op{Client: int32(number % 3), Hold: number, Kind: histories.Acquire, Outcome: histories.OK, Call: from, Return: from + 1, Fence: fence}
		x.Event(k, histories.Event{Op: &op})
		x.Event(k, histories.Event{Op: &op, Return: true})
		x.Change(k, &projection.Hold{Acquire: op, Granted: op.Return}, projection.Began)
	}
	r := rand.New(rand.NewPCG(1, 1))
	stuck := histories.Op{Client: 99, Kind: histories.Acquire, Call: 5}
	for i := range int64(50_000) {
		if i == 20_000 {
			x.Event(k, histories.Event{Op: &stuck}) // an acquire that never returns
		}
		grant(i+1, 2*i+1+r.Int64N(2), time.Duration(10*i))
		if m := x.keys.Of(k); len(m.grants) > maxGrants || len(m.by) > maxGrants {
			t.Fatalf("%d grants are stored", len(m.grants))
		}
	}
	if x.violations != 0 {
		t.Fatal("tokens that rise were found to fall")
	}
	grant(60_000, 7, 600_000)
	if x.violations != 1 {
		t.Error("a token as low as a dropped one was not found")
	}
}
