package impls

// onCluster is what to expect on a Redis Cluster of a lock that one primary of it has in memory. That there are six
// servers makes it no safer: a key is on one primary, and on its replica a moment later.
func onCluster() []Expectation {
	const busy = "one primary has the key, and the others send whoever asks to it"
	return on("cluster", together(
		expect(Holds, busy, "lease-exclusion", "mutual-exclusion", "resource-integrity", "no-orphan", "progress"),
		under("failover", expect(Breaks, "the replica that takes over this part of the keys has not heard of the key",
			"lease-exclusion", "mutual-exclusion")),
		survives("failover-synced", "the replica that takes over this part of the keys has the key and its lease")))
}
