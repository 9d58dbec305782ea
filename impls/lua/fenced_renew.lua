-- Give the hold a full lease, if it is still this one. KEYS[1] the lock; ARGV[1] the token; ARGV[2] the
-- lease in ms. Returns 1 if renewed, 0 if nobody holds it, -1 if another does.
local token = redis.call('HGET', KEYS[1], 'token')
if not token then
	return 0
end
if token ~= ARGV[1] then
	return -1
end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
