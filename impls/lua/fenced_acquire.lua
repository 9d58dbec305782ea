-- Take the lock, take it once more, or get in the queue; all in one step, so that no release can come
-- between looking and queueing.
-- KEYS[1] the lock.
-- ARGV[1] the token of this request; ARGV[2] its owner; ARGV[3] its lease in ms; ARGV[4] its entry in the
-- queue, empty for one that does not wait; ARGV[5] 1 if it asked before; ARGV[6] what fences follow: clock or count;
-- ARGV[7] the token of what the owner holds already, as far as its process knows.
-- Returns {depth, token, fence} if granted, {0, '', time left in ms} if not.
--
-- What there is of a lock is one list, so that a release gets at the hold and at the first who waits with one command.
-- Its first element is the record, and those after it are the entries of who waits, in the order in which they came.
--   record: token (1-32), fence (34-49), until (51-66), depth (68-77), owner (79-)
--   entry:  token (1-32), process (34-65), lease of a hand-over in ms (67-76), owner (78-)
-- The parts have fixed places since cutting is the cheapest that Lua can do with them: it is most of what a script costs.
-- until is the server's time in microseconds at which the hold is over; 0 is a lock that is free. The list has no expiry,
-- for the last fence stands in it: one that began again at 1 would be refused by whoever remembers a higher one.
local call, key = redis.call, KEYS[1]
local record, time = call('LINDEX', key, 0), call('TIME')
local now = time[1] * 1000000 + time[2] -- exact to 2^53, the year 2255
local ends = now + ARGV[3] * 1000
local fence, over = 0, 0
if record then
	fence, over = tonumber(record:sub(34, 49)), tonumber(record:sub(51, 66))
	if not fence or not over then
		return redis.error_reply('ERR the key has something else than a lock')
	end
end

-- The fence of a new holder: one more than the last, and where it follows the clock no less than the server's time. So one
-- that was lost goes on beyond all that was given out.
local new = fence + 1
if now > new and ARGV[6] == 'clock' then
	new = now
end

-- Free: a new holder. Where a lease is over and others wait, whoever looks first has it: nobody is asked to wait for one
-- that may be gone as well. Whoever is granted now waits no longer.
if over <= now then
	local held = ARGV[1] .. string.format(' %016.0f %016.0f 0000000001 ', new, ends) .. ARGV[2]
	if record then
		call('LSET', key, 0, held)
	else
		call('RPUSH', key, held)
	end
	if ARGV[5] == '1' and ARGV[4] ~= '' then
		call('LREM', key, 0, ARGV[4])
	end
	return {1, ARGV[1], new}
end

-- Granted already: the release before handed it over and its notice is late or lost, or this command was
-- sent twice. The lease is the full one from here on.
local token = record:sub(1, 32)
if token == ARGV[1] then
	call('LSET', key, 0, record:sub(1, 50) .. string.format('%016.0f', ends) .. record:sub(67))
	return {tonumber(record:sub(68, 77)), token, fence}
end

-- The owner once more: one deeper, the token and the fence as they were, the lease never shorter. But where its
-- process knows of no such hold the fence is a new one: a replica that took over may still have a hold that was
-- given back, and others were granted the lock since.
if record:sub(79) == ARGV[2] then
	if token ~= ARGV[7] then
		fence = new
	end
	local depth = tonumber(record:sub(68, 77)) + 1
	call('LSET', key, 0, token .. string.format(' %016.0f %016.0f %010d ', fence, math.max(over, ends), depth) .. ARGV[2])
	if ARGV[5] == '1' and ARGV[4] ~= '' then
		call('LREM', key, 0, ARGV[4])
	end
	return {depth, token, fence}
end

-- Another's: queue, once.
if ARGV[4] ~= '' and not (ARGV[5] == '1' and call('LPOS', key, ARGV[4])) then
	call('RPUSH', key, ARGV[4])
end
return {0, '', math.ceil((over - now) / 1000)}
