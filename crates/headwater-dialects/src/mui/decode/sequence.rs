//! Puts the chunks of envelopes in order: duplicates are skipped, early chunks wait.

use std::collections::{BTreeMap, HashSet};

use headwater_protocol::{Error, ErrorKind};

/// How many chunks may wait behind a gap, and how many bytes.
const MAX_WAITING: usize = 1_024;
const MAX_WAITING_BYTES: usize = 16 * 1024 * 1024;
/// How many event ids without consecutive numbers are remembered, and how many bytes.
const MAX_IDS: usize = 65_536;
const MAX_ID_BYTES: usize = 8 * 1024 * 1024;

/// The position of a reader in a stream of envelopes. The first sequence number is the base.
#[derive(Debug, Default)]
pub(super) struct Sequencer {
    pub(super) next: Option<i64>,
    pub(super) seen: SeenIds,
    waiting: BTreeMap<i64, String>,
    waiting_bytes: usize,
}

impl Sequencer {
    /// Continues after a reconnect.
    pub(super) fn resume(next: Option<i64>, seen: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let mut sequencer = Self { next, ..Self::default() };
        for id in seen {
            sequencer.seen.insert(id.as_ref());
        }
        sequencer
    }

    /// Accepts a chunk that is exactly the next one. Otherwise nothing changes, and [`push`](Self::push)
    /// decides.
    pub(super) fn advance(&mut self, event_id: Option<&str>, sequence: i64) -> bool {
        if self.next.is_some_and(|next| next != sequence) || !self.waiting.is_empty() {
            return false;
        }
        if event_id.is_some_and(|id| !self.seen.insert(id)) {
            return false;
        }
        self.next = Some(sequence.saturating_add(1));
        true
    }

    /// Accepts one chunk, and returns all that are in order now.
    ///
    /// # Errors
    /// If it would have to wait and too many are waiting already.
    pub(super) fn push(
        &mut self,
        event_id: Option<&str>,
        sequence: Option<i64>,
        chunk: &str,
    ) -> Result<Vec<String>, Error> {
        if event_id.is_some_and(|id| self.seen.contains(id)) {
            return Ok(Vec::new());
        }
        let next = sequence.map(|sequence| self.next.unwrap_or(sequence));
        let is_early = sequence > next;
        let full = self.waiting.len() >= MAX_WAITING || self.waiting_bytes + chunk.len() > MAX_WAITING_BYTES;
        if let Some(next) = next.filter(|_| is_early && full) {
            let message = format!("too much waits for sequence {next}: reconnect from it");
            return Err(Error::fatal(ErrorKind::Limit, message));
        }
        event_id.map(|id| self.seen.insert(id));
        let (Some(sequence), Some(mut next)) = (sequence, next) else { return Ok(vec![chunk.to_owned()]) };
        self.next = Some(next);
        if is_early {
            self.waiting_bytes += chunk.len();
            let replaced = self.waiting.insert(sequence, chunk.to_owned());
            self.waiting_bytes -= replaced.map_or(0, |chunk| chunk.len());
            return Ok(Vec::new());
        }
        if sequence < next {
            return Ok(Vec::new());
        }
        let mut ready = vec![chunk.to_owned()];
        next = next.saturating_add(1);
        while let Some(chunk) = self.waiting.remove(&next) {
            self.waiting_bytes -= chunk.len();
            ready.push(chunk);
            next = next.saturating_add(1);
        }
        self.next = Some(next);
        Ok(ready)
    }

    /// The missing sequence number and the number of chunks waiting for it, if any.
    pub(super) fn gap(&self) -> Option<(i64, usize)> {
        self.next.filter(|_| !self.waiting.is_empty()).map(|awaited| (awaited, self.waiting.len()))
    }
}

/// The event ids seen so far. Servers number their events (`m1:0`, `m1:1` and so on), so consecutive ids are
/// stored as a range. If too many others arrive, those are dropped.
#[derive(Debug, Default)]
pub(super) struct SeenIds {
    run: Option<NumberedIds>,
    others: HashSet<String>,
    bytes: usize,
}

/// A range of consecutive ids.
#[derive(Debug)]
struct NumberedIds {
    prefix: String,
    from: u64,
    end: u64,
}

impl NumberedIds {
    fn iter(&self) -> impl Iterator<Item = String> {
        (self.from..self.end).map(|number| format!("{}{number}", self.prefix))
    }
}

impl SeenIds {
    pub(super) fn contains(&self, id: &str) -> bool {
        let run = self.run.as_ref().zip(split(id));
        run.is_some_and(|(run, (prefix, number))| {
            (run.from..run.end).contains(&number) && run.prefix == prefix
        }) || self.others.contains(id)
    }

    /// Remembers an id; `false` if it was seen before. An empty id identifies nothing.
    pub(super) fn insert(&mut self, id: &str) -> bool {
        if id.is_empty() {
            return true;
        }
        if self.contains(id) {
            return false;
        }
        let Some((prefix, number)) = split(id) else {
            self.remember(id.to_owned());
            return true;
        };
        match &mut self.run {
            Some(run) if run.end == number && run.prefix == prefix => run.end += 1,
            // A range of one id is replaced: the newer id is as likely to begin a range.
            Some(run) if run.end - run.from > 1 => self.remember(id.to_owned()),
            _ => {
                let run = NumberedIds { prefix: prefix.to_owned(), from: number, end: number + 1 };
                if let Some(single) = self.run.replace(run).and_then(|run| run.iter().next()) {
                    self.remember(single);
                }
            }
        }
        true
    }

    fn remember(&mut self, id: String) {
        self.bytes += id.len();
        if self.others.len() >= MAX_IDS || self.bytes > MAX_ID_BYTES {
            self.others.clear();
            self.bytes = id.len();
        }
        self.others.insert(id);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = String> {
        let run = self.run.iter().flat_map(NumberedIds::iter);
        self.others.iter().cloned().chain(run)
    }
}

/// The text of an id before its number and the number, if it is in canonical form.
fn split(id: &str) -> Option<(&str, u64)> {
    let prefix = id.trim_end_matches(|digit: char| digit.is_ascii_digit());
    let digits = id.get(prefix.len()..)?;
    if digits.len() > 18 || (digits.len() > 1 && digits.starts_with('0')) {
        return None;
    }
    Some((prefix, digits.parse().ok()?))
}

#[cfg(test)]
mod tests;
