package redis

import (
	"slices"

	"lockbench/impls"
	"lockbench/impls/expect"
	"lockbench/impls/waiting"
)

// SetPXLua is the lock that the Redis documentation recommends for one server. What is left is that a lease can run out under
// a holder that does not notice.
func SetPXLua() impls.Impl {
	return impls.Impl{
		Name: "set-px-lua", Store: "redis", Deployment: "single", BackOff: waiting.LongestPause,
		Doc: "SET NX PX with a random token, released by a compare-and-delete script",
		Expect: slices.Concat(
			expect.Excludes("SET NX is atomic, and the script deletes nobody else's key"),
			expect.Holds("every holder deletes its key, and what is forgotten expires", "no-orphan", "progress"),
			expect.LateHolder("holder-stall process-pause"),
			expect.Under("pause-before-answer",
				expect.Violated("the grant is read when its lease is over, and believed", "mutual-exclusion"),
				expect.Holds("the next is granted after the lease", "lease-exclusion")),
			expect.MemoryLost("failover clock-forward server-restart eviction"),
			expect.Recovers("holder-kill holder-abandon", "the key expires with its lease, whatever became of its holder"),
			expect.Under("clock-back", expect.Violated("the lease ends by the server's clock, which was set back", "recovery")),
			expect.Survives(badWeather, "what is not known to be granted expires, and what comes late frees nobody else's"),
			silence(),
			expect.Survives("failover-synced", "the replica that takes over has the key and its lease"),
			expect.On("durable", expect.Under("server-restart", expect.Excludes("every command is on disk before it is answered"))),
			onCluster(), expect.ComparedRelease(), expect.PromiseOutlived()),
		Open: openSimple(func(s single) (attempt, release) { return s.setToken, s.compareAndDelete }),
	}
}
