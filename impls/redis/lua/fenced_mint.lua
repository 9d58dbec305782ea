-- The fencing tokens ("fences") of the other scripts named fenced. Each of them follows this text in one script.
-- The last of KEYS: the last fence of all locks with the same prefix.
-- ARGV[2]: the source of fences: count; clock: if the server has lost the last fence, continue at its time.
-- Numbers are exact up to 2^53, which is in the year 2255.
local call, fences = redis.call, KEYS[#KEYS]

-- Raise the last fence to the server's time in microseconds, unless it is higher.
local function raise(last)
	local time = call('TIME')
	local now = time[1] * 1000000 + time[2]
	if last < now then
		call('SET', fences, string.format('%.0f', now))
	end
	return math.max(last, now)
end
local function mint()
	local fence = call('INCR', fences)
	if fence < 1e14 and ARGV[2] ~= 'count' then -- far below the clock, so the server has lost the last fence
		fence = raise(fence)
	end
	return fence
end

