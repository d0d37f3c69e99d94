-- KEYS: value, keys, expiring. ARGV: time, key, what is expected, its version, channel, announcement.
local v = redis.call('HMGET', KEYS[1], 'v', 'x')
local version = v[1]
if version and v[2] ~= '' and tonumber(v[2]) <= time(ARGV[1]) then version = false end
if (ARGV[3] == 'absent' and version) or (ARGV[3] == 'version' and version ~= ARGV[4]) then
  return {0, version}
end
if v[1] then
  redis.call('UNLINK', KEYS[1])
  redis.call('ZREM', KEYS[2], ARGV[2])
  redis.call('ZREM', KEYS[3], ARGV[2])
end
if not version then return {2, false} end
redis.call('PUBLISH', ARGV[5], ARGV[6])
return {1, false}
