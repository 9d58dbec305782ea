-- Set the key to its own value if it has the token, as SET with IFEQ does. Without a lease the key has none afterwards.
-- KEYS[1] the lock; ARGV[1] the token, ARGV[2] the lease in ms, or empty. Returns 1 if set, 0 if not held.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
	return 0
end
if ARGV[2] == '' then
	redis.call('SET', KEYS[1], ARGV[1])
else
	redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
end
return 1
