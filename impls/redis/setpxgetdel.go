package redis

import (
	"slices"

	"lockbench/impls"
	"lockbench/impls/expect"
	"lockbench/impls/waiting"
)

// SetPXGetDel compares the token in the client and then deletes the key. Its defect: the key may change between the two
// steps.
func SetPXGetDel() impls.Impl {
	return impls.Impl{
		Name: "set-px-getdel", Control: true, Store: "redis", Deployment: "single", BackOff: waiting.LongestPause, TwoStepRelease: true,
		Doc: "SET NX PX with a random token, released by GET, a comparison in the client, and DEL",
		Expect: slices.Concat(
			expect.Excludes("SET NX is atomic, and no hold of this workload outlives its lease"),
			expect.Holds("every holder deletes its key, and other keys expire", "no-orphan", "progress"),
			expect.LateHolder("holder-stall"),
			expect.Under("delayed-release pause-in-release", expect.Violated("the lease expires between GET and DEL, and DEL deletes the next holder's key",
				"lease-exclusion", "mutual-exclusion")),
			expect.In("misuse", expect.Holds("without the token there is no DEL", "owner-release")),
			expect.In("long-hold",
				expect.LeaseRunsOut(),
				expect.Observed("the lease must expire between GET and DEL, which is rare without a delay", "lease-exclusion"))),
		Open: openSimple(func(s single) (attempt, release) { return s.setToken, s.getThenDelete }),
	}
}
