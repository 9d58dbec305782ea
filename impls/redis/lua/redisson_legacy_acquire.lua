-- Acquire the lock or re-enter it. If another client holds the lock, return the remaining lease. Older versions of
-- Redisson have two branches for this.
-- KEYS[1] is the lock, a hash. ARGV[1] is the lease in ms, ARGV[2] the owner's field in the hash.
-- Returns {the owner's depth, 0} if granted, or {0, the remaining lease of the holder in ms} if refused.
if redis.call('EXISTS', KEYS[1]) == 0 then
	redis.call('HSET', KEYS[1], ARGV[2], 1)
	redis.call('PEXPIRE', KEYS[1], ARGV[1])
	return {1, 0}
end
if redis.call('HEXISTS', KEYS[1], ARGV[2]) == 1 then
	local count = redis.call('HINCRBY', KEYS[1], ARGV[2], 1)
	redis.call('PEXPIRE', KEYS[1], ARGV[1])
	return {count, 0}
end
return {0, redis.call('PTTL', KEYS[1])}
