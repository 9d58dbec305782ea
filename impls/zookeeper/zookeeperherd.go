package zookeeper

import (
	"lockbench/impls"
)

// Herd is Queue with a common mistake: each waiter watches the whole queue instead of the preceding node, so every release wakes
// all waiters.
func Herd() impls.Impl {
	i := Queue()
	i.Name, i.Control = "zookeeper-herd", true
	i.Doc = "zookeeper with waiters that watch the whole queue: each release wakes all of them"
	i.Expect = zooKeeperExpect("a release wakes all waiters, and the node of a dead client goes with its session")
	i.Open = func(env impls.Env) (impls.Lock, error) { return openZooKeeper(env, true) }
	return i
}
