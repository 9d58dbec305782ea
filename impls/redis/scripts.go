package redis

import (
	"embed"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/*.lua
var sources embed.FS

func script(name string) *redis.Script {
	text, err := sources.ReadFile("lua/" + name + ".lua")
	if err != nil {
		panic(err)
	}
	return redis.NewScript(string(text))
}

var (
	compareAndDelete  = script("compare_and_delete")
	compareAndPExpire = script("compare_and_pexpire")

	fencedAcquire = script("fenced_acquire")
	fencedRelease = script("fenced_release")
	fencedRenew   = script("fenced_renew")

	redissonAcquire       = script("redisson_acquire")
	redissonRelease       = script("redisson_release")
	redissonExtend        = script("redisson_extend")
	redissonLegacyAcquire = script("redisson_legacy_acquire")
	redissonLegacyRelease = script("redisson_legacy_release")
)
