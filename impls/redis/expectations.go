package redis

import (
	"slices"

	"lockbench/impls"
	"lockbench/impls/expect"
)

// badWeather lists the faults that an atomic acquire with a lease and a compared release survive.
const badWeather = "slow-network lost-reply partition partition-one-way cancelled-acquire delayed-release server-pause"

// plainDelete expects of a lease that is released by a plain DEL.
func plainDelete() []impls.Expectation {
	return slices.Concat(
		expect.Under("holder-stall", expect.Violated("the late one deletes the next one's key, and a third is let in",
			"lease-exclusion", "mutual-exclusion", "owner-release")),
		expect.In("misuse", expect.Violated("DEL asks nobody whose key it is", "owner-release")),
		expect.In("long-hold", expect.Violated("the lease ends under its holder, the next is granted, and the DEL of the late one lets a third in",
			"lease-exclusion", "mutual-exclusion")))
}

// silence expects of an answer that never comes, on a connection that stays open.
func silence() []impls.Expectation {
	const because = "what is not known to be granted expires"
	return expect.Under("lost-reply-silent", expect.Excludes(because), expect.Holds(because, "no-orphan"),
		expect.Observed("whoever asked waits for an answer until its own limit of five seconds", "progress"))
}

// onCluster expects of a lock on a Redis Cluster, one of whose primaries has its key in memory. Six servers make it no
// safer: a key is on one primary, and on its replica a moment later.
func onCluster() []impls.Expectation {
	const busy = "one primary has the key, and the others send whoever asks to it"
	return expect.On("cluster",
		expect.Excludes(busy), expect.Holds(busy, "no-orphan", "progress"),
		expect.Under("failover", expect.Violated("the replica that takes over this part of the keys has not heard of the key",
			"lease-exclusion", "mutual-exclusion")),
		expect.Survives("failover-synced", "the replica that takes over this part of the keys has the key and its lease"))
}
