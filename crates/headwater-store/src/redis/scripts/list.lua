-- KEYS: keys. ARGV: time, from, to, most, the beginning of the keys of values.
local now, most, out, from = time(ARGV[1]), tonumber(ARGV[4]), {}, ARGV[2]
while #out < most do
  local names = redis.call('ZRANGEBYLEX', KEYS[1], from, ARGV[3], 'LIMIT', 0, math.min(256, most))
  if #names == 0 then break end
  for _, name in ipairs(names) do
    local v = redis.call('HMGET', ARGV[5] .. name, 'b', 'v', 'x')
    if v[1] and (v[3] == '' or tonumber(v[3]) > now) and #out < most then
      out[#out + 1] = {name, v[1], v[2], v[3]}
    end
  end
  from = '(' .. names[#names]
end
return out
