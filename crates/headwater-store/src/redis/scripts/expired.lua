-- KEYS: leases. ARGV: time, most.
return redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', text(time(ARGV[1])), 'LIMIT', 0, ARGV[2])
