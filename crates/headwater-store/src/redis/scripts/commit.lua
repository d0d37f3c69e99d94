-- KEYS: journal and stream of each. ARGV: time, channel, node, then for each journal: number, epoch, first, last, bytes,
-- count of entries, and for each entry: first, last, start, packed.
local now = time(ARGV[1])
local out, written, at = {text(now)}, {}, 4
for i = 1, #KEYS, 2 do
  local number, first, count = ARGV[at], ARGV[at + 2], tonumber(ARGV[at + 5])
  local h = redis.call('HMGET', KEYS[i], 'n', 'e', 's', 'l')
  if h[1] == number and h[2] == ARGV[at + 1] and h[3] == '1' and tonumber(h[4]) == tonumber(first) - 1 then
    for e = at + 6, at + 2 + count * 4, 4 do
      redis.call('XADD', KEYS[i + 1], ARGV[e + 1] .. '-0', 'f', ARGV[e], 's', ARGV[e + 2], 'p', ARGV[e + 3])
    end
    redis.call('HSET', KEYS[i], 'l', ARGV[at + 3])
    redis.call('HINCRBY', KEYS[i], 't', ARGV[at + 4])
    written[#written + 1] = number
    out[#out + 1] = 1
  else
    out[#out + 1] = 0
  end
  at = at + 6 + count * 4
end
if #written > 0 then
  redis.call('PUBLISH', ARGV[2], ARGV[3] .. 'j' .. table.concat(written, ','))
end
return out
