-- Renew the hold for a full lease, if it has the token. A longer lease, which a nested hold has requested, is kept.
-- KEYS[1] is the hold, which fenced_acquire.lua describes. ARGV[1] is the token, ARGV[2] the lease in ms. Returns 1 if the
-- hold was renewed, 0 if the lock is free, -1 if another client holds it.
local held, mine = redis.call('GET', KEYS[1]), ARGV[1] .. ' '
if not held then
	return 0
end
if held:sub(1, #mine) ~= mine then
	return held:find('^%S+ %d+%+? ') and -1 or redis.error_reply('ERR the key has something else than a lock')
end
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then
	redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 1
