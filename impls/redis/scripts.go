package redis

import (
	"embed"
	"path"
	"strings"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/*.lua
var sources embed.FS

// Script is a Lua script that locks run on a server.
type Script struct {
	Name   string // of its file, without the ending
	Source string
}

// Scripts returns all of them.
func Scripts() []Script {
	files, err := sources.ReadDir("lua")
	if err != nil {
		panic(err)
	}
	var all []Script
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), path.Ext(f.Name()))
		all = append(all, Script{name, source(name)})
	}
	return all
}

func source(name string) string {
	text, err := sources.ReadFile("lua/" + name + ".lua")
	if err != nil {
		panic(err)
	}
	return string(text)
}

func script(name string) *redis.Script { return redis.NewScript(source(name)) }

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
