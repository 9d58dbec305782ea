-- Release one level of the lock, as in older versions of Redisson. The release of a missing lock succeeds.
-- KEYS[1] is the lock, a hash. KEYS[2] is its channel. ARGV[1] is the lease in ms, ARGV[2] the owner's field in the hash.
-- Returns 1 if the lock is free now, 0 if its owner still holds it, nil if another client holds the lock.
if redis.call('EXISTS', KEYS[1]) == 0 then
	redis.call('PUBLISH', KEYS[2], 0)
	return 1
end
if redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0 then
	return nil
end
if redis.call('HINCRBY', KEYS[1], ARGV[2], -1) > 0 then
	redis.call('PEXPIRE', KEYS[1], ARGV[1])
	return 0
end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', KEYS[2], 0)
return 1
