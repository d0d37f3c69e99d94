-- The version that the tables have.
CREATE TABLE {schema}.schema_version (version int4 NOT NULL);

-- Epochs of leases and versions of values. It is set forward to the time when a process connects, so that a restored
-- backup does not use a number twice.
CREATE SEQUENCE {schema}.numbers;

-- One row for each journal. Names are bytes, because they may hold any character and are ordered by their bytes.
-- Times are milliseconds since 1970 on the clock of this server.
CREATE TABLE {schema}.journals (
    number  int8 PRIMARY KEY,               -- the epoch of its first claim
    name    bytea NOT NULL UNIQUE,
    epoch   int8 NOT NULL,                  -- the newest lease; 0 if its driver was another store's
    state   int2 NOT NULL,                  -- 0 free, 1 leased, 2 closed
    owner   bytea NOT NULL,
    nonce   int8 NOT NULL,                  -- of the claim: recognises one whose answer was lost
    expires int8 NOT NULL,                  -- of the lease
    goes    int8,                           -- when a closed journal is deleted
    first   int8 NOT NULL DEFAULT 1,        -- the first record that is kept
    last    int8 NOT NULL DEFAULT 0,
    total   int8 NOT NULL DEFAULT 0,        -- bytes of all records ever appended
    trimmed int8 NOT NULL DEFAULT 0,        -- bytes of those that were trimmed
    epochs  int8[] NOT NULL,                -- all leases, oldest first
    firsts  int8[] NOT NULL                 -- the first record of each
) WITH (fillfactor = 70);
CREATE INDEX journals_leased ON {schema}.journals (expires) WHERE state = 1;
CREATE INDEX journals_closed ON {schema}.journals (goes) WHERE state = 2 AND goes IS NOT NULL;

-- The records, packed: usually one row for what one commit had of a journal.
CREATE TABLE {schema}.entries (
    number int8 NOT NULL,                   -- of the journal
    first  int8 NOT NULL,
    last   int8 NOT NULL,
    start  int8 NOT NULL,                   -- bytes of all records before it
    packed bytea NOT NULL,
    PRIMARY KEY (number, last)
);

-- Journals that are not, and whose entries remain to be deleted in small batches: they were deleted, or a restore of them
-- was not completed in time.
CREATE TABLE {schema}.garbage (
    number int8 PRIMARY KEY,
    since  int8 NOT NULL                    -- nothing is deleted before this time
);

-- Small values.
CREATE TABLE {schema}.key_values (
    key     bytea PRIMARY KEY,
    bytes   bytea NOT NULL,
    version int8 NOT NULL,
    expires int8,
    nonce   int8 NOT NULL
);
CREATE INDEX key_values_expires ON {schema}.key_values (expires) WHERE expires IS NOT NULL;

-- The two statements that most of the work is made of are functions, because a session keeps the plans of a function's
-- statements, also behind a pooler. A statement that is sent without a name is planned each time, which took a quarter of
-- the time. The plans are made when the tables may be empty: without the settings they would read whole tables.

-- Writes what one commit has of all journals, where the lease is still the writer's: five arrays for the journals (number,
-- epoch, first, last, total) and five for their entries. Gives the numbers of those that were written, and the time.
CREATE FUNCTION {schema}.append_entries(
    int8[], int8[], int8[], int8[], int8[], int8[], int8[], int8[], int8[], bytea[], at int8,
    OUT written int8[], OUT engine_time int8
) LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
BEGIN
    WITH moved AS (
        UPDATE {schema}.journals j SET last = i.last, total = i.total
        FROM unnest($1, $2, $3, $4, $5) AS i(number, epoch, first, last, total)
        WHERE j.number = i.number AND j.epoch = i.epoch AND j.state = 1 AND j.last = i.first - 1
        RETURNING j.number
    ) SELECT array_agg(m.number) INTO written FROM moved m;
    IF cardinality(written) = cardinality($1) THEN
        INSERT INTO {schema}.entries (number, first, last, start, packed)
        SELECT * FROM unnest($6, $7, $8, $9, $10);
    ELSE
        INSERT INTO {schema}.entries (number, first, last, start, packed)
        SELECT * FROM unnest($6, $7, $8, $9, $10) AS e(number, first, last, start, packed)
        WHERE e.number = ANY(written);
    END IF;
    engine_time := COALESCE(at, (extract(epoch FROM clock_timestamp()) * 1000)::int8);
END $$;

-- The journals of these names, each with its entries after a record: at most so many of each, and not much more than so
-- many bytes.
CREATE FUNCTION {schema}.read_entries(names bytea[], afters int8[], most int8, bytes int8, at int8)
RETURNS TABLE (
    number int8, epoch int8, state int2, owner bytea, expires int8, goes int8, first int8, last int8, total int8,
    trimmed int8, epochs int8[], firsts int8[], nonce int8, engine_time int8,
    entry_first int8, entry_last int8, entry_start int8, entry_packed bytea, place int8
) LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
BEGIN
    RETURN QUERY
    SELECT j.number, j.epoch, j.state, j.owner, j.expires, j.goes, j.first, j.last, j.total,
        j.trimmed, j.epochs, j.firsts, j.nonce, COALESCE($5, (extract(epoch FROM clock_timestamp()) * 1000)::int8),
        e.first, e.last, e.start, e.packed, i.place
    FROM unnest($1, $2) WITH ORDINALITY AS i(name, after, place)
    JOIN {schema}.journals j ON j.name = i.name
    LEFT JOIN LATERAL (
        SELECT x.first, x.last, x.start, x.packed FROM {schema}.entries x
        WHERE x.number = j.number AND x.last > i.after AND x.start <= $4 + (
            SELECT y.start FROM {schema}.entries y WHERE y.number = j.number AND y.last > i.after
            ORDER BY y.last LIMIT 1)
        ORDER BY x.last LIMIT $3
    ) e ON true
    ORDER BY i.place, e.last;
END $$;
