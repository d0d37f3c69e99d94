-- KEYS: journal and stream of each. ARGV: time, channel, announcement, then for each journal: epoch, the last record before
-- these, the last of these, the bytes of all records up to it, count of entries, and for each entry: id, start, packed.
-- Answers with the time and the places of the journals that were refused. An epoch is never given twice, so it tells
-- journals of the same name apart. There are as few calls as possible, because they are most of what this costs.
local call = redis.call
local out, any, at = {text(time(ARGV[1]))}, false, 4
for i = 1, #KEYS, 2 do
  local count = tonumber(ARGV[at + 4])
  local h = call('HMGET', KEYS[i], 'e', 's', 'l')
  if h[1] == ARGV[at] and h[2] == '1' and h[3] == ARGV[at + 1] then
    for e = at + 5, at + 2 + count * 3, 3 do
      call('XADD', KEYS[i + 1], ARGV[e], 's', ARGV[e + 1], 'p', ARGV[e + 2])
    end
    call('HSET', KEYS[i], 'l', ARGV[at + 2], 't', ARGV[at + 3])
    any = true
  else
    out[#out + 1] = (i - 1) / 2
  end
  at = at + 5 + count * 3
end
if any then call('PUBLISH', ARGV[2], ARGV[3]) end
return out
