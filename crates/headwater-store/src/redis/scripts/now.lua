-- ARGV: time.
return text(time(ARGV[1]))
