-- KEYS: journal, stream, leases, going. ARGV: time, name, epoch, change, its numbers, channel, node.
local now = time(ARGV[1])
local h = header(KEYS[1], now)
if not h then return {0, false} end
if h[2] ~= ARGV[3] or h[3] ~= '1' then return {0, h} end
local name, change = ARGV[2], ARGV[4]
if change == 'renew' then
  local expires = text(now + tonumber(ARGV[5]))
  redis.call('HSET', KEYS[1], 'x', expires)
  redis.call('ZADD', KEYS[3], expires, name)
elseif change == 'release' then
  redis.call('HSET', KEYS[1], 's', '0')
  redis.call('ZREM', KEYS[3], name)
elseif change == 'close' then
  local goes = ''
  if ARGV[5] ~= '' then
    goes = text(now + tonumber(ARGV[5]))
    redis.call('ZADD', KEYS[4], goes, name)
  end
  redis.call('HSET', KEYS[1], 's', '2', 'g', goes)
  redis.call('ZREM', KEYS[3], name)
  redis.call('PUBLISH', ARGV[7], ARGV[8] .. 'j' .. h[1])
elseif change == 'trim' then
  redis.call('HSET', KEYS[1], 'f', ARGV[5], 'r', ARGV[6])
  redis.call('XTRIM', KEYS[2], 'MINID', ARGV[5] .. '-0')
end
return {1, false}
