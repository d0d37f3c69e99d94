-- What every script begins with. Times are milliseconds; the server's clock unless a test gives another.
local function time(given)
  if given ~= '' then return tonumber(given) end
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end

local function text(number)
  return string.format('%.0f', number)
end

-- The next epoch or version. It is never less than the time, so that one that the server forgot is not used again. It may
-- be larger than what a number of this language holds exactly: the server adds.
local function next_number(key, now)
  redis.call('INCR', key)
  local n = redis.call('GET', key)
  if tonumber(n) < now * 1024 then
    n = text(now * 1024)
    redis.call('SET', key, n)
  end
  return n
end

-- Whether one positive number is larger than another, both as text.
local function larger(a, b)
  return #a > #b or (#a == #b and a > b)
end

-- number, epoch, state, owner, expires, goes, first, last, total, trimmed, epochs, nonce, now
local function header(key, now)
  local h = redis.call('HMGET', key, 'n', 'e', 's', 'o', 'x', 'g', 'f', 'l', 't', 'r', 'p', 'c')
  if not h[1] then return false end
  h[13] = text(now)
  return h
end
