-- Release one level of the lock. The release of the last level deletes the lock and notifies the waiters.
-- KEYS[1] is the lock, a hash. KEYS[2] is its channel. ARGV[1] is the lease in ms, ARGV[2] the owner's field in the hash.
-- Returns 1 if the lock is free now, 0 if its owner still holds it, nil if the owner did not hold the lock.
if redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0 then
	return nil
end
if redis.call('HINCRBY', KEYS[1], ARGV[2], -1) > 0 then
	if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[1]) then -- a nested hold does not shorten the lease
		redis.call('PEXPIRE', KEYS[1], ARGV[1])
	end
	return 0
end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', KEYS[2], 0)
return 1
