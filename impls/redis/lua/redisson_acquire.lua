-- Acquire the lock or re-enter it. If another client holds the lock, return the remaining lease.
-- KEYS[1] is the lock, a hash. ARGV[1] is the lease in ms, ARGV[2] the owner's field in the hash.
-- Returns {the owner's depth, 0}, or {0, the rest of the holder's lease in ms}.
if redis.call('EXISTS', KEYS[1]) == 0 or redis.call('HEXISTS', KEYS[1], ARGV[2]) == 1 then
	local count = redis.call('HINCRBY', KEYS[1], ARGV[2], 1)
	if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[1]) then -- a nested hold does not shorten the lease
		redis.call('PEXPIRE', KEYS[1], ARGV[1])
	end
	return {count, 0}
end
return {0, redis.call('PTTL', KEYS[1])}
