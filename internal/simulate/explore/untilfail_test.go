package explore

import (
	"context"
	"sync"
	"testing"
	"time"
)

// flaky is an engine in which every third seed fails. Only the failure of one seed shows again.
type flaky struct {
	turn   sync.Mutex
	shows  uint64
	tested int // number of failures that were to be confirmed
}

func (f *flaky) Size() int { return 1 }

func (f *flaky) Turn(context.Context) (func(), error) {
	f.turn.Lock()
	return f.turn.Unlock, nil
}

func (f *flaky) Search(_ context.Context, _ Subject, from, _ uint64) ([]Seed, error) {
	x := Seed{Seed: from, Strategy: "uniform", Judged: []string{"progress"}, Expected: []string{"progress"}}
	if from%3 == 0 {
		x.Violated = x.Expected
	}
	return []Seed{x}, nil
}

func (f *flaky) Confirm(_ context.Context, _ Subject, failed Seed) (bool, error) {
	f.tested++
	return failed.Seed == f.shows, nil
}

func (f *flaky) Minimise(_ context.Context, _ Subject, seeds []Seed, _ int, _ time.Duration) (m Minimised, err error) {
	m.Nondeterministic = []uint64{seeds[0].Seed} // what is minimised first
	return m, nil
}

// TestUntilFail checks that a search until a failure goes on after a failure that does not show again. It stops after one
// that does, and minimises that one.
func TestUntilFail(t *testing.T) {
	on := &flaky{shows: 9}
	c := Campaign{Subjects: []Subject{{Lock: "set-px-lua", Servers: "local"}}, First: 1, Seeds: 1000, UntilFail: true}
	r, err := c.Run(t.Context(), on)
	if err != nil {
		t.Fatal(err)
	}
	l := r.Locks[0]
	if l.Seeds < 9 || l.Seeds > 11 || on.tested != 3 || len(l.Nondeterministic) != 1 || l.Nondeterministic[0] != 9 {
		t.Errorf("%d seeds, %d failures tested, minimised %v", l.Seeds, on.tested, l.Nondeterministic)
	}
}
