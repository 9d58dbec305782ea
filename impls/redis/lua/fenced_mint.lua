-- The fencing tokens ("fences") of fenced_acquire.lua and fenced_release.lua. Each of them follows this text in one script.
-- KEYS[3]: the last fence of all locks with the same prefix.
-- ARGV[2]: the source of fences: count; clock: if the server has lost the last fence, continue at its time; raise: first raise
--          the last fence to the server's time in microseconds, unless it is higher.
-- Numbers are exact up to 2^53, which is in the year 2255.
local call = redis.call
local function raise(last)
	local time = call('TIME')
	local now = time[1] * 1000000 + time[2]
	if last < now then
		call('SET', KEYS[3], string.format('%.0f', now))
	end
	return math.max(last, now)
end
local function mint()
	local fence = call('INCR', KEYS[3])
	if fence < 1e14 and ARGV[2] ~= 'count' then -- far below the clock, so the server has lost the last fence
		fence = raise(fence)
	end
	return fence
end
if ARGV[2] == 'raise' then
	raise(tonumber(call('GET', KEYS[3]) or 0) or 0)
end

