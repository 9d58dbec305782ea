package impls

// All is every lock, from the one that is none up the ladder.
func All() []Impl {
	return []Impl{none(), localMutex(), setNX(), setPX(), setPXLua(), setPXWait(), reentrantFlag(), redLock(), segmented(), fenced()}
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

// ownerChecked is expected of locks that compare a token before they delete, where locks are released
// twice, too late, or without having been acquired.
func ownerChecked() []Expectation {
	return in("misuse", expect(Holds, "the script compares the token before it deletes, and says when it did not", "owner-release"))
}

// leaseRunsOut is expected of locks without renewal, where clients work for longer than their lease.
func leaseRunsOut() []Expectation {
	return in("long-hold", expect(Breaks, "nothing renews the lease, so another is granted while the first still works", "mutual-exclusion"))
}
