-- Delete the key if it has the token, in one atomic step.
-- KEYS[1] is the lock, ARGV[1] the token. Returns 1 if the key was deleted, 0 if it is missing or has another token.
if redis.call('GET', KEYS[1]) == ARGV[1] then
	return redis.call('DEL', KEYS[1])
end
return 0
