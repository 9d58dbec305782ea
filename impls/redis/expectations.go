package redis

import (
	"slices"

	"lockbench/impls"
	"lockbench/impls/expect"
)

// badWeather lists the faults that a lock survives if its acquire is atomic with a lease and its release compares a token.
const badWeather = "slow-network lost-reply partition partition-one-way cancelled-acquire delayed-release server-pause"

// plainDelete returns the expectations of a lock with a lease and a release by a plain DEL.
func plainDelete() []impls.Expectation {
	return slices.Concat(
		expect.Under("holder-stall", expect.Violated("a late release deletes the next holder's key, and a third client is granted",
			"lease-exclusion", "mutual-exclusion", "owner-release")),
		expect.In("misuse", expect.Violated("DEL does not check the owner", "owner-release")),
		expect.In("long-hold", expect.Violated("the lease expires during the hold, the next client is granted, and the late DEL lets a third one in",
			"lease-exclusion", "mutual-exclusion")))
}

// silence returns the expectations if an answer is lost on a connection that stays open.
func silence() []impls.Expectation {
	const because = "an unknown grant expires"
	return expect.Under("lost-reply-silent", expect.Excludes(because), expect.Holds(because, "no-orphan"),
		expect.Observed("the client waits for an answer until its timeout of five seconds", "progress"))
}

// onCluster returns the expectations on a Redis Cluster. Six servers do not make a lock safer: a key is in the memory of
// one primary and, a moment later, of its replica.
func onCluster() []impls.Expectation {
	const busy = "one primary has the key, and the others redirect to it"
	return expect.On("cluster",
		expect.Excludes(busy), expect.Holds(busy, "no-orphan", "progress"),
		expect.Under("failover", expect.Violated("the promoted replica does not have the key",
			"lease-exclusion", "mutual-exclusion")),
		expect.Survives("failover-synced", "the promoted replica has the key and its lease"))
}
