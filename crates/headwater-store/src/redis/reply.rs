//! Parsing the replies of scripts.

use std::{str, sync::Arc};

use redis::Value as Reply;

use crate::{
    EpochStart, Error, ErrorKind, Time, Value,
    remote::{Answer, EngineFault, JournalHeader, JournalHold},
};

fn unexpected(what: &str) -> EngineFault {
    let message =
        format!("Redis answered something that is not expected: {what}; were the store's keys changed?");
    EngineFault::Refused(Error::new(ErrorKind::Corrupt, message))
}

/// The parts of an answer, one after the other.
pub(super) struct ReplyParts(std::vec::IntoIter<Reply>);

impl ReplyParts {
    pub(super) fn of(reply: Reply) -> Answer<Self> {
        Self::maybe(reply)?.ok_or_else(|| unexpected("nothing instead of a list"))
    }

    /// `None` for an empty reply.
    pub(super) fn maybe(reply: Reply) -> Answer<Option<Self>> {
        match reply {
            Reply::Array(parts) => Ok(Some(Self(parts.into_iter()))),
            Reply::Nil => Ok(None),
            _ => Err(unexpected("no list")),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn reply(&mut self) -> Answer<Reply> {
        self.0.next().ok_or_else(|| unexpected("a list that is too short"))
    }

    pub(super) fn bytes(&mut self) -> Answer<Vec<u8>> {
        self.maybe_bytes()?.ok_or_else(|| unexpected("nothing instead of bytes"))
    }

    pub(super) fn maybe_bytes(&mut self) -> Answer<Option<Vec<u8>>> {
        match self.reply()? {
            Reply::BulkString(bytes) => Ok(Some(bytes)),
            Reply::SimpleString(text) => Ok(Some(text.into_bytes())),
            Reply::Nil => Ok(None),
            _ => Err(unexpected("no bytes")),
        }
    }

    pub(super) fn text(&mut self) -> Answer<String> {
        String::from_utf8(self.bytes()?).map_err(|_| unexpected("no text"))
    }

    pub(super) fn number(&mut self) -> Answer<u64> {
        match self.reply()? {
            Reply::Int(number) => u64::try_from(number).map_err(|_| unexpected("a negative number")),
            Reply::BulkString(bytes) => number(&bytes),
            _ => Err(unexpected("no number")),
        }
    }

    /// A number that may be missing.
    pub(super) fn maybe_number(&mut self) -> Answer<Option<u64>> {
        match self.maybe_bytes()?.filter(|bytes| !bytes.is_empty()) {
            Some(bytes) => number(&bytes).map(Some),
            None => Ok(None),
        }
    }

    pub(super) fn value(&mut self) -> Answer<Value> {
        let (bytes, version) = (self.bytes()?.into(), self.number()?);
        Ok(Value { bytes, version, expires: self.maybe_number()?.map(Time), damaged: false })
    }
}

impl Iterator for ReplyParts {
    type Item = Reply;

    fn next(&mut self) -> Option<Reply> {
        self.0.next()
    }
}

pub(super) fn number(bytes: &[u8]) -> Answer<u64> {
    str::from_utf8(bytes).ok().and_then(|text| text.parse().ok()).ok_or_else(|| unexpected("no number"))
}

/// A header; `None` if there is no such journal.
pub(super) fn header(reply: Reply) -> Answer<Option<JournalHeader>> {
    let Some(mut parts) = ReplyParts::maybe(reply)? else { return Ok(None) };
    let (number, epoch, state) = (parts.number()?, parts.number()?, parts.number()?);
    let owner: Arc<str> = parts.text()?.into();
    let (expires, goes) = (parts.number()?, parts.maybe_number()?);
    let hold = match state {
        0 => JournalHold::Free,
        1 => JournalHold::Leased { owner, expires },
        _ => JournalHold::Closed { goes },
    };
    let (first, last, total, trimmed) = (parts.number()?, parts.number()?, parts.number()?, parts.number()?);
    let epochs = epochs(&parts.text()?).ok_or_else(|| unexpected("no epochs"))?;
    parts.reply()?;
    Ok(Some(JournalHeader { number, epoch, hold, first, last, total, trimmed, epochs, now: parts.number()? }))
}

fn epochs(text: &str) -> Option<Vec<EpochStart>> {
    let start = |pair: &str| {
        let (epoch, first) = pair.split_once(':')?;
        Some(EpochStart { epoch: epoch.parse().ok()?, first: first.parse().ok()? })
    };
    text.split(' ').map(start).collect()
}
