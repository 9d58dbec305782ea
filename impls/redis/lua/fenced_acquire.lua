-- Acquire the lock, re-enter it, or join the queue. This is one atomic step, so no release can happen in between.
-- KEYS[1]: the hold, a string that expires with the lease: the token, the depth and the owner, with a space between them. After
--          the depth, a + says that others may be queued. Without it, the key can be deleted without looking at the queue.
-- KEYS[2]: the queue, a list with an entry for each waiter, the oldest first: the token, the process, the lease after a
--          hand-off in ms, and the owner.
-- KEYS[3], ARGV[2]: see fenced_mint.lua.
-- ARGV[1]: the token of this request.
-- ARGV[3]: the owner.
-- ARGV[4]: the requested lease in ms.
-- ARGV[5]: the entry in the queue; empty for a try.
-- ARGV[6]: 1 for a repeated request.
-- ARGV[7]: the token of the owner's current hold, if the process knows that hold.
-- Returns the fence of a new hold, {depth, token, fence} of an existing hold (fence 0: unchanged), or {0, last fence, time
-- left in ms} if refused. The last two are 0 and -1 unless the request is repeated.
local token, owner, lease, entry, again = ARGV[1], ARGV[3], ARGV[4], ARGV[5], ARGV[6] == '1'

local function leave()
	if again and entry ~= '' then
		call('LREM', KEYS[2], 0, entry)
	end
end

-- If the lock is free, grant it. After the expiry of a lease, the first waiter that repeats its request is granted,
-- because the first waiter of the queue may no longer exist.
local held = call('GET', KEYS[1])
if not held then
	call('SET', KEYS[1], token .. (again and ' 1+ ' or ' 1 ') .. owner, 'PX', lease)
	leave()
	return mint()
end
local holder, depth, queued, of = held:match('^(%S+) (%d+)(%+?) (.*)$')
if not holder then
	return redis.error_reply('ERR the key has something else than a lock')
end

-- This request may already be granted: a release has handed the lock over and the message is late or lost, or the reply
-- to an earlier command was lost. From now on, the hold has the full lease.
if holder == token then
	call('PEXPIRE', KEYS[1], lease)
	return {tonumber(depth), token, mint()}
end

-- Re-entry: one level deeper, with the same token and fence, and no shorter lease. If the process knows of no such hold,
-- the fence is new: a promoted replica may still have a released hold, and other clients may have held since.
if of == owner then
	local fence = 0
	if holder ~= ARGV[7] then
		fence = mint()
	end
	local left = math.max(call('PTTL', KEYS[1]), tonumber(lease))
	call('SET', KEYS[1], holder .. ' ' .. depth + 1 .. queued .. ' ' .. owner, 'PX', left)
	leave()
	return {depth + 1, holder, fence}
end

-- Another client holds: queue once.
if entry ~= '' then
	if queued == '' then
		call('SET', KEYS[1], holder .. ' ' .. depth .. '+ ' .. of, 'KEEPTTL')
	end
	if not (again and call('LPOS', KEYS[2], entry)) then
		call('RPUSH', KEYS[2], entry)
	end
end
if again then
	return {0, call('GET', fences) or '0', call('PTTL', KEYS[1])}
end
return {0, '0', -1}
