-- Renew the hold for a full lease, if it has the token. A longer lease, which a nested hold has requested, is kept.
-- KEYS[1] is the lock, a list that fenced_acquire.lua describes. ARGV[1] is the token, ARGV[2] the lease in ms, in ten
-- digits. Returns 1 if the hold was renewed, 0 if the lock is free, -1 if another client holds it.
local record = redis.call('LINDEX', KEYS[1], 0)
if not record then
	return 0
end
local since, lease, time = tonumber(record:sub(62, 77), 10), tonumber(record:sub(79, 88), 10), redis.call('TIME')
if not since or not lease then
	return redis.error_reply('ERR the key has something else than a lock')
end
local ends, now = since + lease * 1000, time[1] * 1000000 + time[2]
if ends <= now then
	return 0
end
if record:sub(1, 32) ~= ARGV[1] then
	return -1
end
if ends >= now + tonumber(ARGV[2], 10) * 1000 then
	return 1
end
redis.call('LSET', KEYS[1], 0, record:sub(1, 61) .. ('000000000' .. time[1]):sub(-10) .. ('00000' .. time[2]):sub(-6) .. ' ' .. ARGV[2] .. record:sub(89))
return 1
