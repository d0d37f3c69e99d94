//! The engine's calls as scripts.

use std::{borrow::Cow, pin::Pin, sync::Arc};

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use redis::{Msg, Value as Reply};

use super::{
    connect::{RedisConnections, RedisLane},
    fault::fault,
    keys::Keys,
    open,
    reply::{ReplyParts, header, number},
    scripts::Scripts,
};
use crate::{
    Error, ErrorKind, Expect, JournalId, ReadLimit, Result, Swept, Tail, Value,
    remote::{
        Answer, Append, ClaimOutcome, Engine, EngineClock, EngineFault, Hint, Hints, JournalEntries,
        JournalHeader, JournalHold, LeaseChange, RestorePiece, StoredEntry, SweepStep, Verdict, random_u64,
    },
};

/// Number of items removed by one script of a sweep. It bounds how long the server is blocked.
const SWEPT: u64 = 200;

/// A server.
#[derive(Debug)]
pub(crate) struct Redis {
    connections: RedisConnections,
    scripts: Scripts,
    keys: Keys,
    /// Distinguishes announcements of this process from those of others.
    node: String,
    time: Arc<EngineClock>,
}

impl Redis {
    pub(super) async fn open(connections: RedisConnections, time: Arc<EngineClock>) -> Result<Self> {
        let (scripts, keys) = (Scripts::new(), Keys::new(connections.url.base()));
        open::check(&connections, &scripts, &keys).await?;
        let engine = Self { connections, scripts, keys, node: format!("{:016x}", random_u64()), time };
        let now = engine.now().await.map_err(|fault| fault.error().clone())?;
        engine.time.observe(now);
        Ok(engine)
    }

    /// The time that the scripts use instead of the server's.
    fn at(&self) -> String {
        self.time.simulated().map(|now| now.to_string()).unwrap_or_default()
    }

    async fn run(
        &self,
        lane: RedisLane,
        doing: &'static str,
        script: fn(&Scripts) -> &super::scripts::LoadedScript,
        keys: &[&str],
        arguments: &[&str],
    ) -> Answer<Reply> {
        let keys: Vec<&[u8]> = keys.iter().map(|key| key.as_bytes()).collect();
        let at = self.at();
        let mut words = vec![at.as_bytes()];
        words.extend(arguments.iter().map(|argument| argument.as_bytes()));
        self.connections.run(lane, doing, script(&self.scripts), &keys, &words).await
    }

    async fn header_over(&self, lane: RedisLane, journal: &JournalId) -> Answer<Option<JournalHeader>> {
        let reply =
            self.run(lane, "reading a journal", |s| &s.header, &[&self.keys.journal(journal)], &[]).await?;
        header(reply)
    }
}

impl Engine for Redis {
    type Hints = RedisListener;

    async fn commit(&self, appends: &[Append]) -> Answer<(Vec<Verdict>, u64)> {
        let names: Vec<String> = appends
            .iter()
            .flat_map(|append| [self.keys.journal(&append.journal), self.keys.stream(&append.journal)])
            .collect();
        let names: Vec<&[u8]> = names.iter().map(String::as_bytes).collect();
        let mut numbers: Vec<(String, Option<&[u8]>)> = Vec::new();
        for Append { epoch, first, last, total, entries, .. } in appends {
            for number in [*epoch, first - 1, *last, *total, entries.len() as u64] {
                numbers.push((number.to_string(), None));
            }
            for entry in entries {
                numbers.push((entry_id(entry), None));
                numbers.push((entry.start.to_string(), Some(&entry.packed)));
            }
        }
        let announced: Vec<String> = appends.iter().map(|append| append.number.to_string()).collect();
        let (at, announcement) = (self.at(), format!("{}j{}", self.node, announced.join(",")));
        let mut words = vec![at.as_bytes(), self.keys.channel.as_bytes(), announcement.as_bytes()];
        for (number, packed) in &numbers {
            words.push(number.as_bytes());
            words.extend(packed);
        }
        let script = &self.scripts.commit;
        let reply =
            self.connections.run(RedisLane::Writer, "writing records", script, &names, &words).await?;
        let mut parts = ReplyParts::of(reply)?;
        let now = parts.number()?;
        let mut verdicts = vec![Verdict::Written; appends.len()];
        while parts.len() > 0 {
            let place = usize::try_from(parts.number()?).unwrap_or(usize::MAX);
            if let (Some(append), Some(verdict)) = (appends.get(place), verdicts.get_mut(place)) {
                *verdict =
                    append.verdict(self.header_over(RedisLane::Reads, &append.journal).await?.as_ref());
            }
        }
        Ok((verdicts, now))
    }

    async fn read_all(
        &self,
        wanted: &[(&JournalId, u64)],
        limit: ReadLimit,
    ) -> Answer<Vec<Option<JournalEntries>>> {
        let keys: Vec<String> = wanted
            .iter()
            .flat_map(|(journal, _)| [self.keys.journal(journal), self.keys.stream(journal)])
            .collect();
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let (most, bytes) = (limit.records.clamp(1, 4_096), limit.bytes.clamp(1, 1 << 40));
        let afters = wanted.iter().map(|(_, after)| after.to_string());
        let arguments: Vec<String> =
            [most.to_string(), bytes.to_string()].into_iter().chain(afters).collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let reply = self.run(RedisLane::Reads, "reading records", |s| &s.read, &keys, &arguments).await?;
        ReplyParts::of(reply)?.map(stored).collect()
    }

    async fn header(&self, journal: &JournalId) -> Answer<Option<JournalHeader>> {
        self.header_over(RedisLane::Reads, journal).await
    }

    async fn tails(&self, journals: &[JournalId]) -> Answer<Vec<Option<(u64, Tail)>>> {
        let keys: Vec<String> = journals.iter().map(|journal| self.keys.journal(journal)).collect();
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let reply = self.run(RedisLane::Reads, "reading journals", |s| &s.tails, &keys, &[]).await?;
        ReplyParts::of(reply)?
            .map(|found| {
                let mut parts = ReplyParts::of(found)?;
                let Some(number) = parts.maybe_number()? else { return Ok(None) };
                Ok(Some((number, Tail { last: parts.number()?, closed: parts.number()? == 2 })))
            })
            .collect()
    }

    async fn claim(&self, journal: &JournalId, owner: &str, ttl: u64, nonce: u64) -> Answer<ClaimOutcome> {
        let keys = [
            &*self.keys.journal(journal),
            &self.keys.leases,
            &self.keys.names,
            &self.keys.numbers,
            &self.keys.staged(journal),
            &self.keys.unfinished,
        ];
        let arguments = [journal.as_str(), owner, &ttl.to_string(), &nonce.to_string()];
        let reply =
            self.run(RedisLane::Changes, "claiming a journal", |s| &s.claim, &keys, &arguments).await?;
        let mut parts = ReplyParts::of(reply)?;
        let given = parts.number()? == 1;
        match header(parts.reply()?)? {
            Some(header) if given => Ok(ClaimOutcome::Given(header)),
            Some(header) => Ok(ClaimOutcome::Refused(header)),
            None => {
                let message = format!("Redis, claiming a journal: no answer about {journal}");
                Err(EngineFault::Refused(Error::new(ErrorKind::Corrupt, message)))
            }
        }
    }

    async fn change(
        &self,
        journal: &JournalId,
        epoch: u64,
        change: LeaseChange,
        repeated: bool,
    ) -> Answer<Result<(), Option<JournalHeader>>> {
        let keys =
            [&*self.keys.journal(journal), &self.keys.stream(journal), &self.keys.leases, &self.keys.going];
        let (name, one, two) = match change {
            LeaseChange::Renew(ttl) => ("renew", ttl.to_string(), String::new()),
            LeaseChange::Release => ("release", String::new(), String::new()),
            LeaseChange::Close(keep) => {
                ("close", keep.map(|keep| keep.to_string()).unwrap_or_default(), String::new())
            }
            LeaseChange::Trim { before, bytes } => ("trim", before.to_string(), bytes.to_string()),
        };
        let arguments =
            [journal.as_str(), &epoch.to_string(), name, &one, &two, &self.keys.channel, &self.node];
        let reply =
            self.run(RedisLane::Changes, "changing a journal", |s| &s.change, &keys, &arguments).await?;
        let mut parts = ReplyParts::of(reply)?;
        if parts.number()? == 1 {
            return Ok(Ok(()));
        }
        let header = header(parts.reply()?)?;
        let done = repeated && header.as_ref().is_some_and(|header| header.has_ended(epoch, change));
        Ok(if done { Ok(()) } else { Err(header) })
    }

    async fn delete(&self, journal: &JournalId) -> Answer<Result<(), JournalHeader>> {
        let keys = [
            &*self.keys.journal(journal),
            &self.keys.stream(journal),
            &self.keys.leases,
            &self.keys.going,
            &self.keys.names,
            &self.keys.staged(journal),
            &self.keys.unfinished,
        ];
        let arguments = [journal.as_str(), &self.keys.channel, &self.node];
        let reply =
            self.run(RedisLane::Changes, "deleting a journal", |s| &s.delete, &keys, &arguments).await?;
        Ok(header(reply)?.map_or(Ok(()), Err))
    }

    async fn expired(&self, limit: usize) -> Answer<Vec<JournalId>> {
        let limit = limit.min(1 << 30).to_string();
        let keys = [&*self.keys.leases];
        let reply =
            self.run(RedisLane::Reads, "listing expired leases", |s| &s.expired, &keys, &[&limit]).await?;
        names(reply)
    }

    async fn get(&self, key: &str) -> Answer<Option<Value>> {
        let reply =
            self.run(RedisLane::Reads, "reading a value", |s| &s.get, &[&self.keys.value(key)], &[]).await?;
        ReplyParts::maybe(reply)?.map(|mut parts| parts.value()).transpose()
    }

    async fn put(
        &self,
        key: &str,
        bytes: &Bytes,
        expect: Expect,
        ttl: Option<u64>,
        nonce: u64,
    ) -> Answer<Result<u64, Option<u64>>> {
        let name = self.keys.value(key);
        let keys = [&*name, &self.keys.keys, &self.keys.expiring, &self.keys.numbers];
        let keys: Vec<&[u8]> = keys.iter().map(|key| key.as_bytes()).collect();
        let (kind, version) = expected(expect);
        let (at, nonce, announced) = (self.at(), nonce.to_string(), format!("{}v{key}", self.node));
        let ttl = ttl.map(|ttl| ttl.to_string()).unwrap_or_default();
        let channel = &self.keys.channel;
        let words = [&*at, key, "", kind, &version, &ttl, &nonce, channel, &announced];
        let mut words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        if let Some(place) = words.get_mut(2) {
            *place = bytes;
        }
        let script = &self.scripts.put;
        let reply =
            self.connections.run(RedisLane::Changes, "writing a value", script, &keys, &words).await?;
        let mut parts = ReplyParts::of(reply)?;
        Ok(if parts.number()? == 1 { Ok(parts.number()?) } else { Err(parts.maybe_number()?) })
    }

    async fn remove(&self, key: &str, expect: Expect) -> Answer<Result<bool, Option<u64>>> {
        let keys = [&*self.keys.value(key), &self.keys.keys, &self.keys.expiring];
        let (kind, version) = expected(expect);
        let arguments = [key, kind, &version, &self.keys.channel, &format!("{}v{key}", self.node)];
        let reply =
            self.run(RedisLane::Changes, "removing a value", |s| &s.remove, &keys, &arguments).await?;
        let mut parts = ReplyParts::of(reply)?;
        Ok(match parts.number()? {
            0 => Err(parts.maybe_number()?),
            removed => Ok(removed == 1),
        })
    }

    async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Answer<Vec<(String, Value)>> {
        let from = match after {
            Some(after) if after >= prefix => format!("({after}"),
            _ => format!("[{prefix}"),
        };
        // The last byte of UTF-8 text is never the largest, so the next larger one ends the keys with this prefix.
        let end = match prefix.as_bytes().split_last() {
            Some((last, rest)) => [b"(", rest, &[last.saturating_add(1)]].concat(),
            None => b"+".to_vec(),
        };
        let (at, limit) = (self.at(), limit.min(1 << 30).to_string());
        let words = [at.as_bytes(), from.as_bytes(), &end, limit.as_bytes(), self.keys.value.as_bytes()];
        let keys = [self.keys.keys.as_bytes()];
        let reply = self
            .connections
            .run(RedisLane::Reads, "listing values", &self.scripts.list, &keys, &words)
            .await?;
        ReplyParts::of(reply)?
            .map(|found| {
                let mut parts = ReplyParts::of(found)?;
                Ok((parts.text()?, parts.value()?))
            })
            .collect()
    }

    async fn sweep(&self) -> Answer<SweepStep> {
        let keys = [
            &*self.keys.going,
            &self.keys.names,
            &self.keys.expiring,
            &self.keys.keys,
            &self.keys.unfinished,
        ];
        let most = SWEPT.to_string();
        let Keys { channel, journal, stream, value, staged, .. } = &self.keys;
        let arguments = [&*most, channel, &self.node, journal, stream, value, staged];
        let reply =
            self.run(RedisLane::Changes, "removing what is over", |s| &s.sweep, &keys, &arguments).await?;
        let mut parts = ReplyParts::of(reply)?;
        let mut numbers = ReplyParts::of(parts.reply()?)?;
        let mut journals = Vec::new();
        while numbers.len() > 0 {
            journals.push(numbers.number()?);
        }
        let swept =
            Swept { journals: journals.len() as u64, values: parts.number()?, bytes: parts.number()? };
        Ok(SweepStep { swept, journals, more: parts.number()? == 1 })
    }

    async fn journals(&self, after: Option<&JournalId>, limit: usize) -> Answer<Vec<JournalId>> {
        let from = after.map_or_else(|| "-".to_owned(), |after| format!("({after}"));
        let arguments = [&*from, &limit.min(1 << 30).to_string()];
        let keys = [&*self.keys.names];
        names(self.run(RedisLane::Reads, "listing journals", |s| &s.journals, &keys, &arguments).await?)
    }

    async fn restore(&self, journal: &JournalId, piece: &RestorePiece) -> Answer<bool> {
        let keys = [
            &*self.keys.journal(journal),
            &self.keys.stream(journal),
            &self.keys.staged(journal),
            &self.keys.unfinished,
            &self.keys.leases,
            &self.keys.going,
            &self.keys.names,
            &self.keys.numbers,
        ];
        let keys: Vec<&[u8]> = keys.iter().map(|key| key.as_bytes()).collect();
        let (at, number, begins) = (self.at(), piece.number.to_string(), u8::from(piece.begins).to_string());
        let count = piece.entries.len().to_string();
        let mut words: Vec<Cow<'_, [u8]>> = [&*at, journal.as_str(), &number, &begins, &count]
            .into_iter()
            .map(|word| Cow::Borrowed(word.as_bytes()))
            .collect();
        let owned = |number: u64| Cow::Owned(number.to_string().into_bytes());
        for entry in &piece.entries {
            words.extend([
                Cow::Owned(entry_id(entry).into_bytes()),
                owned(entry.start),
                Cow::Borrowed(&*entry.packed),
            ]);
        }
        if let Some(header) = &piece.complete {
            let (state, goes) = match header.hold {
                JournalHold::Free => (0, None),
                JournalHold::Leased { .. } => (1, None),
                JournalHold::Closed { goes } => (2, goes),
            };
            let epochs: Vec<String> =
                header.epochs.iter().map(|start| format!("{}:{}", start.epoch, start.first)).collect();
            let goes = goes.map_or(Cow::Borrowed(&b""[..]), owned);
            words.extend([owned(header.epoch), owned(state), goes, owned(header.first), owned(header.last)]);
            words.extend([owned(header.total), Cow::Owned(epochs.join(" ").into_bytes())]);
            words.push(owned(piece.highest_epoch()));
        }
        let words: Vec<&[u8]> = words.iter().map(|word| &**word).collect();
        let script = &self.scripts.restore;
        let reply =
            self.connections.run(RedisLane::Changes, "restoring a journal", script, &keys, &words).await?;
        Ok(ReplyParts::of(Reply::Array(vec![reply]))?.number()? == 1)
    }

    async fn now(&self) -> Answer<u64> {
        let reply =
            self.run(RedisLane::Writer, "reading the time", |s| &s.now, &[&self.keys.numbers], &[]).await?;
        ReplyParts::of(Reply::Array(vec![reply]))?.number()
    }

    async fn subscribe(&self) -> Answer<RedisListener> {
        let listening = self.connections.listen(&self.keys.channel).await;
        let listening = listening
            .map_err(|error| EngineFault::Unreachable(fault("listening", &error).error().clone()))?;
        Ok(RedisListener { messages: Box::pin(listening.into_on_message()), node: self.node.clone() })
    }
}

/// The id of an entry in its stream: its last record, and the number of its records.
fn entry_id(entry: &StoredEntry) -> String {
    format!("{}-{}", entry.last, entry.last + 1 - entry.first)
}

/// A journal and some of its entries; `None` if there is no such journal.
fn stored(reply: Reply) -> Answer<Option<JournalEntries>> {
    let mut parts = ReplyParts::of(reply)?;
    let Some(header) = header(parts.reply()?)? else { return Ok(None) };
    let mut entries = Vec::with_capacity(parts.len());
    for entry in parts {
        let mut parts = ReplyParts::of(entry)?;
        let id = parts.text()?;
        let (last, count) = id.split_once('-').unwrap_or_default();
        let (last, count) = (number(last.as_bytes())?, number(count.as_bytes())?);
        let (start, packed) = (parts.number()?, parts.bytes()?.into());
        entries.push(StoredEntry { first: (last + 1).saturating_sub(count), last, start, packed });
    }
    Ok(Some(JournalEntries { header, entries }))
}

fn names(reply: Reply) -> Answer<Vec<JournalId>> {
    let mut parts = ReplyParts::of(reply)?;
    let mut journals = Vec::new();
    while parts.len() > 0 {
        journals.push(parts.text()?.into());
    }
    Ok(journals)
}

fn expected(expect: Expect) -> (&'static str, String) {
    match expect {
        Expect::Any => ("any", String::new()),
        Expect::Absent => ("absent", String::new()),
        Expect::Version(version) => ("version", version.to_string()),
    }
}

/// The announcements that a connection receives.
pub(crate) struct RedisListener {
    messages: Pin<Box<dyn Stream<Item = Msg> + Send>>,
    node: String,
}

impl Hints for RedisListener {
    async fn next(&mut self) -> Answer<Hint> {
        while let Some(message) = self.messages.next().await {
            let payload = message.get_payload_bytes();
            if let Some(hint) = str::from_utf8(payload).ok().and_then(|payload| read(payload, &self.node)) {
                return Ok(hint);
            }
        }
        let message = "Redis, listening: the connection was lost";
        Err(EngineFault::Unreachable(Error::new(ErrorKind::Unavailable, message)))
    }
}

/// Reads an announcement of another process.
fn read(payload: &str, node: &str) -> Option<Hint> {
    let (from, announced) = payload.split_at_checked(16)?;
    // This process applied its own change before announcing it.
    if from == node {
        return None;
    }
    if let Some(numbers) = announced.strip_prefix('j') {
        let numbers: Result<Vec<u64>, _> = numbers.split(',').map(str::parse).collect();
        return numbers.ok().map(Hint::Journals);
    }
    announced.strip_prefix('v').map(|key| Hint::Value(key.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn announcements_are_read() {
        let (this, other) = ("00000000000000aa", "00000000000000bb");
        assert_eq!(read(&format!("{other}j1,20"), this), Some(Hint::Journals(vec![1, 20])));
        assert_eq!(read(&format!("{other}va/\0ü"), this), Some(Hint::Value("a/\0ü".to_owned())));
        for payload in
            ["", "hello", "ü", &format!("{this}j1"), other, &format!("{other}j"), &format!("{other}x1")]
        {
            assert_eq!(read(payload, this), None, "{payload}");
        }
    }
}
