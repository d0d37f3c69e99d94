-- KEYS: journal, stream, staged, unfinished, leases, going, names, numbers. ARGV: time, name, number, begins, count of
-- entries, for each entry: id, start, packed; then, if it is complete: epoch, state, goes, first, last, total,
-- epochs, highest epoch.
local now = time(ARGV[1])
local name, number, count = ARGV[2], ARGV[3], tonumber(ARGV[5])
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
if ARGV[4] == '1' then
  redis.call('UNLINK', KEYS[3])
elseif redis.call('EXISTS', KEYS[3]) == 0 then
  return 0
end
local staged = redis.call('XREVRANGE', KEYS[3], '+', '-', 'COUNT', 1)
local after = staged[1] and tonumber(string.match(staged[1][1], '^%d+')) or 0
for e = 6, 3 + count * 3, 3 do
  -- What an earlier request has staged whose answer was lost is there already.
  if tonumber(string.match(ARGV[e], '^%d+')) > after then
    redis.call('XADD', KEYS[3], ARGV[e], 's', ARGV[e + 1], 'p', ARGV[e + 2])
  end
end
redis.call('ZADD', KEYS[4], text(now + 86400000), name)
local c = 6 + count * 3
if not ARGV[c] then return 1 end
if redis.call('EXISTS', KEYS[3]) == 1 then redis.call('RENAME', KEYS[3], KEYS[2]) end
redis.call('ZREM', KEYS[4], name)
redis.call('HSET', KEYS[1], 'n', number, 'e', ARGV[c], 's', ARGV[c + 1], 'o', '', 'x', '0', 'g', ARGV[c + 2], 'f', ARGV[c + 3],
  'l', ARGV[c + 4], 't', ARGV[c + 5], 'r', '0', 'p', ARGV[c + 6], 'c', '')
redis.call('ZADD', KEYS[7], 0, name)
if ARGV[c + 1] == '1' then redis.call('ZADD', KEYS[5], 0, name) end
if ARGV[c + 2] ~= '' then redis.call('ZADD', KEYS[6], ARGV[c + 2], name) end
if larger(ARGV[c + 7], redis.call('GET', KEYS[8]) or '0') then
  redis.call('SET', KEYS[8], ARGV[c + 7])
end
return 1
