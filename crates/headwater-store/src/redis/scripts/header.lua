-- KEYS: journal. ARGV: time.
return header(KEYS[1], time(ARGV[1]))
