-- KEYS: journal, stream, leases, going, names, staged, unfinished. ARGV: time, name, channel, node.
local now = time(ARGV[1])
local h = header(KEYS[1], now)
redis.call('UNLINK', KEYS[6])
redis.call('ZREM', KEYS[7], ARGV[2])
if not h then return false end
if h[3] == '1' and tonumber(h[5]) > now then return h end
redis.call('UNLINK', KEYS[1], KEYS[2])
redis.call('ZREM', KEYS[3], ARGV[2])
redis.call('ZREM', KEYS[4], ARGV[2])
redis.call('ZREM', KEYS[5], ARGV[2])
redis.call('PUBLISH', ARGV[3], ARGV[4] .. 'j' .. h[1])
return false
