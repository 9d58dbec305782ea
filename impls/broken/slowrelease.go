package broken

import (
	"context"

	"lockbench/impls"
	"lockbench/impls/expect"
	"lockbench/impls/waiting"
)

// slowRelease is a lock whose releases wait for a third of a lease, as if for the next renewal.
func slowRelease() impls.Impl {
	return wrapSetPX("broken-slow-release", "a release waits for the next tick of the renewal, a third of a lease",
		func(lock impls.Lock) impls.Lock { return slowly{lock} },
		expect.Violated("a release takes a third of a lease", "responsive"))
}

type slowly struct{ impls.Lock }

func (l slowly) Release(ctx context.Context, g impls.Grant) error {
	waiting.Pause(ctx, g.Validity/3)
	return l.Lock.Release(ctx, g)
}
