package expect

import (
	"slices"

	"lockbench/impls"
)

// Checked is an argument for Holds: the reason why the property resource-integrity is expected to hold. It applies if
// the guarded resource checks fencing tokens. Such a resource refuses a token that is lower than an earlier token.
const Checked = "the resource has seen a higher token and refuses the late holder"

// Answers returns the expectations that every answer of a lock is true and that every operation returns in time.
func Answers() []impls.Expectation {
	all := slices.Concat(
		Holds("a valid hold is not refused, and neither is the acquire of a free key", "truthful-answer"),
		Holds("an acquire waits for as long as its timeout", "wait-honoured"),
		Holds("every request is answered", "responsive"),
		Holds("an acquire that timed out takes nothing", "abandoned-acquire"))
	return slices.Concat(all, In("long-hold", all),
		Under(clientFaults+" "+networkFaults, Holds("a valid hold is not refused, and neither is the acquire of a free key", "truthful-answer")))
}

// Prompt returns the expectation that a release is soon followed by the next grant.
func Prompt() []impls.Expectation {
	return Holds("a waiter is notified, or tries at an interval", "prompt-hand-off")
}

// Tells returns the expectations of a lock that reports the loss of a hold.
func Tells() []impls.Expectation {
	all := Holds("the lock knows when its lease ends", "loss-notice")
	return append(all, In("long-hold", all)...)
}

// ComparedRelease returns the expectations of a lock whose release compares the token and deletes the key atomically.
func ComparedRelease() []impls.Expectation {
	return In("misuse", Holds("the release compares before it frees, in one step", "owner-release"))
}

// Backed returns the expectations of a lock whose lease is an expiry time in the store. The store must have the key for
// as long as the lock promised. This also applies under faults of a client or of its network, because they do not
// change the store.
func Backed() []impls.Expectation {
	return Under("none holder-stall process-pause holder-kill partition",
		Holds("the lease is set in the store before it is promised", "backed-promise"))
}

// LeaseRunsOut returns the expectation that mutual exclusion is violated by a hold that outlives its lease.
func LeaseRunsOut() []impls.Expectation {
	return Violated("the lease expires during the hold, and the next client is granted while the holder works on", "mutual-exclusion")
}

// PromiseOutlived returns the expectations of a lock in the workload long-hold, in which holds outlive their leases. The
// lock must not renew, and a late release must not free another client's hold.
func PromiseOutlived() []impls.Expectation {
	return In("long-hold", LeaseRunsOut(),
		Holds("the next client is granted after the lease, and a late release frees no other client's hold", "lease-exclusion"))
}

// LateHolder returns the expectations of a lock under faults that delay a holder until its lease has expired. A late
// release of the lock must not free another client's hold.
func LateHolder(faults string) []impls.Expectation {
	return Under(faults, LeaseRunsOut(),
		Violated("the late holder writes a value based on a read before the next hold", "resource-integrity"),
		Holds("the next client is granted after the lease, and a late release frees no other client's hold", "lease-exclusion", "owner-release"))
}

// MemoryLost returns the expectations that exclusion is violated under the given faults. Each fault must clear the
// memory of the server that stores the lock, or shift that server's clock.
func MemoryLost(faults string) []impls.Expectation {
	return Under(faults, Violated("the server has lost the key and grants it to the next client while the holder relies on its lease",
		"lease-exclusion", "mutual-exclusion"))
}

// Survives returns the expectations that mutual exclusion and progress hold under the given faults, and that no key stays
// locked.
func Survives(faults, because string) []impls.Expectation {
	return Under(faults, Excludes(because), Holds(because, "no-orphan", "progress"))
}

// Recovers returns the expectations for faults after which the holder never releases the lock. Until the lease expires, no
// other client may be granted the lock. After the expiry, another client must be granted the lock in time.
func Recovers(faults, because string) []impls.Expectation {
	return Under(faults, Holds(because, "recovery", "no-orphan"),
		Holds("a client that is gone does nothing more, and the lease excludes the others until it expires", Exclusion...))
}

// OpenSession returns the expectations of a lock bound to a session without a lease. The client pings the session three
// times per TTL.
func OpenSession() []impls.Expectation {
	return slices.Concat(
		Holds("every holder releases, and a session in an uncertain state is ended", "no-orphan", "progress"),
		Under("holder-stall process-pause slow-network partition partition-one-way server-pause",
			Excludes("the server preserves the session of a silent client, and its lock")),
		Under("holder-kill", Excludes("the server grants the dead session's lock to the next client"),
			Holds("the operating system closes a dead process's connection, which ends the session", "recovery", "no-orphan")),
		Under("holder-abandon", Violated("the process lives on, and so does its session", "recovery", "no-orphan")),
		Under("half-open",
			Violated("the server preserves the dead client's session until its TCP timeout, which takes hours", "recovery")),
		Under("session-kill",
			Violated("the next client is granted at once, and the holder detects the loss only by a ping", "lease-exclusion", "mutual-exclusion"),
			Holds("the loss is detected before the work is written", "resource-integrity")),
		Under("server-restart", Observed("sessions end with their server: whether the holder detects that before the next grant is a matter of milliseconds",
			"lease-exclusion", "mutual-exclusion")),
		In("misuse", Holds("a grant without a session is refused by the client, and the server knows which session holds", "owner-release")),
		In("long-hold", Holds("a session has no lease that could expire", "lease-exclusion", "mutual-exclusion")))
}

// LeasedSession returns the expectations, under faults, of a lock whose holds end with the session of the client. The
// session expires unless the client renews it in time. A client without a connection must detect the expiry by the local
// clock.
func LeasedSession() []impls.Expectation {
	return slices.Concat(
		Under("process-pause",
			Violated("a paused process cannot notice that its session has ended", "mutual-exclusion"),
			Holds(Checked, "resource-integrity"),
			Holds("the next client is granted after the session, with a higher token", "lease-exclusion", "fencing")),
		WriteFenced(),
		Under("holder-stall", Excludes("the session lives as long as its process"), Holds("a third into each timeout", "renewal")),
		Recovers("holder-kill", "the session's heartbeats end, and the server ends the session"),
		Recovers("half-open", "the server gets no heartbeats and ends the session"),
		Under("holder-abandon", Violated("its session lives as long as its process", "recovery", "no-orphan")),
		Survives("slow-network partition partition-one-way server-pause",
			"an unknown grant ends with its session, and a holder without a connection stops in time"),
		Survives("server-restart", "sessions and their locks are on disk before they are acknowledged"),
		Survives("leader-loss", "a majority has every acknowledged write, and the next leader is one of it"))
}

// WriteFenced returns the expectations for a paused holder in the workload write-fenced. In this workload, the resource
// checks the fencing tokens of writes but not of reads.
func WriteFenced() []impls.Expectation {
	return In("write-fenced", Under("process-pause",
		Violated("the next holder has only read, which raises no mark, and the late holder's write is accepted", "resource-integrity")))
}
