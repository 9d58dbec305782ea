-- Release the lock, and hand it over to the waiter that has waited longest.
-- KEYS[1], KEYS[2]: the hold and the queue, which fenced_acquire.lua describes. KEYS[3], ARGV[2]: see fenced_mint.lua.
-- ARGV[1]: the token.
-- ARGV[3]: an entry to remove from the queue, or empty.
-- ARGV[4]: the prefix of the processes' channels.
-- Returns 1 if the lock was released, 0 if it was free, -1 if another client holds it.
local hold, queue = KEYS[1], KEYS[2]

-- If a waiter withdraws, remove its entry from the queue. The rest of the script releases a grant made meanwhile.
if ARGV[3] ~= '' then
	call('LREM', queue, 0, ARGV[3])
end
local held = call('GET', hold)
if not held then
	return 0
end
local token, depth, queued, owner = held:match('^(%S+) (%d+)(%+?) (.*)$')
if not token then
	return redis.error_reply('ERR the key has something else than a lock')
end
if token ~= ARGV[1] then
	return -1
end
if depth ~= '1' then
	call('SET', hold, token .. ' ' .. depth - 1 .. queued .. ' ' .. owner, 'KEEPTTL') -- a nested hold is released; the outer hold continues
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
		local fence = mint()
		local heard = redis.pcall('PUBLISH', ARGV[4] .. process, token .. ' ' .. string.format('%.0f', fence) .. ' ' .. hold)
		if type(heard) == 'table' then -- no permission to publish: the lock stays as it was
			call('LPUSH', queue, waiter)
			return heard
		end
		if heard > 0 then
			call('SET', hold, token .. ' 1+ ' .. owner, 'PX', lease)
			return 1
		end
	end
	waiter = call('LPOP', queue)
end
call('DEL', hold)
return 1
