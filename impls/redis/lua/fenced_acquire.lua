-- Take the lock, take it once more, or get in the queue; all in one step, so that no release can come
-- between looking and queueing.
-- KEYS[1] the lock.
-- ARGV[1] the token of this request; ARGV[2] its owner; ARGV[3] its lease in ms, of ten digits; ARGV[4] its process
-- and the lease of a hand-over, as in its entry in the queue, empty for one that does not wait; ARGV[5] 1 if it asked
-- before; ARGV[6] what fences follow: clock or count; ARGV[7] the token of what the owner holds already, as far as its
-- process knows.
-- Returns the fence of a new hold, {depth, token, fence} of one that there was, {0, '', time left in ms} if it is refused.
--
-- What there is of a lock is one list, so that a release gets at the hold and at the first who waits with one command.
-- Its first element is the record, and those after it are the entries of who waits, in the order in which they came.
--   record: token (1-32), fence (34-49), depth (51-60), since (62-77), lease (79-88), owner (90-)
--   entry:  token (1-32), process (34-65), lease of a hand-over (67-76), owner (78-)
-- A hold is over when its lease, in ms, has passed since that time of the server's, in microseconds; one of a lock that is
-- free is all zeros. The list has no expiry, for the last fence stands in it: one that began again at 1 would be refused by
-- whoever remembers a higher one. All parts have fixed places, and nothing is calculated that can be copied, since that
-- is most of what a script costs. That numbers are decimal is said each time: zeros before one make it octal to some.
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

-- The fence of a new holder: one more than the last, and where it follows the clock no less than the server's time. So one
-- that was lost goes on beyond all that was given out.
local new, fence = now, stamp
if now <= last or ARGV[6] ~= 'clock' then
	new = last + 1
	fence = string.format('%016.0f', new)
end

-- Free: a new holder. Where a lease is over and others wait, whoever looks first has it: nobody is asked to wait for one
-- that may be gone as well. Whoever is granted now waits no longer.
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

-- Granted already: the release before handed it over and its notice is late or lost, or this command was
-- sent twice. The lease is the full one from here on.
local token, depth = record:sub(1, 32), tonumber(record:sub(51, 60), 10)
if token == ARGV[1] then
	call('LSET', key, 0, record:sub(1, 61) .. stamp .. ' ' .. ARGV[3] .. record:sub(89))
	return {depth, token, last}
end

-- The owner once more: one deeper, the token and the fence as they were, the lease never shorter. But where its
-- process knows of no such hold the fence is a new one: a replica that took over may still have a hold that was
-- given back, and others were granted the lock since.
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

-- Another's: queue, once.
if ARGV[4] ~= '' then
	local entry = ARGV[1] .. ' ' .. ARGV[4] .. ' ' .. ARGV[2]
	if ARGV[5] ~= '1' or not call('LPOS', key, entry) then
		call('RPUSH', key, entry)
	end
end
return {0, '', math.ceil((over - now) / 1000)}
