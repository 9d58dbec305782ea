-- Raise the last fence: the first command of each connection. See fenced_mint.lua. A promoted replica is reached by new connections
-- only, and may lack the last fences.
raise(tonumber(call('GET', fences) or 0) or 0)
return 1
