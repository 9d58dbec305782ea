-- The fence of a new holder, as text: one more than the last, and where it follows the clock no less than the
-- server's time in microseconds. So a counter that was lost goes on beyond all that was given out. It has no
-- expiry: a fence that began again at 1 would be refused by whoever remembers a higher one.
-- KEYS[2] the fence counter. A number of Lua's is exact to 2^53, which microseconds reach in the year 2255.
local function mint(follows)
	local fence = redis.call('INCR', KEYS[2])
	if follows == 'clock' then
		local time = redis.call('TIME')
		local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
		if now > fence then
			fence = now
			redis.call('SET', KEYS[2], string.format('%.0f', now))
		end
	end
	return string.format('%.0f', fence)
end

