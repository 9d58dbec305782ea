package expect

import (
	"slices"
	"strings"

	"lockbench/impls"
)

// clientFaults and networkFaults list faults under which two clients must not have valid leases of the same key.
const (
	clientFaults = "holder-stall process-pause pause-before-answer pause-in-release holder-kill holder-abandon kill-between cancelled-acquire"
	// networkFaults includes the pause of a server, because clients cannot distinguish a paused server from a silent
	// network.
	networkFaults = "slow-network lost-reply lost-reply-silent partition partition-one-way delayed-release lost-wakeup half-open server-pause"
)

// clockFaults lists faults that move the wall clock of a client. A client must measure a lease with its monotonic clock.
const clockFaults = "client-clock-forward client-clock-back"

// Faults returns the names of the faults for which Default states expectations.
func Faults() []string {
	return strings.Fields("none " + clientFaults + " " + clockFaults + " " + networkFaults)
}

// Default returns the expectations that follow from the capabilities of a lock. docs/reference/expectations.md lists
// them in a table. An author's expectation overrides a default one; see Override.
func Default(l impls.Impl) []impls.Expectation {
	all := slices.Concat(
		Excludes("at most one client holds a lock"),
		Holds("every holder releases", "no-orphan", "progress"),
		In("misuse", Holds("only a holder can release", "owner-release")),
		Answers(), Prompt(),
		Under(clientFaults, Holds("every request is answered", "responsive")))
	if l.ReportsLoss {
		all = append(all, Tells()...)
	}
	if l.Leased {
		all = append(all, leased(l)...)
	}
	if l.Leased || l.Renews { // a watchdog must not renew a hold that a cancelled acquire left in the store
		all = append(all, Under("cancelled-acquire", Holds("a cancelled acquire holds a key for at most its lease", "abandoned-acquire", "no-orphan", "progress"))...)
	}
	if l.Session {
		all = append(all, Under("holder-kill", Holds("the session ends with its client", "recovery", "no-orphan"))...)
	}
	if l.Renews {
		all = append(all, renewed()...)
	}
	if l.Reentrant {
		all = append(all, In("reentrant", Excludes("an inner release does not free the lock"), Holds("acquires and releases are counted", "reentrancy"))...)
	}
	if l.Fences {
		all = append(all, Holds("each token is higher than all before it", "fencing")...)
		all = append(all, Under(clientFaults+" "+networkFaults, Holds("each token is higher than all before it", "fencing"))...)
	}
	if l.Notifies {
		all = append(all, Under("lost-wakeup", Holds("waiters also try at an interval, or when the lease has expired", "progress", "no-orphan"))...)
	}
	return all
}

// leased returns the expectations of a lock whose holds expire.
func leased(l impls.Impl) []impls.Expectation {
	all := slices.Concat(
		Under(clientFaults+" "+networkFaults, Holds("a lease is promised to one client at a time", "lease-exclusion")),
		Under(clockFaults, Holds("a client measures its lease with a monotonic clock", "lease-exclusion")),
		Backed(),
		Under("holder-kill half-open kill-between", Holds("a lease that is not renewed expires", "recovery", "no-orphan")),
		In("long-hold", Holds("a lease is promised to one client at a time", "lease-exclusion")))
	if !l.Renews { // a watchdog may renew an abandoned hold for as long as its process runs
		all = append(all, Under("holder-abandon", Holds("a lease that is not renewed expires", "recovery", "no-orphan"))...)
	}
	return all
}

// renewed returns the expectations of a lock that renews its leases automatically.
func renewed() []impls.Expectation {
	const because = "the lock renews its hold for as long as its process runs"
	return slices.Concat(
		In("long-hold", Holds(because, "mutual-exclusion", "renewal")),
		Holds(because, "renewal"),
		Under("process-pause", Holds("a renewal extends only the hold of its owner", "renewal")),
		Under("holder-stall slow-network server-pause", Excludes(because)))
}

// Override returns the default expectations, followed by the author's expectations. An author's expectation replaces
// the default for the same property, fault, workload and deployment.
func Override(defaults, author []impls.Expectation) []impls.Expectation {
	same := func(a, b impls.Expectation) bool {
		return a.Property == b.Property && a.Fault == b.Fault && a.Workload == b.Workload && a.Deployment == b.Deployment
	}
	kept := slices.DeleteFunc(slices.Clone(defaults), func(d impls.Expectation) bool {
		return slices.ContainsFunc(author, func(a impls.Expectation) bool { return same(a, d) })
	})
	return append(kept, author...)
}
