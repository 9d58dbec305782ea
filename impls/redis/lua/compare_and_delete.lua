-- Delete the key if it still bears the token of the one who asks; in one step, so that nobody comes between.
-- KEYS[1] the lock; ARGV[1] the token. Returns 1 if it was deleted, 0 if it belongs to nobody or to another.
if redis.call('GET', KEYS[1]) == ARGV[1] then
	return redis.call('DEL', KEYS[1])
end
return 0
