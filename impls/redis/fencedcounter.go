package redis

import (
	"slices"

	"lockbench/impls"
	"lockbench/impls/expect"
)

// FencedCounter is fenced with a plain counter in the memory of the server for its tokens: a server that forgot begins again
// at 1. It is the control for fencing.
func FencedCounter() impls.Impl {
	i := Fenced()
	i.Name, i.Control = "fenced-counter", true
	i.Doc = "fenced with a plain counter for its tokens, as articles have it: where the server forgets, they begin again"
	i.Expect = slices.Concat(fencedUsual(), fencedForgotten(), fencedByCount())
	i.Open = func(env impls.Env) (impls.Lock, error) { return openFenced(env, "count") }
	return i
}

// fencedByCount is what is expected of fences that are counted and nothing more, where a counter is lost.
func fencedByCount() []impls.Expectation {
	return slices.Concat(
		expect.Under("eviction",
			expect.Violated("the counter stands in the key that is dropped: tokens begin again below those that were seen", "fencing"),
			expect.Observed("while the tokens catch up, one of them equals that of a holder from before, and both may write", "resource-integrity")),
		expect.Under("server-restart",
			expect.Violated("the counter is gone with the key: tokens begin again below those that were seen", "fencing"),
			expect.Observed("while the tokens catch up, one of them equals that of a holder from before, and both may write", "resource-integrity"),
			expect.Observed("the lock is granted, and nobody can use it until the tokens have caught up: see the stale operations", "progress")),
		expect.Under("failover",
			expect.Violated("the replica that takes over has not heard of the last token, and gives the same one out again", "fencing"),
			expect.Observed("two with one token may both write; a holder that renews before it writes learns in time that it lost", "resource-integrity")))
}

// fencedUsual expects, of either way to mint fences, when nothing goes wrong.
func fencedUsual() []impls.Expectation {
	return slices.Concat(
		expect.Excludes("one script takes the lock, another frees it or hands it on, both only if it is free or its token is right"),
		expect.Holds("a release hands over to a waiter that listens; whoever is gone loses its lease, and waiters look again", "no-orphan", "progress"),
		expect.Holds("the owner and the depth are in the store, and only the last release frees", "reentrancy"),
		expect.Holds("the counter is raised in the script that grants, and never expires", "fencing"),
		expect.ComparedRelease(),
		expect.In("long-hold", expect.Holds("a third into each lease it is renewed, if it is still this hold's",
			"lease-exclusion", "mutual-exclusion", "renewal")))
}

// fencedUnderFaults expects under faults, but for a server that forgets its fences.
func fencedUnderFaults() []impls.Expectation {
	return slices.Concat(
		expect.Under("process-pause",
			expect.Violated("nothing in a process that stands still can notice that its lease is over", "mutual-exclusion"),
			expect.Holds(expect.Checked, "resource-integrity"),
			expect.Holds("the next is granted after the lease, with a higher token", "lease-exclusion", "fencing")),
		expect.WriteFenced(),
		expect.Under("holder-stall", expect.Excludes("while its process lives it is renewed in time"), expect.Holds("a third into each lease", "renewal")),
		expect.Under("eviction", expect.Violated("the server drops the key, and gives it to the next while the holder relies on its lease", "lease-exclusion")),
		expect.Under("clock-forward",
			expect.Violated("by the server's clock the lease is over, and the next is granted the lock while the holder relies on it", "lease-exclusion"),
			expect.Holds(expect.Checked, "resource-integrity"),
			expect.Holds("the counter has no lease", "fencing")),
		expect.Under("clock-back", expect.Violated("the lease ends by the server's clock, which was set back", "recovery")),
		expect.Recovers("holder-kill", "nobody renews any more, and the lease ends"),
		expect.Under("holder-abandon", expect.Violated("it is renewed for as long as its process lives", "recovery", "no-orphan")),
		silence(),
		expect.Survives(badWeather, "what is not known to be granted expires or is given back, and a holder that cannot renew stops in time"),
		expect.Survives("lost-wakeup", "a waiter looks again by itself"),
		expect.Survives("failover-synced", "the replica that takes over has the hold, the counter and the queue"))
}

// fencedForgotten expects, of either way to mint fences, of a server that forgets them with the hold.
func fencedForgotten() []impls.Expectation {
	return slices.Concat(
		expect.Under("server-restart", expect.Violated("the key is gone, and the lock free while it is held", "lease-exclusion")),
		expect.Under("failover", expect.Violated("the replica that takes over has not heard of the key", "lease-exclusion")),
		expect.On("durable", expect.Under("server-restart", expect.Excludes("every command is on disk before it is answered"), expect.Holds("the counter is on disk", "fencing"))))
}

// fencedByClock expects of fences that follow the server's clock, if a counter is lost.
func fencedByClock() []impls.Expectation {
	return slices.Concat(
		expect.Under("server-restart eviction failover",
			expect.Holds("a counter that is lost, or lags, begins again at the server's time, beyond all that was given out", "fencing"),
			expect.Holds(expect.Checked, "resource-integrity")),
		expect.Under("server-restart", expect.Holds("what is guarded takes the new tokens, and the lock is granted and given back as before", "progress")))
}
