package redis

import (
	"slices"

	"lockbench/impls"
	"lockbench/impls/expect"
)

// RedissonLegacy is Redisson's lock with the scripts of older versions. Its defect: the release of a missing key succeeds,
// so a holder does not learn that its lease has expired.
func RedissonLegacy() impls.Impl {
	return impls.Impl{
		Name: "redisson-legacy", Control: true, Store: "redis", Deployment: "single", Reentrant: true, Renews: true, Notifies: true, ReportsLoss: true,
		Doc: "Redisson's lock with its older scripts: the release of a missing key reports success",
		Expect: slices.Concat(redissonUsual(), watched(),
			expect.In("misuse", expect.Violated("a release of a missing key reports success", "owner-release"))),
		Open: openRedisson(redissonLegacyAcquire, redissonLegacyRelease, true),
	}
}
