package zookeeper

import (
	"lockbench/impls"
)

// Herd is zookeeper as it is often written: waiters watch the queue rather than the node before their own.
func Herd() impls.Impl {
	i := Queue()
	i.Name, i.Control = "zookeeper-herd", true
	i.Doc = "zookeeper where everybody who waits watches the whole queue: each release wakes all of them"
	i.Expect = zooKeeperExpect("a release wakes all, of whom one is next, and whoever is gone loses its node with its session")
	i.Open = func(env impls.Env) (impls.Lock, error) { return openZooKeeper(env, true) }
	return i
}
