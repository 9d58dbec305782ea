-- Release the lock, and hand it over to the waiter that has waited longest.
-- KEYS[1]: the lock, a list that fenced_acquire.lua describes.
-- ARGV[1]: the token.
-- ARGV[2]: an entry to remove from the queue, or empty.
-- ARGV[3]: the prefix of the processes' channels.
-- ARGV[4]: the source of fencing tokens ("fences"): clock or count.
-- Returns 1 if the lock was released, 0 if it was free, -1 if another client holds it.
local call, key = redis.call, KEYS[1]

-- If a waiter withdraws, remove its entry from the queue. The rest of the script releases a grant made meanwhile.
if ARGV[2] ~= '' then
	call('LREM', key, 0, ARGV[2])
end

-- One command removes the record and the first waiter from the list. Another command adds them again at the end.
local first = call('LPOP', key, 2)
if not first then
	return 0
end
local record, waiter = first[1], first[2]
local time = call('TIME')
local now, stamp = time[1] * 1000000 + time[2], ('000000000' .. time[1]):sub(-10) .. ('00000' .. time[2]):sub(-6)
local last, since, lease = tonumber(record:sub(34, 49), 10), tonumber(record:sub(62, 77), 10), tonumber(record:sub(79, 88), 10)
local depth, answer = record:sub(51, 60), nil
if not last or not since or not lease then
	answer = redis.error_reply('ERR the key has something else than a lock')
elseif since + lease * 1000 <= now then
	answer = 0
elseif record:sub(1, 32) ~= ARGV[1] then
	answer = -1
elseif depth ~= '0000000001' then -- the release of a nested hold; the outer hold continues
	record = record:sub(1, 50) .. string.format('%010d', tonumber(depth, 10) - 1) .. record:sub(61)
	answer = 1
end

-- The first waiter whose process is subscribed becomes the holder, with a new fence. Its lease is short until the first
-- renewal, because the waiter may have died or withdrawn. The loop skips each waiter whose process is not subscribed.
-- A skipped waiter may still be alive. It loses only its place in the queue, because it will soon check
-- again and rejoin the queue.
while waiter and not answer do
	local token, fence, heard = waiter:sub(1, 32), stamp, 0
	if now <= last or ARGV[4] ~= 'clock' then
		fence = string.format('%016.0f', last + 1)
	end
	if tonumber(waiter:sub(67, 76), 10) then
		heard = redis.pcall('PUBLISH', ARGV[3] .. waiter:sub(34, 65), token .. ' ' .. fence .. ' ' .. key)
	end
	if type(heard) == 'table' then
		answer = heard -- no permission to publish: nothing has changed
	elseif heard > 0 then
		call('LPUSH', key, token .. ' ' .. fence .. ' 0000000001 ' .. stamp .. waiter:sub(66))
		return 1
	else
		waiter = call('LPOP', key)
	end
end

-- Without a waiter, the lock becomes free. The record keeps the last fence.
if not answer then
	record = '00000000000000000000000000000000' .. record:sub(33, 50) .. '0000000000 0000000000000000 0000000000 '
end
if waiter then
	call('LPUSH', key, waiter, record)
else
	call('LPUSH', key, record)
end
return answer or 1
