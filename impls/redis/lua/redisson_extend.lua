-- Renew the lease if the owner holds the lock.
-- KEYS[1] the lock, a hash; ARGV[1] the lease in milliseconds; ARGV[2] the owner's field.
-- Returns 1 if renewed, else 0.
if redis.call('HEXISTS', KEYS[1], ARGV[2]) == 1 then
	if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[1]) then -- a nested hold does not shorten the lease
		redis.call('PEXPIRE', KEYS[1], ARGV[1])
	end
	return 1
end
return 0
