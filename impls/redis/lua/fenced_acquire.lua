-- Acquire the lock, re-enter it, or join the queue, in one step, so that no release can come between.
-- KEYS[1] the lock.
-- ARGV[1] the token of this request; ARGV[2] its owner; ARGV[3] its lease in ms, of ten digits; ARGV[4] its process
-- and the lease of a hand-over, as in its queue entry, empty for a try; ARGV[5] 1 for a repeated request; ARGV[6] the
-- base of fences: clock or count; ARGV[7] the token of the owner's current hold, as far as its process knows.
-- Returns the fence of a new hold, {depth, token, fence} of an existing one, or {0, '', time left in ms} if refused.
--
-- A lock is one list, so that a release reads the hold and the first waiter with one command. Its first element is the
-- record of the hold; the others are the waiters' entries, the oldest first.
--   record: token (1-32), fence (34-49), depth (51-60), since (62-77), lease (79-88), owner (90-)
--   entry:  token (1-32), process (34-65), lease of a hand-over (67-76), owner (78-)
-- A hold has ended when its lease, in ms, has passed since the server time "since", in microseconds; the record of a free
-- lock is all zeros. The list has no expiry because it has the last fence: a resource would refuse fences that begin again
-- at 1. All parts have fixed positions, and are copied rather than calculated, because calculation takes most of a
-- script's time. tonumber always gets the base 10: leading zeros can mean octal.
local call, key = redis.call, KEYS[1]
local record, time = call('LINDEX', key, 0), call('TIME')
local now, stamp = time[1] * 1000000 + time[2], ('000000000' .. time[1]):sub(-10) .. ('00000' .. time[2]):sub(-6) -- exact to 2^53, the year 2255
local ends = now + tonumber(ARGV[3], 10) * 1000
local last, over = 0, 0
if record then
	last, over = tonumber(record:sub(34, 49), 10), tonumber(record:sub(62, 77), 10)
	local lease = tonumber(record:sub(79, 88), 10)
	if not last or not over or not lease then
		return redis.error_reply('ERR the key has something else than a lock')
	end
	over = over + lease * 1000
end

-- The fence of a new holder: one more than the last and, if it follows the clock, at least the server's time. So fences
-- rise even after a loss of memory.
local new, fence = now, stamp
if now <= last or ARGV[6] ~= 'clock' then
	new = last + 1
	fence = string.format('%016.0f', new)
end

-- Free: a new holder. If the lease has expired, the first waiter to check is granted, because the head of the queue may
-- be gone as well. Its entry is removed from the queue.
if over <= now then
	local held = ARGV[1] .. ' ' .. fence .. ' 0000000001 ' .. stamp .. ' ' .. ARGV[3] .. ' ' .. ARGV[2]
	if record then
		call('LSET', key, 0, held)
	else
		call('RPUSH', key, held)
	end
	if ARGV[5] == '1' and ARGV[4] ~= '' then
		call('LREM', key, 0, ARGV[1] .. ' ' .. ARGV[4] .. ' ' .. ARGV[2])
	end
	return new
end

-- Granted already: a release has handed it over and the notice is late or lost, or this command was sent twice. The
-- lease is the full one from now on.
local token, depth = record:sub(1, 32), tonumber(record:sub(51, 60), 10)
if token == ARGV[1] then
	call('LSET', key, 0, record:sub(1, 61) .. stamp .. ' ' .. ARGV[3] .. record:sub(89))
	return {depth, token, last}
end

-- Re-entry: one level deeper, with the same token and fence, and no shorter lease. If the process knows of no such hold,
-- the fence is new: a promoted replica may still have a released hold, and other clients may have held since.
if record:sub(90) == ARGV[2] then
	if token == ARGV[7] then
		new, fence = last, record:sub(34, 49)
	end
	local lease = record:sub(62, 88)
	if over < ends then
		lease = stamp .. ' ' .. ARGV[3]
	end
	call('LSET', key, 0, token .. ' ' .. fence .. string.format(' %010d ', depth + 1) .. lease .. ' ' .. ARGV[2])
	if ARGV[5] == '1' and ARGV[4] ~= '' then
		call('LREM', key, 0, ARGV[1] .. ' ' .. ARGV[4] .. ' ' .. ARGV[2])
	end
	return {depth + 1, token, new}
end

-- Another client holds: queue once.
if ARGV[4] ~= '' then
	local entry = ARGV[1] .. ' ' .. ARGV[4] .. ' ' .. ARGV[2]
	if ARGV[5] ~= '1' or not call('LPOS', key, entry) then
		call('RPUSH', key, entry)
	end
end
return {0, '', math.ceil((over - now) / 1000)}
