package redis

import (
	"slices"

	"lockbench/impls"
	"lockbench/impls/expect"
)

// FencedCounter is fenced with a plain counter in the memory of the server for its tokens: a server that forgot begins again
// at 1. It is the control for fencing.
func FencedCounter() impls.Impl {
	i := Fenced()
	i.Name, i.Control = "fenced-counter", true
	i.Doc = "fenced with a plain counter for its tokens, as articles have it: where the server forgets, they begin again"
	i.Expect = slices.Concat(fencedUsual(), fencedForgotten(), fencedByCount())
	i.Open = func(env impls.Env) (impls.Lock, error) { return openFenced(env, "count") }
	return i
}

// fencedByCount is what is expected of fences that are counted and nothing more, where a counter is lost.
func fencedByCount() []impls.Expectation {
	return slices.Concat(
		expect.Under("eviction",
			expect.Violated("the counter stands in the key that is dropped: tokens begin again below those that were seen", "fencing"),
			expect.Observed("while the tokens catch up, one of them equals that of a holder from before, and both may write", "resource-integrity")),
		expect.Under("server-restart",
			expect.Violated("the counter is gone with the key: tokens begin again below those that were seen", "fencing"),
			expect.Observed("while the tokens catch up, one of them equals that of a holder from before, and both may write", "resource-integrity"),
			expect.Observed("the lock is granted, and nobody can use it until the tokens have caught up: see the stale operations", "progress")),
		expect.Under("failover",
			expect.Violated("the replica that takes over has not heard of the last token, and gives the same one out again", "fencing"),
			expect.Observed("two with one token may both write; a holder that renews before it writes learns in time that it lost", "resource-integrity")))
}
