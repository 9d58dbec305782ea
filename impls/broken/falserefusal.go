package broken

import (
	"context"

	"lockbench/impls"
	"lockbench/impls/expect"
)

// falseRefusal is a lock whose releases free the lock but return ErrNotHeld. Some libraries do this because they expect
// another type of reply from the store.
func falseRefusal() impls.Impl {
	return wrapSetPX("broken-false-refusal", "a release deletes the key and answers that the lock was not held",
		func(lock impls.Lock) impls.Lock { return falselyRefusing{lock} },
		expect.Violated("every release of a valid hold is refused", "truthful-answer"))
}

type falselyRefusing struct{ impls.Lock }

func (l falselyRefusing) Release(ctx context.Context, g impls.Grant) error {
	if err := l.Lock.Release(ctx, g); err != nil {
		return err
	}
	return impls.ErrNotHeld
}
