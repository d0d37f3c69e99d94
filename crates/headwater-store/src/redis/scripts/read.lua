-- KEYS: journal, stream. ARGV: time, after, most entries, most bytes.
local h = header(KEYS[1], time(ARGV[1]))
if not h then return false end
local out, most, left = {h}, tonumber(ARGV[3]), tonumber(ARGV[4])
local from = text(tonumber(ARGV[2]) + 1) .. '-0'
while #out <= most and left > 0 do
  local found = redis.call('XRANGE', KEYS[2], from, '+', 'COUNT', math.min(16, most))
  if #found == 0 then break end
  for _, entry in ipairs(found) do
    local fields = entry[2]
    out[#out + 1] = {entry[1], fields[2], fields[4], fields[6]}
    left = left - #fields[6]
    if #out > most or left <= 0 then break end
  end
  from = '(' .. found[#found][1]
end
return out
