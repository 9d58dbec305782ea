package redis

import (
	"slices"

	"lockbench/impls"
	"lockbench/impls/expect"
)

// RedissonLease is Redisson's lock with a lease and without a watchdog. A hold that outlives its lease is not protected.
func RedissonLease() impls.Impl {
	return impls.Impl{
		Name: "redisson-lease", Store: "redis", Deployment: "single", Reentrant: true, Notifies: true, SkipsDead: true, LocalOwners: true,
		Doc: "Redisson's lock with an explicit lease, and so without its watchdog",
		Expect: slices.Concat(expect.Answers(), expect.Prompt(), redissonUsual(), expect.ComparedRelease(), expect.Backed(), expect.PromiseOutlived(),
			expect.LateHolder("holder-stall process-pause"),
			expect.Recovers("holder-kill holder-abandon", "there is no renewal, and the lease expires")),
		Open: openRedisson(redissonAcquire, redissonRelease, false),
	}
}
