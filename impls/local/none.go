// Package local implements two locks without a store. The lock none is the baseline and grants every request. The lock
// local-mutex excludes only within one process. Each function returns an impls.Impl.
package local

import (
	"context"

	"lockbench/impls"
	"lockbench/impls/expect"
)

// None grants every request at once. Each run uses None as a negative control and as the baseline for latencies.
func None() impls.Impl {
	return impls.Impl{
		Name: "none", Control: true,
		Doc:    "no lock: every request is granted at once",
		Expect: expect.Violated("no client is excluded", expect.Exclusion...),
		Open:   func(impls.Env) (impls.Lock, error) { return noLock{}, nil },
	}
}

type noLock struct{}

func (noLock) Acquire(_ context.Context, req impls.Request) (impls.Hold, error) {
	return impls.Hold{Grant: impls.Grant{Key: req.Key, Owner: req.Owner, Validity: impls.Unbounded}}, nil
}
func (noLock) Release(context.Context, impls.Grant) error { return nil }
func (noLock) Close() error                               { return nil }
