package impls

import (
	"slices"
	"strings"
)

// All is every lock, from the one that is none up the ladder.
func All() []Impl {
	return []Impl{none(), localMutex(), setNX(), setNXExpire(), setPX(), setPXGetDel(), sharedToken(),
		reentrantFlag(), reentrantCount(), reentrantCountFixed(), blindRenewal(), setPXLua(), setPXWait(),
		redisson(), redissonLease(), redissonLegacy(), redLock(), segmented(), fenced(), fencedCounter(),
		mysqlRow(), mysqlRowTTL(), mysqlGetLock(), postgresAdvisory(), postgresAdvisoryPool(),
		mongoDB(), mongoDBPlain(), ferretDB(), zooKeeper(), zooKeeperHerd(), etcd(),
		redSync(), redSyncTuned(), redisLock(), redisLockTuned(), rueidisLock(), rueidisLockTuned(), etcdConcurrency(), zkLock()}
}

// Own are the locks of the table but for the libraries of others.
func Own() []Impl {
	return slices.DeleteFunc(All(), func(i Impl) bool { return i.Peer })
}

// OnRedis are the locks that talk to Redis or to nothing: there is virtual time for those, and an emulator.
func OnRedis() []Impl {
	return slices.DeleteFunc(All(), func(i Impl) bool { return i.Store != "" && i.Store != "redis" || i.Tracks })
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

// under says that expectations are of faults.
func under(faults string, list []Expectation) []Expectation {
	var out []Expectation
	for fault := range strings.FieldsSeq(faults) {
		for _, e := range list {
			e.Fault = fault
			out = append(out, e)
		}
	}
	return out
}

// on says that expectations are of one deployment.
func on(deployment string, list []Expectation) []Expectation {
	for i := range list {
		list[i].Deployment = deployment
	}
	return list
}

// threeViews are the properties of exclusion: as promised, as lived, and in what it guards.
func threeViews(v Verdict, because string) []Expectation {
	return expect(v, because, "lease-exclusion", "mutual-exclusion", "resource-integrity")
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

// lateDelete is what to expect of a lease that is given back by a plain DEL, when its holder is late.
func lateDelete() []Expectation {
	return under("holder-stall", expect(Breaks, "the late one deletes the next one's key, and a third is let in",
		"lease-exclusion", "mutual-exclusion", "owner-release"))
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

// lateHolder is what to expect of a lock that keeps its promise to the end of the lease, under a holder who
// works on, because it is slow or because it stands still.
func lateHolder(faults string) []Expectation {
	return under(faults, together(leaseRunsOut(),
		expect(Breaks, "the late one writes what it had read before the next one came", "resource-integrity"),
		expect(Holds, "the next is granted after the lease, and a late release frees nobody else's", "lease-exclusion", "owner-release")))
}

// memoryLost is what to expect of a lock that is in one server's memory, when that forgets it or hurries.
func memoryLost(faults string) []Expectation {
	return under(faults, expect(Breaks, "the server no longer has the key, and gives it to the next while the holder relies on its lease",
		"lease-exclusion", "mutual-exclusion"))
}

// survives is what to expect of a lock under faults that it is made to survive.
func survives(faults, because string) []Expectation {
	return under(faults, together(threeViews(Holds, because), expect(Holds, because, "no-orphan", "progress")))
}

// badWeather are the faults that an atomic acquire with a lease and a compared release survive.
const badWeather = "slow-network lost-reply partition partition-one-way cancelled-acquire delayed-release server-pause"

// silence is what to expect where an answer never comes, on a connection that stays open.
func silence() []Expectation {
	const because = "what is not known to be granted expires"
	return under("lost-reply-silent", together(threeViews(Holds, because), expect(Holds, because, "no-orphan"),
		expect(Open, "whoever asked waits for an answer until its own limit of five seconds", "progress")))
}

// lateAnswer is what to expect of a lock that does not look at the time when it reads that it was granted.
func lateAnswer() []Expectation {
	return under("pause-before-answer", together(
		expect(Breaks, "the grant is read when its lease is over, and believed", "mutual-exclusion"),
		expect(Holds, "the next is granted after the lease", "lease-exclusion")))
}

// recovers is what to expect of a lease when its holder dies or goes away.
func recovers(faults, because string) []Expectation {
	return under(faults, together(expect(Holds, because, "recovery", "no-orphan"),
		expect(Holds, "who is gone does nothing any more, and the lease keeps the others out until it ends", "lease-exclusion", "mutual-exclusion", "resource-integrity")))
}

// promiseOutlived is leaseRunsOut for a lock whose late release frees nobody else's hold.
func promiseOutlived() []Expectation {
	return in("long-hold", together(leaseRunsOut(),
		expect(Holds, "the next is granted after the lease, and a late release frees nobody else's", "lease-exclusion")))
}

// sessionHeld is what to expect of a lock that a session holds, which is asked for a sign of life three times in each
// lease.
func sessionHeld() []Expectation {
	return together(
		expect(Holds, "every holder gives its lock back, and a session that is not sure of itself is ended", "no-orphan", "progress"),
		under("holder-stall process-pause slow-network partition partition-one-way server-pause",
			threeViews(Holds, "the server keeps a session whose client is silent, and the lock with it")),
		under("holder-kill", together(threeViews(Holds, "the server gives to the next what the session of the dead one held"),
			expect(Holds, "the connection of a process that died is closed, and its session ends with it", "recovery", "no-orphan"))),
		under("holder-abandon", expect(Breaks, "the process lives on, and its session with it", "recovery", "no-orphan")),
		under("half-open",
			expect(Breaks, "the server keeps the session of the dead one until its network gives up, which takes hours", "recovery")),
		under("session-kill", together(
			expect(Breaks, "the next is granted at once, and the holder notices when it asks for a sign of life", "lease-exclusion", "mutual-exclusion"),
			expect(Holds, "the loss is noticed before the work is written", "resource-integrity"))),
		under("server-restart", expect(Open, "sessions end with their server: whether the holder notices before the next is granted is a matter of milliseconds",
			"lease-exclusion", "mutual-exclusion")),
		in("misuse", expect(Holds, "a grant that has no session any more is refused here, and the server knows which session holds", "owner-release")),
		in("long-hold", expect(Holds, "a session has no lease that could run out", "lease-exclusion", "mutual-exclusion")))
}
