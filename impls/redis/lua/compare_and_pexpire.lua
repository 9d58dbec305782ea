-- Give the key a new lease if it still bears the token of the one who asks. A key that is gone stays gone:
-- to set it again could come between another's grant.
-- KEYS[1] the lock; ARGV[1] the token, ARGV[2] the lease in ms. Returns 1 if extended, 0 if not held.
if redis.call('GET', KEYS[1]) == ARGV[1] then
	return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0
