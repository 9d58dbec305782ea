package impls

// Script is a Lua script that locks have a server run.
type Script struct {
	Name   string // of its file, without the ending
	Source string
}

// Scripts are all of them, for those who must know what a server is asked to run.
func Scripts() []Script {
	return []Script{
		{"compare_and_delete", compareAndDeleteLua},
		{"compare_and_pexpire", compareAndPExpireLua},
		{"fenced_acquire", fencedAcquireLua},
		{"fenced_release", fencedReleaseLua},
		{"fenced_renew", fencedRenewLua},
		{"redisson_acquire", redissonAcquireLua},
		{"redisson_release", redissonReleaseLua},
		{"redisson_extend", redissonExtendLua},
		{"redisson_legacy_acquire", redissonLegacyAcquireLua},
		{"redisson_legacy_release", redissonLegacyReleaseLua},
	}
}
