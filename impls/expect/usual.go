package expect

import (
	"slices"

	"lockbench/impls"
)

// Checked is why a late holder does no harm to a resource that checks fencing tokens.
const Checked = "what is guarded has seen a higher token, and refuses the late one"

// ComparedRelease expects of a release that compares and deletes in one step.
func ComparedRelease() []impls.Expectation {
	return In("misuse", Holds("the release compares before it frees, in one step", "owner-release"))
}

// LeaseRunsOut expects of work that outlasts a lease without renewal: the work of two clients overlaps.
func LeaseRunsOut() []impls.Expectation {
	return Violated("the lease ends under its holder, who works on while the next is granted", "mutual-exclusion")
}

// PromiseOutlived is LeaseRunsOut for a lock whose late release frees nobody else's hold.
func PromiseOutlived() []impls.Expectation {
	return In("long-hold", LeaseRunsOut(),
		Holds("the next is granted after the lease, and a late release frees nobody else's", "lease-exclusion"))
}

// LateHolder expects of a lock that keeps its promise to the end of the lease, under faults that delay its holder.
func LateHolder(faults string) []impls.Expectation {
	return Under(faults, LeaseRunsOut(),
		Violated("the late one writes what it had read before the next one came", "resource-integrity"),
		Holds("the next is granted after the lease, and a late release frees nobody else's", "lease-exclusion", "owner-release"))
}

// MemoryLost expects of a lock in one server's memory, under faults that clear that memory or move its clock.
func MemoryLost(faults string) []impls.Expectation {
	return Under(faults, Violated("the server no longer has the key, and gives it to the next while the holder relies on its lease",
		"lease-exclusion", "mutual-exclusion"))
}

// Survives expects exclusion and progress under faults.
func Survives(faults, because string) []impls.Expectation {
	return Under(faults, Excludes(because), Holds(because, "no-orphan", "progress"))
}

// Recovers expects of a lease when its holder dies or goes away.
func Recovers(faults, because string) []impls.Expectation {
	return Under(faults, Holds(because, "recovery", "no-orphan"),
		Holds("who is gone does nothing any more, and the lease keeps the others out until it ends", Exclusion...))
}

// OpenSession expects of a lock that is held by a session without a lease, which is pinged three times within each TTL.
func OpenSession() []impls.Expectation {
	return slices.Concat(
		Holds("every holder gives its lock back, and a session that is not sure of itself is ended", "no-orphan", "progress"),
		Under("holder-stall process-pause slow-network partition partition-one-way server-pause",
			Excludes("the server keeps a session whose client is silent, and the lock with it")),
		Under("holder-kill", Excludes("the server gives to the next what the session of the dead one held"),
			Holds("the connection of a process that died is closed, and its session ends with it", "recovery", "no-orphan")),
		Under("holder-abandon", Violated("the process lives on, and its session with it", "recovery", "no-orphan")),
		Under("half-open",
			Violated("the server keeps the session of the dead one until its network gives up, which takes hours", "recovery")),
		Under("session-kill",
			Violated("the next is granted at once, and the holder notices when it asks for a sign of life", "lease-exclusion", "mutual-exclusion"),
			Holds("the loss is noticed before the work is written", "resource-integrity")),
		Under("server-restart", Observed("sessions end with their server: whether the holder notices before the next is granted is a matter of milliseconds",
			"lease-exclusion", "mutual-exclusion")),
		In("misuse", Holds("a grant that has no session any more is refused here, and the server knows which session holds", "owner-release")),
		In("long-hold", Holds("a session has no lease that could run out", "lease-exclusion", "mutual-exclusion")))
}

// LeasedSession expects, under faults, of a lock that is held by a session with a lease, which its process keeps alive and
// whose holder watches its own clock.
func LeasedSession() []impls.Expectation {
	return slices.Concat(
		Under("process-pause",
			Violated("nothing in a process that stands still can notice that its session is over", "mutual-exclusion"),
			Holds(Checked, "resource-integrity"),
			Holds("the next is granted after the session, with a higher token", "lease-exclusion", "fencing")),
		WriteFenced(),
		Under("holder-stall", Excludes("while its process lives its session does"), Holds("a third into each timeout", "renewal")),
		Recovers("holder-kill", "nobody keeps the session alive any more, and the server ends it"),
		Recovers("half-open", "the server hears nothing any more, and ends the session, whatever the connection looks like"),
		Under("holder-abandon", Violated("its session lives for as long as its process", "recovery", "no-orphan")),
		Survives("slow-network partition partition-one-way server-pause",
			"what a session is not known to hold goes with it, and a holder that is not heard of stops in time"),
		Survives("server-restart", "sessions and what they hold are on disk before they are acknowledged"),
		Survives("leader-loss", "a majority has what was acknowledged, and one of it leads next"))
}

// WriteFenced expects of a paused holder where only writes are checked for their tokens.
func WriteFenced() []impls.Expectation {
	return In("write-fenced", Under("process-pause",
		Violated("the next one has read, which raised no mark, and the late one's write is still taken", "resource-integrity")))
}
