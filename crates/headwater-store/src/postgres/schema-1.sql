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
