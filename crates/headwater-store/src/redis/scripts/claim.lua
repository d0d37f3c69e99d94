-- KEYS: journal, leases, names, numbers, staged, unfinished. ARGV: time, name, owner, time to live, nonce.
local now = time(ARGV[1])
local h = header(KEYS[1], now)
if h then
  -- An earlier request whose answer was lost has claimed it.
  if h[3] == '1' and h[12] == ARGV[5] then return {1, h} end
  if h[3] == '2' or (h[3] == '1' and tonumber(h[5]) > now) then return {0, h} end
end
local epoch = next_number(KEYS[4], now)
local expires = text(now + tonumber(ARGV[4]))
if h then
  local epochs = h[11] .. ' ' .. epoch .. ':' .. text(tonumber(h[8]) + 1)
  redis.call('HSET', KEYS[1], 'e', epoch, 's', '1', 'o', ARGV[3], 'x', expires, 'c', ARGV[5], 'p', epochs)
else
  redis.call('HSET', KEYS[1], 'n', epoch, 'e', epoch, 's', '1', 'o', ARGV[3], 'x', expires, 'g', '', 'f', '1', 'l', '0',
    't', '0', 'r', '0', 'p', epoch .. ':1', 'c', ARGV[5])
  redis.call('ZADD', KEYS[3], 0, ARGV[2])
  -- A restore of that name that was not completed is passed by.
  redis.call('UNLINK', KEYS[5])
  redis.call('ZREM', KEYS[6], ARGV[2])
end
redis.call('ZADD', KEYS[2], expires, ARGV[2])
return {1, header(KEYS[1], now)}
