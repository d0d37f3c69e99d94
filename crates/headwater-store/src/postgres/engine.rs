//! The engine's calls as statements.

use std::{collections::HashSet, sync::Arc};

use bytes::Bytes;
use tokio_postgres::{Row, types::Type};

use super::{
    connect::{Parameter, Pool, PostgresLane},
    listen::{self, PostgresListener},
    migrate::LOCK,
    rows::{column, header, signed, text, unsigned, value},
    sql::{SWEPT_JOURNALS, SWEPT_VALUES, Sql},
};
use crate::{
    Error, ErrorKind, Expect, JournalId, ReadLimit, Result, Swept, Tail, Value,
    remote::{
        Answer, Append, ClaimOutcome, Engine, EngineClock, EngineFault, JournalEntries, JournalHeader,
        JournalHold, LeaseChange, Refusal, RestorePiece, StoredEntry, SweepStep, Verdict, random_u64,
    },
};

/// How often to retry a claim or delete if the journal changed between two statements.
const ROUNDS: usize = 8;

/// A database.
#[derive(Debug)]
pub(crate) struct Postgres {
    pool: Pool,
    sql: Sql,
    channel: String,
    /// Distinguishes announcements of this process from those of others.
    node: u64,
    time: Arc<EngineClock>,
}

impl Postgres {
    pub(super) async fn new(pool: Pool, time: Arc<EngineClock>) -> Result<Self> {
        let sql = Sql::new(&pool.url.schema);
        let channel = listen::channel(&pool.url.schema);
        let engine = Self { pool, sql, channel, node: random_u64(), time };
        let now = engine.now().await.map_err(|fault| fault.error().clone())?;
        engine.time.observe(now);
        Ok(engine)
    }

    /// The time that the statements use instead of the server's.
    fn at(&self) -> Option<i64> {
        self.time.simulated().map(signed)
    }

    /// Prefix of an announcement of a journal; the statement appends the journal's number.
    fn announce_journal(&self) -> String {
        let mut payload = listen::journals(self.node, [0]).concat();
        payload.pop();
        payload
    }

    async fn written_by(&self, key: &str) -> Answer<Option<(u64, i64)>> {
        let parameters = [(&key.as_bytes() as _, Type::BYTEA), (&self.at() as _, Type::INT8)];
        let rows = self
            .pool
            .query(PostgresLane::Calls, "reading a value", &self.sql.written_by, &parameters)
            .await?;
        rows.first().map(|row| Ok((unsigned(column(row, 0)?), column(row, 1)?))).transpose()
    }

    /// Writes or removes a value, and announces it.
    async fn change_value(
        &self,
        key: &str,
        doing: &'static str,
        sql: &str,
        parameters: &[Parameter<'_>],
    ) -> Answer<Vec<Row>> {
        let payloads = [listen::value(self.node, key)];
        let payloads = &payloads[..];
        let announced = [(&self.channel as _, Type::TEXT), (&payloads as _, Type::TEXT_ARRAY)];
        let announcement = Some((&*self.sql.announce, &announced[..]));
        self.pool.query_and_announce(PostgresLane::Key(key), doing, sql, parameters, announcement).await
    }

    /// Advances the sequence, so that all new epochs and versions are higher than a number and than all
    /// earlier ones.
    async fn set_forward(&self, number: u64) -> Answer<u64> {
        let parameters = [(&LOCK as _, Type::INT8), (&signed(number) as _, Type::INT8)];
        let rows = self
            .pool
            .query(PostgresLane::Writer, "reading the time", &self.sql.set_forward, &parameters)
            .await?;
        rows.first().map_or(Ok(0), |row| Ok(unsigned(column(row, 0)?)))
    }

    /// The outcome of appends that were not written now.
    async fn refusals(&self, appends: &[Append], verdicts: &mut [Verdict]) -> Answer<()> {
        let numbers: Vec<i64> = appends.iter().map(|append| signed(append.number)).collect();
        let parameters = [(&numbers as _, Type::INT8_ARRAY), (&self.at() as _, Type::INT8)];
        let rows =
            self.pool.query(PostgresLane::Writer, "reading journals", &self.sql.headers, &parameters).await?;
        let headers: Vec<JournalHeader> = rows.iter().map(header).collect::<Answer<_>>()?;
        for (append, verdict) in appends.iter().zip(verdicts) {
            if *verdict != Verdict::Written {
                let header = headers.iter().find(|header| header.number == append.number);
                *verdict = append.verdict(header);
            }
        }
        Ok(())
    }
}

impl Engine for Postgres {
    type Hints = PostgresListener;

    async fn commit(&self, appends: &[Append]) -> Answer<(Vec<Verdict>, u64)> {
        let of = |number: fn(&Append) -> u64| {
            appends.iter().map(|append| signed(number(append))).collect::<Vec<_>>()
        };
        let (numbers, epochs) = (of(|append| append.number), of(|append| append.epoch));
        let (firsts, lasts, totals) =
            (of(|append| append.first), of(|append| append.last), of(|append| append.total));
        let entries: Vec<(u64, &StoredEntry)> = appends
            .iter()
            .flat_map(|append| append.entries.iter().map(|entry| (append.number, entry)))
            .collect();
        let each = |number: fn(&(u64, &StoredEntry)) -> u64| {
            entries.iter().map(|it| signed(number(it))).collect::<Vec<_>>()
        };
        let (entry_numbers, entry_firsts) = (each(|it| it.0), each(|it| it.1.first));
        let (entry_lasts, entry_starts) = (each(|it| it.1.last), each(|it| it.1.start));
        let packed: Vec<&[u8]> = entries.iter().map(|(_, entry)| &*entry.packed).collect();
        let parameters = [
            (&numbers as _, Type::INT8_ARRAY),
            (&epochs as _, Type::INT8_ARRAY),
            (&firsts as _, Type::INT8_ARRAY),
            (&lasts as _, Type::INT8_ARRAY),
            (&totals as _, Type::INT8_ARRAY),
            (&entry_numbers as _, Type::INT8_ARRAY),
            (&entry_firsts as _, Type::INT8_ARRAY),
            (&entry_lasts as _, Type::INT8_ARRAY),
            (&entry_starts as _, Type::INT8_ARRAY),
            (&packed as _, Type::BYTEA_ARRAY),
            (&self.at() as _, Type::INT8),
        ];
        let payloads = listen::journals(self.node, appends.iter().map(|append| append.number));
        let announced = [(&self.channel as _, Type::TEXT), (&payloads as _, Type::TEXT_ARRAY)];
        let announcement = Some((&*self.sql.announce, &announced[..]));
        let (lane, doing) = (PostgresLane::Writer, "writing records");
        let rows =
            self.pool.query_and_announce(lane, doing, &self.sql.commit, &parameters, announcement).await?;
        let (mut written, mut now) = (HashSet::new(), 0);
        for row in &rows {
            let numbers: Option<Vec<i64>> = column(row, 0)?;
            written.extend(numbers.into_iter().flatten().map(unsigned));
            now = unsigned(column(row, 1)?);
        }
        let verdict = |append: &Append| {
            if written.contains(&append.number) {
                Verdict::Written
            } else {
                Verdict::Refused(Refusal::Unknown)
            }
        };
        let mut verdicts: Vec<Verdict> = appends.iter().map(verdict).collect();
        if verdicts.iter().any(|verdict| *verdict != Verdict::Written) {
            self.refusals(appends, &mut verdicts).await?;
        }
        Ok((verdicts, now))
    }

    async fn read_all(
        &self,
        wanted: &[(&JournalId, u64)],
        limit: ReadLimit,
    ) -> Answer<Vec<Option<JournalEntries>>> {
        let names: Vec<&[u8]> = wanted.iter().map(|(journal, _)| journal.as_str().as_bytes()).collect();
        let afters: Vec<i64> = wanted.iter().map(|(_, after)| signed(*after)).collect();
        let count = i64::try_from(limit.records).unwrap_or(i64::MAX).clamp(1, 4_096);
        let bytes = i64::try_from(limit.bytes).unwrap_or(i64::MAX).min(1 << 40);
        let parameters = [
            (&names as _, Type::BYTEA_ARRAY),
            (&afters as _, Type::INT8_ARRAY),
            (&count as _, Type::INT8),
            (&bytes as _, Type::INT8),
            (&self.at() as _, Type::INT8),
        ];
        let rows =
            self.pool.query(PostgresLane::Calls, "reading records", &self.sql.read, &parameters).await?;
        let mut found: Vec<Option<JournalEntries>> = wanted.iter().map(|_| None).collect();
        for row in &rows {
            let place = usize::try_from(column::<i64>(row, 18)? - 1).unwrap_or(usize::MAX);
            let Some(found) = found.get_mut(place) else { continue };
            let stored = match found {
                Some(stored) => stored,
                None => found.insert(JournalEntries { header: header(row)?, entries: Vec::new() }),
            };
            let first: Option<i64> = column(row, 14)?;
            if let Some(first) = first {
                stored.entries.push(StoredEntry {
                    first: unsigned(first),
                    last: unsigned(column(row, 15)?),
                    start: unsigned(column(row, 16)?),
                    packed: Bytes::from(column::<Vec<u8>>(row, 17)?),
                });
            }
        }
        Ok(found)
    }

    async fn header(&self, journal: &JournalId) -> Answer<Option<JournalHeader>> {
        let parameters = [(&journal.as_str().as_bytes() as _, Type::BYTEA), (&self.at() as _, Type::INT8)];
        let rows =
            self.pool.query(PostgresLane::Calls, "reading a journal", &self.sql.header, &parameters).await?;
        rows.first().map(header).transpose()
    }

    async fn tails(&self, journals: &[JournalId]) -> Answer<Vec<Option<(u64, Tail)>>> {
        let names: Vec<&[u8]> = journals.iter().map(|journal| journal.as_str().as_bytes()).collect();
        let parameters = [(&names as _, Type::BYTEA_ARRAY)];
        let rows =
            self.pool.query(PostgresLane::Calls, "reading journals", &self.sql.tails, &parameters).await?;
        let mut tails = vec![None; journals.len()];
        for row in &rows {
            let place = usize::try_from(column::<i64>(row, 0)? - 1).unwrap_or(usize::MAX);
            let tail = Tail { last: unsigned(column(row, 2)?), closed: column::<i16>(row, 3)? == 2 };
            if let Some(found) = tails.get_mut(place) {
                *found = Some((unsigned(column(row, 1)?), tail));
            }
        }
        Ok(tails)
    }

    async fn claim(&self, journal: &JournalId, owner: &str, ttl: u64, nonce: u64) -> Answer<ClaimOutcome> {
        let nonce = nonce.cast_signed();
        for _ in 0..ROUNDS {
            let parameters = [
                (&journal.as_str().as_bytes() as _, Type::BYTEA),
                (&owner.as_bytes() as _, Type::BYTEA),
                (&signed(ttl) as _, Type::INT8),
                (&nonce as _, Type::INT8),
                (&self.at() as _, Type::INT8),
            ];
            let rows = self
                .pool
                .query(PostgresLane::Calls, "claiming a journal", &self.sql.claim, &parameters)
                .await?;
            if let Some(row) = rows.first() {
                return Ok(ClaimOutcome::Given(header(row)?));
            }
            let parameters =
                [(&journal.as_str().as_bytes() as _, Type::BYTEA), (&self.at() as _, Type::INT8)];
            let rows = self
                .pool
                .query(PostgresLane::Calls, "reading a journal", &self.sql.header, &parameters)
                .await?;
            let Some(row) = rows.first() else { continue };
            let header = header(row)?;
            match header.hold {
                // An earlier request whose answer was lost has claimed it.
                JournalHold::Leased { .. } if column::<i64>(row, 12)? == nonce => {
                    return Ok(ClaimOutcome::Given(header));
                }
                JournalHold::Leased { expires, .. } if expires > header.now => {
                    return Ok(ClaimOutcome::Refused(header));
                }
                JournalHold::Closed { .. } => return Ok(ClaimOutcome::Refused(header)),
                // It became free between the two statements.
                _ => {}
            }
        }
        Err(unsettled("claiming", journal))
    }

    async fn change(
        &self,
        journal: &JournalId,
        epoch: u64,
        change: LeaseChange,
        repeated: bool,
    ) -> Answer<Result<(), Option<JournalHeader>>> {
        let name = journal.as_str().as_bytes();
        let at = self.at();
        let epoch_number = signed(epoch);
        let name_and_epoch = [(&name as _, Type::BYTEA), (&epoch_number as _, Type::INT8)];
        let rows = match change {
            LeaseChange::Renew(ttl) => {
                let [name, epoch] = name_and_epoch;
                let parameters = [name, epoch, (&signed(ttl) as _, Type::INT8), (&at as _, Type::INT8)];
                self.pool.query(PostgresLane::Calls, "renewing a lease", &self.sql.renew, &parameters).await?
            }
            LeaseChange::Release => {
                self.pool
                    .query(PostgresLane::Calls, "releasing a lease", &self.sql.release, &name_and_epoch)
                    .await?
            }
            LeaseChange::Close(keep) => {
                let keep = keep.map(signed);
                let [name, epoch] = name_and_epoch;
                let announced = [
                    (&self.channel as _, Type::TEXT),
                    (&self.announce_journal() as _, Type::TEXT),
                    name.clone(),
                ];
                let announcement = Some((&*self.sql.announce_journal, &announced[..]));
                let parameters = [name, epoch, (&keep as _, Type::INT8), (&at as _, Type::INT8)];
                let (lane, doing) = (PostgresLane::Calls, "closing a journal");
                self.pool.query_and_announce(lane, doing, &self.sql.close, &parameters, announcement).await?
            }
            LeaseChange::Trim { before, bytes } => {
                let [name, epoch] = name_and_epoch;
                let (before, bytes) = (signed(before), signed(bytes));
                let parameters = [name, epoch, (&before as _, Type::INT8), (&bytes as _, Type::INT8)];
                self.pool
                    .query(PostgresLane::Calls, "trimming a journal", &self.sql.trim, &parameters)
                    .await?
            }
        };
        if !rows.is_empty() {
            return Ok(Ok(()));
        }
        let header = self.header(journal).await?;
        let done = repeated && header.as_ref().is_some_and(|header| header.has_ended(epoch, change));
        Ok(if done { Ok(()) } else { Err(header) })
    }

    async fn delete(&self, journal: &JournalId) -> Answer<Result<(), JournalHeader>> {
        for _ in 0..ROUNDS {
            let parameters = [
                (&journal.as_str().as_bytes() as _, Type::BYTEA),
                (&self.at() as _, Type::INT8),
                (&self.channel as _, Type::TEXT),
                (&self.announce_journal() as _, Type::TEXT),
            ];
            let rows = self
                .pool
                .query(PostgresLane::Calls, "deleting a journal", &self.sql.delete, &parameters)
                .await?;
            if let Some(row) = rows.first() {
                let parameters = [(&column::<i64>(row, 0)? as _, Type::INT8)];
                // Most journals are removed completely by this; a sweep deletes the rest.
                let _ = self
                    .pool
                    .query(PostgresLane::Calls, "deleting records", &self.sql.delete_entries, &parameters)
                    .await;
                return Ok(Ok(()));
            }
            match self.header(journal).await? {
                None => return Ok(Ok(())),
                Some(header) => match header.hold {
                    JournalHold::Leased { expires, .. } if expires > header.now => return Ok(Err(header)),
                    _ => {}
                },
            }
        }
        Err(unsettled("deleting", journal))
    }

    async fn expired(&self, limit: usize) -> Answer<Vec<JournalId>> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let parameters = [(&limit as _, Type::INT8), (&self.at() as _, Type::INT8)];
        let rows = self
            .pool
            .query(PostgresLane::Calls, "listing expired leases", &self.sql.expired, &parameters)
            .await?;
        rows.iter().map(|row| Ok(JournalId::from(text(column(row, 0)?)))).collect()
    }

    async fn get(&self, key: &str) -> Answer<Option<Value>> {
        let parameters = [(&key.as_bytes() as _, Type::BYTEA), (&self.at() as _, Type::INT8)];
        let rows =
            self.pool.query(PostgresLane::Calls, "reading a value", &self.sql.get, &parameters).await?;
        rows.first().map(|row| value(row, 0)).transpose()
    }

    async fn put(
        &self,
        key: &str,
        bytes: &Bytes,
        expect: Expect,
        ttl: Option<u64>,
        nonce: u64,
    ) -> Answer<Result<u64, Option<u64>>> {
        let (nonce, ttl) = (nonce.cast_signed(), ttl.map(signed));
        let at = self.at();
        let (key_bytes, value) = (key.as_bytes(), &**bytes);
        let mut parameters = vec![
            (&key_bytes as _, Type::BYTEA),
            (&value as _, Type::BYTEA),
            (&ttl as _, Type::INT8),
            (&nonce as _, Type::INT8),
            (&at as _, Type::INT8),
        ];
        let expected;
        let sql = match expect {
            Expect::Any => &self.sql.put_any,
            Expect::Absent => &self.sql.put_absent,
            Expect::Version(version) => {
                expected = signed(version);
                parameters.push((&expected as _, Type::INT8));
                &self.sql.put_version
            }
        };
        let rows = self.change_value(key, "writing a value", sql, &parameters).await?;
        if let Some(row) = rows.first() {
            return Ok(Ok(unsigned(column(row, 0)?)));
        }
        Ok(match self.written_by(key).await? {
            // An earlier request whose answer was lost has put it.
            Some((version, by)) if by == nonce => Ok(version),
            found => Err(found.map(|(version, _)| version)),
        })
    }

    async fn remove(&self, key: &str, expect: Expect) -> Answer<Result<bool, Option<u64>>> {
        let current = async || Ok(self.written_by(key).await?.map(|(version, _)| version));
        let at = self.at();
        let key_bytes = key.as_bytes();
        let mut parameters = vec![(&key_bytes as _, Type::BYTEA), (&at as _, Type::INT8)];
        let expected;
        let sql = match expect {
            Expect::Any => &self.sql.remove_any,
            Expect::Absent => {
                return Ok(match current().await? {
                    None => Ok(false),
                    found => Err(found),
                });
            }
            Expect::Version(version) => {
                expected = signed(version);
                parameters.push((&expected as _, Type::INT8));
                &self.sql.remove_version
            }
        };
        let rows = self.change_value(key, "removing a value", sql, &parameters).await?;
        match (rows.first(), expect) {
            (Some(row), _) => Ok(Ok(column(row, 0)?)),
            (None, Expect::Version(_)) => Ok(Err(current().await?)),
            (None, _) => Ok(Ok(false)),
        }
    }

    async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Answer<Vec<(String, Value)>> {
        let (prefix, after) = (prefix.as_bytes(), after.map(str::as_bytes));
        // The last byte of UTF-8 text is never the largest, so the next larger one ends the keys with this prefix.
        let end = prefix.split_last().map(|(last, rest)| [rest, &[last.saturating_add(1)]].concat());
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let parameters = [
            (&prefix as _, Type::BYTEA),
            (&after as _, Type::BYTEA),
            (&end as _, Type::BYTEA),
            (&limit as _, Type::INT8),
            (&self.at() as _, Type::INT8),
        ];
        let rows =
            self.pool.query(PostgresLane::Calls, "listing values", &self.sql.list, &parameters).await?;
        rows.iter().map(|row| Ok((text(column(row, 0)?), value(row, 1)?))).collect()
    }

    async fn sweep(&self) -> Answer<SweepStep> {
        let at = self.at();
        let doing = "deleting what is over";
        let (mut swept, mut journals) = (Swept::default(), Vec::new());
        let parameters = [
            (&at as _, Type::INT8),
            (&self.channel as _, Type::TEXT),
            (&self.announce_journal() as _, Type::TEXT),
        ];
        for row in &self.pool.query(PostgresLane::Calls, doing, &self.sql.sweep_journals, &parameters).await?
        {
            swept.journals += 1;
            journals.push(unsigned(column(row, 0)?));
            swept.bytes += unsigned(column(row, 1)?);
        }
        let rows = self
            .pool
            .query(PostgresLane::Calls, doing, &self.sql.sweep_values, &[(&at as _, Type::INT8)])
            .await?;
        if let Some(row) = rows.first() {
            swept.values = unsigned(column(row, 0)?);
            swept.bytes += unsigned(column(row, 1)?);
        }
        let rows = self
            .pool
            .query(PostgresLane::Calls, doing, &self.sql.sweep_garbage, &[(&at as _, Type::INT8)])
            .await?;
        let rests = match rows.first() {
            Some(row) => column::<i64>(row, 0)? > 0,
            None => false,
        };
        let more =
            swept.journals >= unsigned(SWEPT_JOURNALS) || swept.values >= unsigned(SWEPT_VALUES) || rests;
        Ok(SweepStep { swept, journals, more })
    }

    async fn journals(&self, after: Option<&JournalId>, limit: usize) -> Answer<Vec<JournalId>> {
        let after = after.map(|after| after.as_str().as_bytes());
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let parameters = [(&after as _, Type::BYTEA), (&limit as _, Type::INT8)];
        let rows =
            self.pool.query(PostgresLane::Calls, "listing journals", &self.sql.journals, &parameters).await?;
        rows.iter().map(|row| Ok(JournalId::from(text(column(row, 0)?)))).collect()
    }

    async fn restore(&self, journal: &JournalId, piece: &RestorePiece) -> Answer<bool> {
        let (doing, number, at) = ("restoring a journal", signed(piece.number), self.at());
        if piece.begins {
            let parameters = [(&number as _, Type::INT8), (&at as _, Type::INT8)];
            self.pool.query(PostgresLane::Calls, doing, &self.sql.restore_begin, &parameters).await?;
        }
        if !piece.entries.is_empty() {
            let each = |number: fn(&StoredEntry) -> u64| {
                piece.entries.iter().map(|it| signed(number(it))).collect::<Vec<_>>()
            };
            let (firsts, lasts, starts) = (each(|it| it.first), each(|it| it.last), each(|it| it.start));
            let packed: Vec<&[u8]> = piece.entries.iter().map(|entry| &*entry.packed).collect();
            let parameters = [
                (&number as _, Type::INT8),
                (&firsts as _, Type::INT8_ARRAY),
                (&lasts as _, Type::INT8_ARRAY),
                (&starts as _, Type::INT8_ARRAY),
                (&packed as _, Type::BYTEA_ARRAY),
                (&at as _, Type::INT8),
            ];
            let rows =
                self.pool.query(PostgresLane::Calls, doing, &self.sql.restore_entries, &parameters).await?;
            if rows.is_empty() {
                return Ok(false);
            }
        }
        let Some(header) = &piece.complete else { return Ok(true) };
        self.set_forward(piece.highest_epoch()).await?;
        let (state, goes) = match header.hold {
            JournalHold::Free => (0_i16, None),
            JournalHold::Leased { .. } => (1, None),
            JournalHold::Closed { goes } => (2, goes.map(signed)),
        };
        let epochs: Vec<i64> = header.epochs.iter().map(|start| signed(start.epoch)).collect();
        let firsts: Vec<i64> = header.epochs.iter().map(|start| signed(start.first)).collect();
        let parameters = [
            (&number as _, Type::INT8),
            (&journal.as_str().as_bytes() as _, Type::BYTEA),
            (&signed(header.epoch) as _, Type::INT8),
            (&state as _, Type::INT2),
            (&goes as _, Type::INT8),
            (&signed(header.first) as _, Type::INT8),
            (&signed(header.last) as _, Type::INT8),
            (&signed(header.total) as _, Type::INT8),
            (&epochs as _, Type::INT8_ARRAY),
            (&firsts as _, Type::INT8_ARRAY),
        ];
        let rows =
            self.pool.query(PostgresLane::Calls, doing, &self.sql.restore_complete, &parameters).await?;
        Ok(!rows.is_empty())
    }

    /// Also sets the numbers forward to the time: after a restored backup none is used twice.
    async fn now(&self) -> Answer<u64> {
        self.set_forward(0).await
    }

    async fn subscribe(&self) -> Answer<PostgresListener> {
        listen::listen(&self.pool, self.node).await
    }
}

fn unsettled(doing: &str, journal: &JournalId) -> EngineFault {
    let message = format!("{doing} journal {journal}: other processes claim and release it all the time");
    EngineFault::Unreachable(Error::new(ErrorKind::Unavailable, message))
}
