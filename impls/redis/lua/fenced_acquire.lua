-- Acquire the lock, re-enter it, or join the queue. This is one atomic step, so no release can happen in between.
-- KEYS[1]: the lock.
-- ARGV[1]: the token of this request.
-- ARGV[2]: the owner.
-- ARGV[3]: the requested lease in ms, in ten digits.
-- ARGV[4]: the process and the lease after a hand-off, as in a queue entry; empty for a try.
-- ARGV[5]: 1 for a repeated request.
-- ARGV[6]: the source of fencing tokens ("fences"): clock or count.
-- ARGV[7]: the token of the owner's current hold, if the process knows that hold.
-- Returns the fence of a new hold, {depth, token, fence} of an existing hold, or {0, last fence, time left in ms} if refused.
--
-- A lock is one list, so a release can read the hold and the first waiter with one command. The first element is the
-- record of the hold. The other elements are the entries of the waiters, the oldest first.
--   record: token (1-32), fence (34-49), depth (51-60), since (62-77), lease (79-88), owner (90-)
--   entry:  token (1-32), process (34-65), lease after a hand-off (67-76), owner (78-)
-- A hold has ended when its lease (in ms) has passed since the server time "since" (in microseconds). In the record of a
-- free lock, all fields except the fence are zeros. The list does not expire, because it contains the last fence: if the
-- fences began again at 1, a resource would refuse them. All parts have fixed positions, so a script can copy them
-- instead of calculating them, which would take longer. Every call of tonumber has the base 10, because leading zeros
-- can mean octal.
local call, key = redis.call, KEYS[1]
local record, time = call('LINDEX', key, 0), call('TIME')
local now, stamp = time[1] * 1000000 + time[2], ('000000000' .. time[1]):sub(-10) .. ('00000' .. time[2]):sub(-6) -- numbers are exact up to 2^53, which is in the year 2255
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

-- Calculate the fence of a new holder: one more than the last fence. If the source is the clock, the fence is at least
-- the server's time. Fences then increase even after the server has lost its memory.
local new, fence = now, stamp
if now <= last or ARGV[6] ~= 'clock' then
	new = last + 1
	fence = string.format('%016.0f', new)
end

-- If the lock is free, grant it. After the expiry of a lease, the first waiter that repeats its request is granted,
-- because the first waiter of the queue may no longer exist. The entry of the new holder is removed from the queue.
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

-- This request may already be granted: a release has handed the lock over and the message is late or lost, or this
-- command was sent twice. From now on, the hold has the full lease.
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
return {0, record:sub(34, 49), math.ceil((over - now) / 1000)}
