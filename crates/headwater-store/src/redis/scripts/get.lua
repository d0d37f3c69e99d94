-- KEYS: value. ARGV: time.
local v = redis.call('HMGET', KEYS[1], 'b', 'v', 'x')
if not v[1] or (v[3] ~= '' and tonumber(v[3]) <= time(ARGV[1])) then return false end
return v
