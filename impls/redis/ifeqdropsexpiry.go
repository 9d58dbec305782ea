package redis

import (
	"slices"

	"lockbench/impls"
	"lockbench/impls/expect"
	"lockbench/impls/waiting"
)

// IFEQDropsExpiry is SetIFEQ with a trap of the command: SET with IFEQ but without PX removes the expiry of the key. From its first
// renewal on, the lock of a holder that dies is never free again.
func IFEQDropsExpiry() impls.Impl {
	return impls.Impl{
		Name: "ifeq-drops-expiry", Control: true, Store: "redis", Deployment: "single", Renews: true, ReportsLoss: true, BackOff: waiting.LongestPause,
		Doc: "set-ifeq whose renewal has no PX, which removes the expiry of the key",
		Expect: slices.Concat(
			expect.Excludes("SET NX is atomic, and the key is deleted only while it has the token"),
			expect.Holds("every holder deletes its key", "no-orphan", "progress"),
			expect.ComparedRelease(),
			expect.Under("holder-kill", expect.Excludes("the key stays"),
				expect.Observed("this holder dies before its first renewal; one that has renewed leaves its key forever", "recovery", "no-orphan")),
			expect.Under("holder-abandon", expect.Violated("the key has no expiry after the first renewal", "recovery", "no-orphan")),
			expect.In("long-hold", expect.Holds("the key stays until its release", "lease-exclusion", "mutual-exclusion"))),
		Open: openIFEQ(true),
	}
}
