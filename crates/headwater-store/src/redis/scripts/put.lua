-- KEYS: value, keys, expiring, numbers. ARGV: time, key, bytes, what is expected, its version, time to live, nonce,
-- channel, announcement.
local now = time(ARGV[1])
local v = redis.call('HMGET', KEYS[1], 'v', 'x', 'c')
local version = v[1]
if version and v[2] ~= '' and tonumber(v[2]) <= now then version = false end
-- An earlier request whose answer was lost has put it.
if version and v[3] == ARGV[7] then return {1, version} end
if (ARGV[4] == 'absent' and version) or (ARGV[4] == 'version' and version ~= ARGV[5]) then
  return {0, version}
end
local put = next_number(KEYS[4], now)
local expires = ''
if ARGV[6] ~= '' then
  expires = text(now + tonumber(ARGV[6]))
  redis.call('ZADD', KEYS[3], expires, ARGV[2])
elseif v[2] and v[2] ~= '' then
  redis.call('ZREM', KEYS[3], ARGV[2])
end
redis.call('HSET', KEYS[1], 'b', ARGV[3], 'v', put, 'x', expires, 'c', ARGV[7])
redis.call('ZADD', KEYS[2], 0, ARGV[2])
redis.call('PUBLISH', ARGV[8], ARGV[9])
return {1, put}
