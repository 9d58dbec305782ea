-- Give the lock back, and hand it to whoever waits longest.
-- KEYS[1] the lock; KEYS[2] the fence counter; KEYS[3] the queue of waiters.
-- ARGV[1] the token; ARGV[2] an entry to take out of the queue, or empty; ARGV[3] what the names of the
-- processes' channels begin with; ARGV[4] what fences follow: clock or count.
-- Returns 1 if released, 0 if nobody holds it, -1 if another does.

-- A waiter that goes away leaves the queue, and gives back what it may have been granted meanwhile.
if ARGV[2] ~= '' then
	redis.call('LREM', KEYS[3], 0, ARGV[2])
end
local held = redis.call('HMGET', KEYS[1], 'token', 'depth')
if not held[1] then
	return 0
end
if held[1] ~= ARGV[1] then
	return -1
end

-- An inner release: the outer hold goes on.
if tonumber(held[2]) > 1 then
	redis.call('HINCRBY', KEYS[1], 'depth', -1)
	return 1
end

-- The first in the queue whose process listens is the next holder, from here on and with a fence of its
-- own. Its lease is a short one until it confirms, in case it died or is about to leave. One whose process
-- does not listen is passed over: if it lives it will look again and queue anew.
local fence
local entry = redis.call('LPOP', KEYS[3])
while entry do
	local token, process, lease, owner = string.match(entry, '^(%x+) (%x+) (%d+) (.*)$')
	fence = fence or mint(ARGV[4])
	if redis.call('PUBLISH', ARGV[3] .. process, token .. ' ' .. fence .. ' ' .. KEYS[1]) > 0 then
		redis.call('HSET', KEYS[1], 'token', token, 'owner', owner, 'depth', 1, 'fence', fence)
		redis.call('PEXPIRE', KEYS[1], lease)
		return 1
	end
	entry = redis.call('LPOP', KEYS[3])
end

-- Nobody waits.
redis.call('DEL', KEYS[1])
return 1
