package impls

// All is every lock, from the one that is none up the ladder.
func All() []Impl {
	return []Impl{none(), localMutex(), setNX(), setNXExpire(), setPX(), setPXGetDel(), sharedToken(),
		reentrantFlag(), reentrantCount(), reentrantCountFixed(), blindRenewal(), setPXLua(), setPXWait(),
		redisson(), redissonLease(), redissonLegacy(), redLock(), segmented(), fenced()}
}

// expect writes one expectation for several properties that hold or break for the same reason.
func expect(v Verdict, because string, properties ...string) []Expectation {
	var out []Expectation
	for _, p := range properties {
		out = append(out, Expectation{Property: p, Fault: "none", Verdict: v, Because: because})
	}
	return out
}

// in says that expectations are of one workload.
func in(workload string, list []Expectation) []Expectation {
	for i := range list {
		list[i].Workload = workload
	}
	return list
}

// together joins lists of expectations.
func together(lists ...[]Expectation) []Expectation {
	var out []Expectation
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}

// plainDelete is what to expect of a lease that is given back by a plain DEL, in the workloads that go
// beyond the usual.
func plainDelete() []Expectation {
	return together(
		in("misuse", expect(Breaks, "DEL asks nobody whose key it is", "owner-release")),
		in("long-hold", expect(Breaks, "the lease ends under its holder, the next is granted, and the DEL of the late one lets a third in",
			"lease-exclusion", "mutual-exclusion")))
}

// comparedRelease is what to expect of a release that compares and deletes in one step.
func comparedRelease() []Expectation {
	return in("misuse", expect(Holds, "the release compares before it frees, in one step", "owner-release"))
}

// leaseRunsOut is what to expect of work that outlasts a lease which nobody renews. What a lock promised
// may be kept all the same, and what the application did is not exclusive.
func leaseRunsOut() []Expectation {
	return expect(Breaks, "the lease ends under its holder, who works on while the next is granted", "mutual-exclusion")
}

// promiseOutlived is leaseRunsOut for a lock whose late release frees nobody else's hold.
func promiseOutlived() []Expectation {
	return in("long-hold", together(leaseRunsOut(),
		expect(Holds, "the next is granted after the lease, and a late release frees nobody else's", "lease-exclusion")))
}
