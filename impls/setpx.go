package impls

import "context"

// setPX takes the lock and its lease in one command, and gives it back with a plain DEL. Its defect: a
// holder that comes back after its lease deletes the key of whoever holds it by then.
func setPX() Impl {
	return Impl{
		Name: "set-px", Control: true, Store: "redis", Deployment: "single", BackOff: longestPause,
		Doc: "SET NX PX with a fixed value and a plain DEL: an owner that is late deletes its successor's lock",
		Expect: together(
			expect(Holds, "SET NX is atomic, and no hold of this workload outlives its lease",
				"lease-exclusion", "mutual-exclusion", "resource-integrity"),
			expect(Holds, "every holder deletes its key, and what is forgotten expires", "no-orphan", "progress"),
			lateDelete(), plainDelete()),
		Open: func(env Env) (Lock, error) {
			s, err := openSingle(env)
			return &setPXLock{s}, err
		},
	}
}

type setPXLock struct{ single }

var (
	_ Lock   = (*setPXLock)(nil)
	_ Prober = (*setPXLock)(nil)
)

func (l *setPXLock) Acquire(ctx context.Context, req Request) (Hold, error) {
	return l.acquire(ctx, req, func(ctx context.Context) (Grant, error) {
		err := l.setNXPX(ctx, req.Key, fixedValue, req.TTL)
		return Grant{Key: req.Key, Owner: req.Owner, Token: fixedValue, Validity: req.TTL}, err
	})
}

func (l *setPXLock) Release(ctx context.Context, g Grant) error { return l.del(ctx, g.Key) }
