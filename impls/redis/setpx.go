package redis

import (
	"context"
	"slices"

	"lockbench/impls"
	"lockbench/impls/expect"
	"lockbench/impls/waiting"
)

// SetPX sets the key and its lease in one command. Its defect: a late release deletes the key even if it belongs to the
// next holder.
func SetPX() impls.Impl {
	return impls.Impl{
		Name: "set-px", Control: true, Store: "redis", Deployment: "single", BackOff: waiting.LongestPause,
		Doc: "SET NX PX with a fixed value and a plain DEL: a late owner deletes its successor's lock",
		Expect: slices.Concat(
			expect.Excludes("SET NX is atomic, and no hold of this workload outlives its lease"),
			expect.Holds("every holder deletes its key, and other keys expire", "no-orphan", "progress"),
			plainDelete()),
		Open: openSimple(func(s single) (attempt, release) {
			return func(ctx context.Context, req impls.Request) (impls.Grant, error) {
				return impls.Grant{Token: fixedValue, Validity: req.TTL}, s.setNXPX(ctx, req.Key, fixedValue, req.TTL)
			}, s.deleteKey
		}),
	}
}
