-- KEYS: format, names, keys, leases, going, expiring, numbers, probe. ARGV: the format, channel, the server's own time.
-- Whether the keys are ours, and whether this user may do what the store does.
local format = redis.call('TYPE', KEYS[1]).ok
if format ~= 'string' and format ~= 'none' then return 'foreign' end
local found = redis.call('GET', KEYS[1])
if not found then
  for i = 2, 7 do
    if redis.call('EXISTS', KEYS[i]) == 1 then return 'foreign' end
  end
elseif found ~= ARGV[1] then
  return found
end
local key = KEYS[8]
redis.call('UNLINK', key)
redis.call('HSET', key, 'a', '1')
redis.call('HMGET', key, 'a')
redis.call('HSTRLEN', key, 'a')
redis.call('UNLINK', key)
redis.call('ZADD', key, 0, 'a')
redis.call('ZRANGEBYSCORE', key, '-inf', '+inf')
redis.call('ZRANGEBYLEX', key, '-', '+')
redis.call('ZREM', key, 'a')
redis.call('XADD', key, '1-0', 'a', '1')
redis.call('XRANGE', key, '-', '+')
redis.call('XREVRANGE', key, '+', '-')
redis.call('RENAME', key, key .. '2')
redis.call('RENAME', key .. '2', key)
redis.call('XTRIM', key, 'MINID', '2-0')
redis.call('UNLINK', key)
redis.call('PUBLISH', ARGV[2], '')
redis.call('INCR', key)
redis.call('UNLINK', key)
redis.call('SET', KEYS[1], ARGV[1])
return ''
