package local

import (
	"context"

	"lockbench/impls"
	"lockbench/impls/expect"
)

// None grants to everybody at once. It is the control that every run drives: where the suite does not see
// it break, nothing else that the suite says can be believed. It is also the floor of every latency.
func None() impls.Impl {
	return impls.Impl{
		Name: "none", Control: true,
		Doc:    "no lock at all: everybody is granted at once",
		Expect: expect.Violated("nobody is ever kept out", expect.Exclusion...),
		Open:   func(impls.Env) (impls.Lock, error) { return noLock{}, nil },
	}
}

type noLock struct{}

var _ impls.Lock = noLock{}

func (noLock) Acquire(_ context.Context, req impls.Request) (impls.Hold, error) {
	return impls.Hold{Grant: impls.Grant{Key: req.Key, Owner: req.Owner, Validity: impls.Unbounded}}, nil
}
func (noLock) Release(context.Context, impls.Grant) error { return nil }
func (noLock) Close() error                               { return nil }
