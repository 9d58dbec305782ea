-- Acquire the lock, re-enter it, or return the time for which it is held: in two branches, as older versions do.
-- KEYS[1] the lock, a hash; ARGV[1] the lease in milliseconds; ARGV[2] the owner's field.
-- Returns {the owner's depth, 0}, or {0, the rest of the holder's lease in ms}.
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
