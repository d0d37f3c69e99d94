-- KEYS: journal and stream of each. ARGV: time, most entries and most bytes of each, then for each: after.
local now, most = time(ARGV[1]), tonumber(ARGV[2])
local out = {}
for i = 1, #KEYS, 2 do
  local found, left = {header(KEYS[i], now)}, tonumber(ARGV[3])
  local from = text(tonumber(ARGV[3 + (i + 1) / 2]) + 1) .. '-0'
  while found[1] and #found <= most and left > 0 do
    local entries = redis.call('XRANGE', KEYS[i + 1], from, '+', 'COUNT', math.min(16, most))
    if #entries == 0 then break end
    for _, entry in ipairs(entries) do
      local fields = entry[2]
      found[#found + 1] = {entry[1], fields[2], fields[4]}
      left = left - #fields[4]
      if #found > most or left <= 0 then break end
    end
    from = '(' .. entries[#entries][1]
  end
  out[#out + 1] = found
end
return out
