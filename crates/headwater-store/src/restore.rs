//! Validates the records of a restore.

use crate::{Error, ErrorKind, JournalId, JournalInfo, Record, Result};

/// The highest accepted epoch, so that the store always has higher ones to assign.
const MAX_EPOCH: u64 = u64::MAX / 2;

/// The position of one call of [`Store::restore`](crate::Store::restore) among those for a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RestoreStep {
    /// It has the first kept records.
    pub(crate) begins: bool,
    /// It has the last record.
    pub(crate) completes: bool,
}

/// Checks that records can belong to a journal. The store checks that they follow those of the previous call.
pub(crate) fn check(journal: &JournalId, info: &JournalInfo, records: &[Record]) -> Result<RestoreStep> {
    step(info, records).map_err(|what| invalid(journal, what))
}

/// The position of records in a journal; the error describes the problem.
pub(crate) fn step(info: &JournalInfo, records: &[Record]) -> Result<RestoreStep, &'static str> {
    let end = info.tail.last.saturating_add(1);
    let ordered = info.epochs.is_sorted_by(|one, next| one.epoch < next.epoch && one.first <= next.first);
    let within = info.epochs.iter().all(|start| (1..=end).contains(&start.first) && start.epoch <= MAX_EPOCH);
    if info.epochs.is_empty() || !ordered || !within {
        return Err("its epochs are not in order");
    }
    if !(1..=end).contains(&info.first) {
        return Err("its first record is after its end");
    }
    if info.tail.closed && info.driven {
        return Err("it is closed and has a driver");
    }
    if !info.tail.closed && info.goes.is_some() {
        return Err("it has an expiry but is not closed");
    }
    let Some((first, last)) = records.first().zip(records.last()) else {
        let is_empty = info.first == end;
        return if is_empty {
            Ok(RestoreStep { begins: true, completes: true })
        } else {
            Err("records are missing")
        };
    };
    if first.seq < info.first || last.seq > info.tail.last {
        return Err("records are not within it");
    }
    let mut epochs = info.epochs.iter().peekable();
    let mut epoch = None;
    for (seq, record) in (first.seq..).zip(records) {
        while let Some(start) = epochs.next_if(|start| start.first <= seq) {
            epoch = Some(start.epoch);
        }
        if record.seq != seq {
            return Err("records are not in order, or some are missing");
        }
        if epoch != Some(record.epoch) {
            return Err("a record has another epoch than its place");
        }
    }
    Ok(RestoreStep { begins: first.seq == info.first, completes: last.seq == info.tail.last })
}

/// Checks that the records of a call follow those of the previous one.
pub(crate) fn check_next(journal: &JournalId, last: u64, records: &[Record]) -> Result<()> {
    match records.first() {
        Some(record) if record.seq == last.saturating_add(1) => Ok(()),
        _ => Err(invalid(journal, "records do not follow those before")),
    }
}

/// The error for records without predecessors.
pub(crate) fn not_begun(journal: &JournalId) -> Error {
    invalid(journal, "its first records are missing")
}

fn invalid(journal: &JournalId, what: &str) -> Error {
    let message = format!("cannot restore journal {journal}: {what}; begin again with its first record");
    Error::new(ErrorKind::Corrupt, message)
}

/// The error for a journal beyond the size limit of this store.
pub(crate) fn too_long(journal: &JournalId, limit: u64) -> Error {
    let message =
        format!("cannot restore journal {journal}: this store keeps at most {limit} bytes of one journal");
    Error::new(ErrorKind::Full, message)
}

/// The names after a given one, in order and at most `limit`, from an unordered list.
pub(crate) fn page_of<'a>(
    names: impl Iterator<Item = &'a JournalId>,
    after: Option<&JournalId>,
    limit: usize,
) -> Vec<JournalId> {
    let mut names: Vec<&JournalId> = names.filter(|name| after.is_none_or(|after| *name > after)).collect();
    if limit < names.len() {
        names.select_nth_unstable(limit);
        names.truncate(limit);
    }
    names.sort_unstable();
    names.into_iter().cloned().collect()
}
