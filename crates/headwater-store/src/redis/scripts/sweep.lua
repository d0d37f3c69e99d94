-- KEYS: going, names, expiring, keys, unfinished. ARGV: time, most, channel, node, the beginnings of the keys of journals,
-- streams, values and staged streams.
local now, most, bytes, numbers, values = time(ARGV[1]), tonumber(ARGV[2]), 0, {}, 0
local over = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', text(now), 'LIMIT', 0, most)
for _, name in ipairs(over) do
  local key = ARGV[5] .. name
  local h = redis.call('HMGET', key, 'n', 't', 'r')
  if h[1] then
    numbers[#numbers + 1] = h[1]
    bytes = bytes + tonumber(h[2]) - tonumber(h[3])
  end
  redis.call('UNLINK', key, ARGV[6] .. name)
  redis.call('ZREM', KEYS[1], name)
  redis.call('ZREM', KEYS[2], name)
end
if #numbers > 0 then
  redis.call('PUBLISH', ARGV[3], ARGV[4] .. 'j' .. table.concat(numbers, ','))
end
local gone = redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', text(now), 'LIMIT', 0, most)
for _, name in ipairs(gone) do
  bytes = bytes + redis.call('HSTRLEN', ARGV[7] .. name, 'b')
  values = values + redis.call('UNLINK', ARGV[7] .. name)
  redis.call('ZREM', KEYS[3], name)
  redis.call('ZREM', KEYS[4], name)
end
for _, name in ipairs(redis.call('ZRANGEBYSCORE', KEYS[5], '-inf', text(now), 'LIMIT', 0, most)) do
  redis.call('UNLINK', ARGV[8] .. name)
  redis.call('ZREM', KEYS[5], name)
end
local more = (#over >= most or #gone >= most) and 1 or 0
return {numbers, values, text(bytes), more}
