package redis

import (
	"slices"

	"lockbench/impls"
	"lockbench/impls/expect"
)

// FencedCounter is a variant of Fenced whose fencing tokens come from a counter in the server's memory. If the server loses
// its memory, the counter starts at 1 again. FencedCounter is the negative control for fencing tokens.
func FencedCounter() impls.Impl {
	i := Fenced()
	i.Name, i.Control = "fenced-counter", true
	i.Doc = "fenced with a plain counter for its tokens, as articles have it: after a loss of memory they begin again"
	i.Expect = slices.Concat(fencedUsual(), fencedForgotten(), fencedByCount())
	i.Open = func(env impls.Env) (impls.Lock, error) { return openFenced(env, "count") }
	return i
}

// fencedByCount returns the expectations of the lock fenced-counter under faults that lose its counter.
func fencedByCount() []impls.Expectation {
	return slices.Concat(
		expect.Under("eviction",
			expect.Observed("the counter has another key than the hold: tokens begin again if the server drops both", "fencing", "resource-integrity")),
		expect.Under("server-restart",
			expect.Violated("the counter is gone with the key: tokens begin again below earlier ones", "fencing"),
			expect.Observed("while the tokens catch up, one equals an earlier holder's, and both may write", "resource-integrity"),
			expect.Observed("the lock is granted, but the resource refuses its holders until the tokens have caught up: see the stale operations", "progress")),
		expect.Under("failover",
			expect.Violated("the promoted replica lacks the last token and issues it again", "fencing"),
			expect.Observed("two holders with one token may both write, but a holder that renews before it writes detects its loss", "resource-integrity")))
}

// fencedUsual returns the expectations of the locks fenced and fenced-counter without faults.
func fencedUsual() []impls.Expectation {
	return slices.Concat(
		expect.Excludes("SET NX is atomic, and one script frees the lock or hands it over if the token is right"),
		expect.Holds("a release hands over to a waiter that listens; a dead holder's lease expires, and waiters check again", "no-orphan", "progress"),
		expect.Holds("the owner and the depth are in the store, and only the last release frees", "reentrancy"),
		expect.Holds("every grant increments the counter, which never expires", "fencing"),
		expect.ComparedRelease(), expect.Answers(), expect.Prompt(), expect.Tells(), expect.Backed(),
		expect.In("long-hold", expect.Holds("a third into each lease it is renewed, if the token is still this hold's",
			"lease-exclusion", "mutual-exclusion", "renewal")))
}

// fencedUnderFaults returns the expectations of the locks fenced and fenced-counter under faults that lose no fencing
// tokens.
func fencedUnderFaults() []impls.Expectation {
	return slices.Concat(
		expect.Under("process-pause",
			expect.Violated("a paused process cannot notice that its lease has expired", "mutual-exclusion"),
			expect.Holds(expect.Checked, "resource-integrity"),
			expect.Holds("the next client is granted after the lease, with a higher token", "lease-exclusion", "fencing")),
		expect.WriteFenced(),
		expect.Under("holder-stall", expect.Excludes("while its process lives it is renewed in time"), expect.Holds("a third into each lease", "renewal")),
		expect.Under("eviction", expect.Violated("the server drops the key and grants it to the next client while the holder relies on its lease", "lease-exclusion")),
		expect.Under("clock-forward",
			expect.Violated("by the server's clock the lease has expired, and the next client is granted while the holder relies on it", "lease-exclusion"),
			expect.Holds(expect.Checked, "resource-integrity"),
			expect.Holds("the counter has no lease", "fencing")),
		expect.Under("clock-back", expect.Violated("the lease expires by the server's clock, which was set back", "recovery")),
		expect.Recovers("holder-kill", "the renewal ends, and the lease expires"),
		expect.Under("holder-abandon", expect.Violated("it is renewed as long as its process lives", "recovery", "no-orphan")),
		silence(),
		expect.Survives(badWeather, "an unknown grant expires or is released, and a holder that cannot renew stops in time"),
		expect.Survives("lost-wakeup", "waiters check again periodically"),
		expect.Survives("failover-synced", "the promoted replica has the hold, the counter and the queue"))
}

// fencedForgotten returns expectations of the locks fenced and fenced-counter. They apply to faults after which the server
// may have lost the record of a hold.
func fencedForgotten() []impls.Expectation {
	return slices.Concat(
		expect.Under("server-restart", expect.Violated("the key is gone, so the lock is free during a hold", "lease-exclusion")),
		expect.Under("failover", expect.Violated("the promoted replica does not have the key", "lease-exclusion")),
		expect.On("durable", expect.Under("server-restart", expect.Excludes("every command is on disk before it is answered"), expect.Holds("the counter is on disk", "fencing"))))
}

// fencedByClock returns the expectations of the lock "fenced" under faults that lose the last fencing token.
func fencedByClock() []impls.Expectation {
	return slices.Concat(
		expect.Under("server-restart eviction failover",
			expect.Holds("a lost counter continues at the server's time, and each new connection raises a lagging one to it", "fencing"),
			expect.Holds(expect.Checked, "resource-integrity")),
		expect.Under("server-restart", expect.Holds("the resource accepts the new tokens, and the lock is granted and released as before", "progress")))
}
