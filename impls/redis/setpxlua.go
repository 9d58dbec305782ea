package redis

import (
	"slices"

	"lockbench/impls"
	"lockbench/impls/expect"
	"lockbench/impls/waiting"
)

// SetPXLua is the lock that the Redis documentation recommends for one server. Remaining weakness: the lease can expire
// during a hold, and the holder does not notice.
func SetPXLua() impls.Impl {
	return impls.Impl{
		Name: "set-px-lua", Store: "redis", Deployment: "single", BackOff: waiting.LongestPause,
		Doc: "SET NX PX with a random token, released by a compare-and-delete script",
		Expect: slices.Concat(expect.Answers(), expect.Prompt(),
			expect.Excludes("SET NX is atomic, and the script deletes only the owner's key"),
			expect.Holds("every holder deletes its key, and other keys expire", "no-orphan", "progress"),
			expect.LateHolder("holder-stall process-pause"),
			expect.Under("pause-before-answer",
				expect.Violated("the client receives the grant after its lease expired, and relies on it", "mutual-exclusion"),
				expect.Holds("the next client is granted after the lease", "lease-exclusion")),
			expect.MemoryLost("failover clock-forward server-restart eviction"),
			expect.Recovers("holder-kill holder-abandon", "the key expires without its holder"),
			expect.Under("clock-back", expect.Violated("the lease expires by the server's clock, which was set back", "recovery")),
			expect.Survives(badWeather, "an unknown grant expires, and a late release frees no other client's key"),
			silence(),
			expect.Survives("failover-synced", "the promoted replica has the key and its lease"),
			expect.On("durable", expect.Under("server-restart", expect.Excludes("every command is on disk before it is answered"))),
			onCluster(), expect.ComparedRelease(), expect.Backed(), expect.PromiseOutlived()),
		Open: openSimple(func(s single) (attempt, release) { return s.setToken, s.compareAndDelete }),
	}
}
