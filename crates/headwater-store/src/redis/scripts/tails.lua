-- KEYS: journals.
local out = {}
for i, key in ipairs(KEYS) do
  out[i] = redis.call('HMGET', key, 'n', 'l', 's')
end
return out
