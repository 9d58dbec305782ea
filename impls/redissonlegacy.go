package impls

import (
	_ "embed"

	"github.com/redis/go-redis/v9"
)

// redissonLegacy is Redisson's lock with the scripts of older versions. Its defect: a release of a key that
// is gone reports success, so that a holder does not learn that its lease had run out.
func redissonLegacy() Impl {
	return Impl{
		Name: "redisson-legacy", Control: true, Store: "redis", Deployment: "single", Reentrant: true, Renews: true, Notifies: true,
		Doc: "Redisson's lock with its older scripts: a release of what is gone reports success",
		Expect: together(redissonUsual(), watched(),
			in("misuse", expect(Breaks, "a release of a missing key reports success", "owner-release"))),
		Open: func(env Env) (Lock, error) {
			return openRedisson(env, redissonScripts{redissonLegacyAcquire, redissonLegacyRelease}, true)
		},
	}
}

var (
	//go:embed lua/redisson_legacy_acquire.lua
	redissonLegacyAcquireLua string
	//go:embed lua/redisson_legacy_release.lua
	redissonLegacyReleaseLua string

	redissonLegacyAcquire = redis.NewScript(redissonLegacyAcquireLua)
	redissonLegacyRelease = redis.NewScript(redissonLegacyReleaseLua)
)
