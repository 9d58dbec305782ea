// Package catalog lists all locks that lockbench can test. An impls.Impl describes each lock.
package catalog

import (
	"slices"

	"lockbench/impls"
	"lockbench/impls/broken"
	"lockbench/impls/etcd"
	"lockbench/impls/local"
	"lockbench/impls/mongo"
	"lockbench/impls/redis"
	"lockbench/impls/sql"
	"lockbench/impls/thirdparty"
	"lockbench/impls/zookeeper"
)

// All returns every lock except the known-broken locks of package broken: the locks of lockbench, including the
// baseline none, and the third-party locks.
func All() []impls.Impl {
	all := []impls.Impl{
		local.None(), local.Mutex(),
		redis.SetNX(), redis.SetNXExpire(), redis.SetPX(), redis.SetPXGetDel(), redis.SharedToken(),
		redis.ReentrantFlag(), redis.ReentrantCount(), redis.ReentrantCountFixed(), redis.BlindRenewal(),
		redis.SetPXLua(), redis.SetPXWait(), redis.Redisson(), redis.RedissonLease(), redis.RedissonLegacy(),
		redis.RedLock(), redis.Segmented(), redis.Fenced(), redis.FencedCounter(),
		redis.SetIFEQ(), redis.IFEQDropsExpiry(),
		sql.MySQLRow(), sql.MySQLRowTTL(), sql.MySQLGetLock(), sql.PostgresAdvisory(), sql.PostgresAdvisoryPool(),
		mongo.Lease(), mongo.Plain(), mongo.FerretDB(),
		zookeeper.Queue(), zookeeper.Herd(), etcd.Queue(),
		thirdparty.Redsync(), thirdparty.RedsyncTuned(), thirdparty.Redislock(), thirdparty.RedislockTuned(),
		thirdparty.Rueidislock(), thirdparty.RueidislockTuned(), thirdparty.EtcdConcurrency(), thirdparty.ZKLock(),
	}
	return checked(all)
}

// Known returns every lock that can be selected by name: those of All, and the known-broken locks of package broken.
func Known() []impls.Impl { return append(All(), checked(broken.All())...) }

// checked returns the given locks, changed so that opening a lock with unknown parameters returns an error.
func checked(all []impls.Impl) []impls.Impl {
	for i, lock := range all {
		all[i].Open = func(env impls.Env) (impls.Lock, error) {
			if err := impls.CheckParams(env.Params); err != nil {
				return nil, err
			}
			return lock.Open(env)
		}
	}
	return all
}

// Own returns all locks except the third-party locks.
func Own() []impls.Impl {
	return slices.DeleteFunc(All(), func(i impls.Impl) bool { return i.ThirdParty })
}

// OnRedis returns the locks that use Redis or no store, except those that need client tracking. These locks run in
// virtual time and on the emulator of Redis.
func OnRedis() []impls.Impl {
	return slices.DeleteFunc(All(), func(i impls.Impl) bool { return i.Store != "" && i.Store != "redis" || i.Tracks })
}
