package impls

// All is every lock, from the one that is none up the ladder.
func All() []Impl {
	return []Impl{none(), localMutex(), setNX(), setPX(), setPXLua(), reentrantFlag()}
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
