package impls

// redissonLease is Redisson's lock with a lease that its user asked for: nobody renews it. Its defect is the
// user's: work that outlasts the lease is not exclusive.
func redissonLease() Impl {
	return Impl{
		Name: "redisson-lease", Store: "redis", Deployment: "single", Reentrant: true,
		Doc:    "Redisson's lock with an explicit lease, and so without its watchdog",
		Expect: together(redissonUsual(), comparedRelease(), promiseOutlived()),
		Open: func(env Env) (Lock, error) {
			return openRedisson(env, redissonScripts{redissonAcquire, redissonRelease}, false)
		},
	}
}
