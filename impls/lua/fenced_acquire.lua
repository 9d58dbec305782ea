-- Take the lock, take it once more, or get in the queue; all in one step, so that no release can come
-- between looking and queueing.
-- KEYS[1] the lock, a hash; KEYS[2] the fence counter; KEYS[3] the queue of waiters.
-- ARGV[1] the token of this request; ARGV[2] its owner; ARGV[3] its lease in ms; ARGV[4] its entry in the
-- queue, empty for one that does not wait; ARGV[5] 1 if it asked before; ARGV[6] what fences follow: clock or count;
-- ARGV[7] the token of what the owner holds already, as far as its process knows.
-- Returns {depth, token, fence} if granted, {0, '', time left in ms} if not.
local held = redis.call('HMGET', KEYS[1], 'token', 'owner', 'depth', 'fence')
local waits, again = ARGV[4] ~= '', ARGV[5] == '1'

-- Granted already: the release before handed it over and its notice is late or lost, or this command was
-- sent twice. The lease is the full one from here on.
if held[1] == ARGV[1] then
	redis.call('PEXPIRE', KEYS[1], ARGV[3])
	return {tonumber(held[3]), held[1], tonumber(held[4])}
end

-- Whoever is granted now waits no longer.
if waits and again and (not held[1] or held[2] == ARGV[2]) then
	redis.call('LREM', KEYS[3], 0, ARGV[4])
end

-- Free: a new holder, a new fence.
if not held[1] then
	local fence = mint(ARGV[6])
	redis.call('HSET', KEYS[1], 'token', ARGV[1], 'owner', ARGV[2], 'depth', 1, 'fence', fence)
	redis.call('PEXPIRE', KEYS[1], ARGV[3])
	return {1, ARGV[1], tonumber(fence)}
end

-- The owner once more: one deeper, the token and the fence as they were, the lease never shorter. But where its
-- process knows of no such hold the fence is a new one: a replica that took over may still have a hold that was
-- given back, and others were granted the lock since.
if held[2] == ARGV[2] then
	if held[1] ~= ARGV[7] then
		held[4] = mint(ARGV[6])
		redis.call('HSET', KEYS[1], 'fence', held[4])
	end
	local depth = redis.call('HINCRBY', KEYS[1], 'depth', 1)
	if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[3]) then
		redis.call('PEXPIRE', KEYS[1], ARGV[3])
	end
	return {depth, held[1], tonumber(held[4])}
end

-- Another's: queue, once. The queue is forgotten after a minute in which nobody looked; waiters look far
-- more often, and put themselves back.
if waits then
	if not again or not redis.call('LPOS', KEYS[3], ARGV[4]) then
		redis.call('RPUSH', KEYS[3], ARGV[4])
	end
	redis.call('PEXPIRE', KEYS[3], 60000)
end
return {0, '', redis.call('PTTL', KEYS[1])}
