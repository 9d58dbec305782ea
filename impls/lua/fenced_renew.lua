-- Give the hold a full lease, if it is still this one. KEYS[1] the lock: a list, see fenced_acquire.lua; ARGV[1] the
-- token; ARGV[2] the lease in ms. Returns 1 if renewed, 0 if nobody holds it, -1 if another does.
local record = redis.call('LINDEX', KEYS[1], 0)
if not record then
	return 0
end
local over, time = tonumber(record:sub(51, 66)), redis.call('TIME')
if not over then
	return redis.error_reply('ERR the key has something else than a lock')
end
local now = time[1] * 1000000 + time[2]
if over <= now then
	return 0
end
if record:sub(1, 32) ~= ARGV[1] then
	return -1
end
redis.call('LSET', KEYS[1], 0, record:sub(1, 50) .. string.format('%016.0f', now + ARGV[2] * 1000) .. record:sub(67))
return 1
