-- Release the lock, and hand it over to the waiter that has waited longest.
-- KEYS: the hold, the queue and the last fence, which fenced_acquire.lua describes.
-- ARGV[1]: the token.
-- ARGV[2]: an entry to remove from the queue, or empty.
-- ARGV[3]: the prefix of the processes' channels.
-- ARGV[4]: the source of fences: count, clock or raise.
-- Returns 1 if the lock was released, 0 if it was free, -1 if another client holds it.
local call, hold, queue = redis.call, KEYS[1], KEYS[2]
local function raise(last)
	local time = call('TIME')
	local now = time[1] * 1000000 + time[2]
	if last < now then
		call('SET', KEYS[3], string.format('%.0f', now))
	end
	return math.max(last, now)
end
if ARGV[4] == 'raise' then
	raise(tonumber(call('GET', KEYS[3]) or 0) or 0)
end

-- If a waiter withdraws, remove its entry from the queue. The rest of the script releases a grant made meanwhile.
if ARGV[2] ~= '' then
	call('LREM', queue, 0, ARGV[2])
end
local held, outermost = call('GET', hold), ARGV[1] .. ' 1 '
if not held then
	return 0
end
if held:sub(1, #outermost) ~= outermost then
	local token, depth, owner = held:match('^(%S+) (%d+) (.*)$')
	if not token then
		return redis.error_reply('ERR the key has something else than a lock')
	end
	if token ~= ARGV[1] then
		return -1
	end
	call('SET', hold, token .. ' ' .. depth - 1 .. ' ' .. owner, 'KEEPTTL') -- a nested hold is released; the outer hold continues
	return 1
end

-- The first waiter whose process is subscribed becomes the holder, with a new fence. Its lease is short until the first
-- renewal, because the waiter may have died or withdrawn. The loop skips each waiter whose process is not subscribed.
-- A skipped waiter may still be alive. It loses only its place in the queue, because it will soon check
-- again and rejoin the queue.
local waiter = call('LPOP', queue)
while waiter do
	local token, process, lease, owner = waiter:match('^(%S+) (%S+) (%d+) (.*)$')
	if token then
		local fence = call('INCR', KEYS[3])
		if fence < 1e14 and ARGV[4] ~= 'count' then -- the server has lost the last fence
			fence = raise(fence)
		end
		local heard = redis.pcall('PUBLISH', ARGV[3] .. process, token .. ' ' .. string.format('%.0f', fence) .. ' ' .. hold)
		if type(heard) == 'table' then -- no permission to publish: the lock stays as it was
			call('LPUSH', queue, waiter)
			return heard
		end
		if heard > 0 then
			call('SET', hold, token .. ' 1 ' .. owner, 'PX', lease)
			return 1
		end
	end
	waiter = call('LPOP', queue)
end
call('DEL', hold)
return 1
