-- Extend the lease of the key if it has the token. A missing key is not set again: another client may have been granted
-- it meanwhile.
-- KEYS[1] the lock; ARGV[1] the token, ARGV[2] the lease in ms. Returns 1 if extended, 0 if not held.
if redis.call('GET', KEYS[1]) == ARGV[1] then
	return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0
