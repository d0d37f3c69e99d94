//! The statements. Each is a complete operation: there are no transactions of several statements, so that a
//! pooler may run each on another connection, and a lost connection leaves nothing incomplete.
//!
//! A row that another statement has locked is evaluated again when the lock is free, including
//! `clock_timestamp()`: the time of a lease starts after the wait for its row.

/// The statements for one schema.
#[derive(Debug)]
pub(super) struct Sql {
    pub(super) commit: String,
    pub(super) read: String,
    pub(super) announce: String,
    pub(super) announce_journal: String,
    pub(super) header: String,
    pub(super) headers: String,
    pub(super) tails: String,
    pub(super) claim: String,
    pub(super) renew: String,
    pub(super) release: String,
    pub(super) close: String,
    pub(super) trim: String,
    pub(super) delete: String,
    pub(super) delete_entries: String,
    pub(super) expired: String,
    pub(super) get: String,
    pub(super) put_any: String,
    pub(super) put_absent: String,
    pub(super) put_version: String,
    pub(super) written_by: String,
    pub(super) remove_any: String,
    pub(super) remove_version: String,
    pub(super) list: String,
    pub(super) sweep_journals: String,
    pub(super) sweep_garbage: String,
    pub(super) sweep_values: String,
    pub(super) set_forward: String,
    pub(super) journals: String,
    pub(super) restore_begin: String,
    pub(super) restore_entries: String,
    pub(super) restore_complete: String,
}

/// The sequence is advanced by this margin, so that numbers taken concurrently by other processes are not
/// assigned again.
const MARGIN: i64 = 1 << 20;

/// How long the entries of an interrupted restore are kept, in milliseconds.
const UNFINISHED: i64 = 24 * 60 * 60 * 1_000;

/// Number of journals deleted by one statement of a sweep.
pub(super) const SWEPT_JOURNALS: i64 = 100;
pub(super) const SWEPT_ENTRIES: i64 = 2_000;
pub(super) const SWEPT_VALUES: i64 = 1_000;

const HEADER: &str = "j.number, j.epoch, j.state, j.owner, j.expires, j.goes, j.first, j.last, j.total, j.trimmed, j.epochs, j.firsts, j.nonce";

impl Sql {
    /// `$now` stands for the engine's time: the parameter of that number if it is given, the server's clock otherwise.
    #[allow(clippy::too_many_lines, reason = "one statement after the other")]
    pub(super) fn new(schema: &str) -> Self {
        let server_now = "(extract(epoch FROM clock_timestamp()) * 1000)::int8";
        let now = |parameter: u8| format!("COALESCE(${parameter}::int8, {server_now})");
        let s = schema;
        let set_value = "bytes = EXCLUDED.bytes, version = nextval('$s.numbers'), expires = EXCLUDED.expires, nonce = EXCLUDED.nonce"
            .replace("$s", s);
        let insert_value = |now: &str| {
            format!(
                "INSERT INTO {s}.key_values AS v (key, bytes, version, expires, nonce)
                 VALUES ($1, $2, nextval('{s}.numbers'), {now} + $3, $4)"
            )
        };
        let live = |now: &str| format!("(v.expires IS NULL OR v.expires > {now})");
        Self {
            commit: format!(
                "SELECT written, engine_time FROM {s}.append_entries($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"
            ),
            read: format!("SELECT * FROM {s}.read_entries($1, $2, $3, $4, $5)"),
            announce: "SELECT pg_notify($1, payload) FROM unnest($2) payload".to_owned(),
            announce_journal: format!("SELECT pg_notify($1, $2 || number) FROM {s}.journals WHERE name = $3"),
            header: format!("SELECT {HEADER}, {} AS now FROM {s}.journals j WHERE j.name = $1", now(2)),
            headers: format!("SELECT {HEADER}, {} AS now FROM {s}.journals j WHERE j.number = ANY($1)", now(2)),
            tails: format!(
                "SELECT i.place, j.number, j.last, j.state FROM unnest($1::bytea[]) WITH ORDINALITY AS i(name, place)
                 JOIN {s}.journals j USING (name)"
            ),
            claim: format!(
                "INSERT INTO {s}.journals AS j (number, name, epoch, state, owner, nonce, expires, epochs, firsts)
                 SELECT n, $1, n, 1, $2, $4, {now} + $3, ARRAY[n], ARRAY[1::int8]
                 FROM nextval('{s}.numbers') AS n
                 ON CONFLICT (name) DO UPDATE SET
                    epoch = EXCLUDED.epoch, state = 1, owner = EXCLUDED.owner, nonce = EXCLUDED.nonce,
                    expires = {now} + $3, epochs = j.epochs || EXCLUDED.epoch, firsts = j.firsts || (j.last + 1)
                 WHERE (j.state = 0 OR (j.state = 1 AND j.expires <= {now})) AND EXCLUDED.epoch > j.epoch
                 RETURNING {HEADER}, {now} AS now",
                now = now(5),
            ),
            renew: format!(
                "UPDATE {s}.journals SET expires = {} + $3 WHERE name = $1 AND epoch = $2 AND state = 1 RETURNING number",
                now(4),
            ),
            release: format!(
                "UPDATE {s}.journals SET state = 0 WHERE name = $1 AND epoch = $2 AND state = 1 RETURNING number"
            ),
            close: format!(
                "UPDATE {s}.journals SET state = 2, goes = {} + $3 WHERE name = $1 AND epoch = $2 AND state = 1 RETURNING number",
                now(4),
            ),
            trim: format!(
                "WITH trimmed AS (
                    UPDATE {s}.journals SET first = $3, trimmed = $4 WHERE name = $1 AND epoch = $2 AND state = 1
                    RETURNING number
                 ), gone AS (
                    DELETE FROM {s}.entries e USING trimmed t WHERE e.number = t.number AND e.last < $3
                 ) SELECT number FROM trimmed"
            ),
            delete: format!(
                "WITH gone AS (
                    DELETE FROM {s}.journals WHERE name = $1 AND NOT (state = 1 AND expires > {}) RETURNING number
                 ), rest AS (
                    INSERT INTO {s}.garbage SELECT number, 0 FROM gone
                 ) SELECT number, pg_notify($3, $4 || number) FROM gone",
                now(2),
            ),
            delete_entries: format!(
                "WITH gone AS (
                    DELETE FROM {s}.entries WHERE ctid = ANY(ARRAY(
                        SELECT ctid FROM {s}.entries WHERE number = $1 LIMIT {SWEPT_ENTRIES})) RETURNING 1
                 ) SELECT count(*) FROM gone"
            ),
            expired: format!(
                "SELECT name FROM {s}.journals WHERE state = 1 AND expires <= {} ORDER BY expires, number LIMIT $1",
                now(2),
            ),
            get: format!(
                "SELECT v.bytes, v.version, v.expires FROM {s}.key_values v WHERE v.key = $1 AND {}",
                live(&now(2)),
            ),
            put_any: format!(
                "{} ON CONFLICT (key) DO UPDATE SET {set_value} RETURNING v.version",
                insert_value(&now(5)),
            ),
            put_absent: format!(
                "{} ON CONFLICT (key) DO UPDATE SET {set_value} WHERE NOT {} RETURNING v.version",
                insert_value(&now(5)),
                live(&now(5)),
            ),
            put_version: format!(
                "UPDATE {s}.key_values v SET bytes = $2, version = nextval('{s}.numbers'), expires = {now} + $3, nonce = $4
                 WHERE v.key = $1 AND v.version = $6 AND {} RETURNING v.version",
                live(&now(5)),
                now = now(5),
            ),
            written_by: format!(
                "SELECT v.version, v.nonce FROM {s}.key_values v WHERE v.key = $1 AND {}",
                live(&now(2)),
            ),
            remove_any: format!(
                "DELETE FROM {s}.key_values v WHERE v.key = $1 RETURNING {} AS live",
                live(&now(2)),
            ),
            remove_version: format!(
                "DELETE FROM {s}.key_values v WHERE v.key = $1 AND v.version = $3 AND {} RETURNING true AS live",
                live(&now(2)),
            ),
            list: format!(
                "SELECT v.key, v.bytes, v.version, v.expires FROM {s}.key_values v
                 WHERE v.key >= $1 AND ($2::bytea IS NULL OR v.key > $2) AND ($3::bytea IS NULL OR v.key < $3) AND {}
                 ORDER BY v.key LIMIT $4",
                live(&now(5)),
            ),
            sweep_journals: format!(
                "WITH over AS (
                    SELECT number FROM {s}.journals WHERE state = 2 AND goes <= {}
                    ORDER BY goes LIMIT {SWEPT_JOURNALS} FOR UPDATE SKIP LOCKED
                 ), gone AS (
                    DELETE FROM {s}.journals j USING over o WHERE j.number = o.number
                    RETURNING j.number, j.total - j.trimmed AS bytes
                 ), rest AS (
                    INSERT INTO {s}.garbage SELECT number, 0 FROM gone
                 ) SELECT number, bytes, pg_notify($2, $3 || number) FROM gone",
                now(1),
            ),
            sweep_garbage: format!(
                "WITH listed AS (
                    SELECT number FROM {s}.garbage WHERE since <= {now} ORDER BY number LIMIT {SWEPT_JOURNALS}
                 ), gone AS (
                    DELETE FROM {s}.entries WHERE ctid = ANY(ARRAY(
                        SELECT e.ctid FROM {s}.entries e JOIN listed USING (number) LIMIT {SWEPT_ENTRIES})) RETURNING 1
                 ), empty AS (
                    DELETE FROM {s}.garbage g USING listed
                    WHERE g.number = listed.number
                      AND NOT EXISTS (SELECT FROM {s}.entries e WHERE e.number = g.number)
                    RETURNING 1
                 ) SELECT (SELECT count(*) FROM listed), (SELECT count(*) FROM gone), (SELECT count(*) FROM empty)",
                now = now(1),
            ),
            sweep_values: format!(
                "WITH over AS (
                    SELECT key FROM {s}.key_values WHERE expires <= {} LIMIT {SWEPT_VALUES} FOR UPDATE SKIP LOCKED
                 ), gone AS (
                    DELETE FROM {s}.key_values v USING over o WHERE v.key = o.key RETURNING length(v.bytes) AS bytes
                 ) SELECT count(*), COALESCE(sum(bytes), 0)::int8 FROM gone",
                now(1),
            ),
            journals: format!(
                "SELECT name FROM {s}.journals WHERE $1::bytea IS NULL OR name > $1 ORDER BY name LIMIT $2"
            ),
            restore_begin: format!("INSERT INTO {s}.garbage VALUES ($1, {} + {UNFINISHED}) ON CONFLICT DO NOTHING", now(2)),
            restore_entries: format!(
                "WITH staged AS (
                    UPDATE {s}.garbage SET since = {} + {UNFINISHED} WHERE number = $1 RETURNING number
                 ), written AS (
                    INSERT INTO {s}.entries (number, first, last, start, packed)
                    SELECT g.number, e.first, e.last, e.start, e.packed
                    FROM staged g, unnest($2::int8[], $3::int8[], $4::int8[], $5::bytea[]) AS e(first, last, start, packed)
                    ON CONFLICT DO NOTHING
                 ) SELECT number FROM staged",
                now(6),
            ),
            restore_complete: format!(
                "WITH staged AS MATERIALIZED (
                    SELECT number FROM {s}.garbage WHERE number = $1 FOR UPDATE
                 ), made AS (
                    INSERT INTO {s}.journals
                        (number, name, epoch, state, owner, nonce, expires, goes, first, last, total, epochs, firsts)
                    SELECT number, $2, $3, $4, '', 0, 0, $5, $6, $7, $8, $9, $10 FROM staged
                    ON CONFLICT (name) DO NOTHING RETURNING number
                 ), kept AS (
                    DELETE FROM {s}.garbage g USING made m WHERE g.number = m.number
                 ) SELECT number FROM made"
            ),
            set_forward: format!(
                "WITH locked AS MATERIALIZED (SELECT pg_advisory_xact_lock($1))
                 SELECT {server_now}, CASE WHEN wanted > n.last_value THEN setval('{s}.numbers', wanted + {MARGIN}) END
                 FROM locked, {s}.numbers n, GREATEST($2, {server_now} * 1024) AS wanted"
            ),
        }
    }
}
