package impls

import "context"

// none grants to everybody at once. It is the control that every run drives: where the suite does not see
// it break, nothing else that the suite says can be believed. It is also the floor of every latency.
func none() Impl {
	return Impl{
		Name: "none", Control: true,
		Doc: "no lock at all: everybody is granted at once",
		Expect: expect(Breaks, "nobody is ever kept out",
			"lease-exclusion", "mutual-exclusion", "resource-integrity"),
		Open: func(Env) (Lock, error) { return noLock{}, nil },
	}
}

type noLock struct{}

var _ Lock = noLock{}

func (noLock) Acquire(_ context.Context, req Request) (Hold, error) {
	return Hold{Grant: Grant{Key: req.Key, Owner: req.Owner, Validity: Unbounded}}, nil
}
func (noLock) Release(context.Context, Grant) error { return nil }
func (noLock) Close() error                         { return nil }
