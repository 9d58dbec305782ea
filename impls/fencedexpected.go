package impls

// checked is why a holder that is late can do no harm to what it guards.
const checked = "what is guarded has seen a higher token, and refuses the late one"

// fencedUsual is what is expected of it, whatever mints its fences, when nothing goes wrong.
func fencedUsual() []Expectation {
	return together(
		expect(Holds, "one script takes the lock, another frees it or hands it on, both only if it is free or its token is right",
			"lease-exclusion", "mutual-exclusion", "resource-integrity"),
		expect(Holds, "a release hands over to a waiter that listens; whoever is gone loses its lease, and waiters look again", "no-orphan", "progress"),
		expect(Holds, "the owner and the depth are in the store, and only the last release frees", "reentrancy"),
		expect(Holds, "the counter is raised in the script that grants, and never expires", "fencing"),
		comparedRelease(),
		in("long-hold", expect(Holds, "a third into each lease it is renewed, if it is still this hold's",
			"lease-exclusion", "mutual-exclusion", "renewal")))
}

// fencedUnderFaults is what is expected of it when something goes wrong, but for a server that forgets its fences.
func fencedUnderFaults() []Expectation {
	return together(
		under("process-pause", together(
			expect(Breaks, "nothing in a process that stands still can notice that its lease is over", "mutual-exclusion"),
			expect(Holds, checked, "resource-integrity"),
			expect(Holds, "the next is granted after the lease, with a higher token", "lease-exclusion", "fencing"))),
		in("write-fenced", under("process-pause", expect(Breaks, "the next one has read, which raised no mark, and the late one's write is still taken",
			"resource-integrity"))),
		under("holder-stall", together(threeViews(Holds, "while its process lives it is renewed in time"), expect(Holds, "a third into each lease", "renewal"))),
		under("eviction", expect(Breaks, "the server drops the key, and gives it to the next while the holder relies on its lease", "lease-exclusion")),
		under("clock-forward", together(
			expect(Breaks, "by the server's clock the lease is over, and the next is granted the lock while the holder relies on it", "lease-exclusion"),
			expect(Holds, checked, "resource-integrity"),
			expect(Holds, "the counter has no lease", "fencing"))),
		under("clock-back", expect(Breaks, "the lease ends by the server's clock, which was set back", "recovery")),
		recovers("holder-kill", "nobody renews any more, and the lease ends"),
		under("holder-abandon", expect(Breaks, "it is renewed for as long as its process lives", "recovery", "no-orphan")),
		silence(),
		survives(badWeather, "what is not known to be granted expires or is given back, and a holder that cannot renew stops in time"),
		survives("lost-wakeup", "a waiter looks again by itself"),
		survives("failover-synced", "the replica that takes over has the hold, the counter and the queue"))
}

// fencedForgotten is what is expected of it, whatever mints its fences, where a server forgets them with the hold.
func fencedForgotten() []Expectation {
	return together(
		under("server-restart", expect(Breaks, "the key is gone, and the lock free while it is held", "lease-exclusion")),
		under("failover", expect(Breaks, "the replica that takes over has not heard of the key", "lease-exclusion")),
		on("durable", under("server-restart", together(threeViews(Holds, "every command is on disk before it is answered"), expect(Holds, "the counter is on disk", "fencing")))))
}

// fencedByClock is what is expected of fences that follow the server's clock, where a counter is lost.
func fencedByClock() []Expectation {
	return together(
		under("server-restart eviction failover", together(
			expect(Holds, "a counter that is lost, or lags, begins again at the server's time, beyond all that was given out", "fencing"),
			expect(Holds, checked, "resource-integrity"))),
		under("server-restart", expect(Holds, "what is guarded takes the new tokens, and the lock is granted and given back as before", "progress")))
}
