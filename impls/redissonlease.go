package impls

// redissonLease is Redisson's lock with a lease that its user asked for: nobody renews it. Its defect is the
// user's: work that outlasts the lease is not exclusive.
func redissonLease() Impl {
	return Impl{
		Name: "redisson-lease", Store: "redis", Deployment: "single", Reentrant: true,
		Notifies: true,
		Doc:      "Redisson's lock with an explicit lease, and so without its watchdog",
		Expect: together(redissonUsual(), comparedRelease(), promiseOutlived(),
			lateHolder("holder-stall process-pause"),
			recovers("holder-kill holder-abandon", "nobody renews, and the lease ends")),
		Open: func(env Env) (Lock, error) {
			return openRedisson(env, redissonScripts{redissonAcquire, redissonRelease}, false)
		},
	}
}
