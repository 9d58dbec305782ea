package redis

import (
	"slices"

	"lockbench/impls"
	"lockbench/impls/expect"
)

// badWeather lists faults that cause no violation in locks with an atomic lease and a token. Such a lock sets the lease
// with the key, and compares the token at the release.
const badWeather = "slow-network lost-reply partition partition-one-way cancelled-acquire delayed-release server-pause"

// plainDelete returns the expectations of a lock that has a lease and releases by a plain DEL.
func plainDelete() []impls.Expectation {
	return slices.Concat(
		expect.Under("holder-stall", expect.Violated("a late release deletes the next holder's key, and a third client is granted",
			"lease-exclusion", "mutual-exclusion", "owner-release")),
		expect.In("misuse", expect.Violated("DEL does not check the owner", "owner-release")),
		expect.In("long-hold", expect.Violated("the lease expires during the hold, the next client is granted, and the late DEL lets a third one in",
			"lease-exclusion", "mutual-exclusion")))
}

// silence returns the expectations for the fault lost-reply-silent, which drops a reply and keeps the connection open.
func silence() []impls.Expectation {
	const because = "an unknown grant expires"
	return expect.Under("lost-reply-silent", expect.Excludes(because), expect.Holds(because, "no-orphan"),
		expect.Observed("the client waits for an answer until its timeout of five seconds", "progress"))
}

// onCluster returns the expectations on a Redis Cluster. The cluster's six servers do not make a lock safer. Each key is
// stored on only one primary and, after a short delay, on the replica of that primary.
func onCluster() []impls.Expectation {
	const busy = "one primary has the key, and the others redirect to it"
	return expect.On("cluster",
		expect.Excludes(busy), expect.Holds(busy, "no-orphan", "progress"),
		expect.Under("failover", expect.Violated("the promoted replica does not have the key",
			"lease-exclusion", "mutual-exclusion")),
		expect.Survives("failover-synced", "the promoted replica has the key and its lease"))
}
