//! Copies journals, several concurrently.

use std::collections::HashSet;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};

use super::{Digest, Pass, digest::JournalDigest, is_local, names};
use crate::{Error, ErrorKind, JournalId, JournalInfo, ReadLimit, Record, Result, Store};

/// Maximum part of a journal in memory at once. A single record may be larger.
const PIECE: ReadLimit = ReadLimit { records: 4_096, bytes: 1 << 20 };

/// How often to retry a journal that changes while it is read.
const TRIES: usize = 5;

/// The result for one journal.
enum JournalResult {
    /// It was copied.
    Done { digest: Digest, records: u64, bytes: u64, driven: bool },
    /// It was already the same.
    Unchanged { driven: bool },
    /// The source no longer has it.
    Gone,
}

impl Pass<'_> {
    pub(super) async fn copy_journals(&mut self) -> Result<()> {
        let names = names(self.from).await?;
        let gone = self.check_target(&names).await?;
        self.done.journals_total = names.len() as u64;
        let (from, to, fresh) = (self.from, self.to, self.fresh);
        let copies = names.iter().map(|name| async move {
            let copied = copy_journal(from, to, fresh, name).await;
            (name, copied)
        });
        let mut copies = stream::iter(copies).buffer_unordered(self.options.concurrency.max(1));
        while let Some((name, copied)) = copies.next().await {
            match copied {
                Ok(JournalResult::Done { digest, records, bytes, driven }) => {
                    self.report.journals.copied += 1;
                    self.report.records += records;
                    self.report.bytes += bytes;
                    self.report.active += u64::from(driven);
                    self.report.digest.add(digest);
                    self.done.bytes += bytes;
                }
                Ok(JournalResult::Unchanged { driven }) => {
                    self.report.journals.unchanged += 1;
                    self.report.active += u64::from(driven);
                }
                Ok(JournalResult::Gone) => {}
                Err(error) if is_local(&error) => {
                    self.report.journals.failed += 1;
                    self.report.problem(format!("journal {name}"), &error);
                }
                Err(error) => return Err(error),
            }
            self.done.journals += 1;
            (self.progress)(self.done);
        }
        drop(copies);
        for name in gone {
            self.to.delete(&name).await?;
            self.report.journals.removed += 1;
        }
        Ok(())
    }

    /// Refuses a target that another process has written to since it was copied. Returns the journals that
    /// only the target has.
    async fn check_target(&self, names: &[JournalId]) -> Result<Vec<JournalId>> {
        if self.fresh {
            return Ok(Vec::new());
        }
        let known: HashSet<&JournalId> = names.iter().collect();
        let (both, gone): (Vec<_>, Vec<_>) =
            super::names(self.to).await?.into_iter().partition(|name| known.contains(name));
        let (from, to) = (self.from, self.to);
        let checks = both.iter().map(async |name| {
            let (source, target) = (from.info(name).await?, to.info(name).await?);
            match source.zip(target) {
                Some((source, target)) if is_ahead(&target, &source) => {
                    let message = format!(
                        "journal {name} was written in the target since it was copied, so the target is in use: \
                         copy to an empty one, or copy the other way"
                    );
                    Err(Error::new(ErrorKind::Exists, message))
                }
                _ => Ok(()),
            }
        });
        stream::iter(checks).buffer_unordered(self.options.concurrency.max(1)).try_collect::<()>().await?;
        Ok(gone)
    }
}

/// Whether the target's journal has an epoch that is not from the source. A journal deleted and created again
/// has only higher epochs.
fn is_ahead(target: &JournalInfo, source: &JournalInfo) -> bool {
    let oldest = source.epochs.first().map_or(0, |start| start.epoch);
    target.epochs.iter().any(|start| start.epoch >= oldest && !source.epochs.contains(start))
}

/// Whether two stores have the same journal: within an epoch a sequence always has the same record. Byte
/// counts may differ while a journal is written.
fn is_same(source: &JournalInfo, target: &JournalInfo) -> bool {
    *source == JournalInfo { bytes: source.bytes, ..target.clone() }
}

async fn copy_journal(
    from: &dyn Store,
    to: &dyn Store,
    fresh: bool,
    name: &JournalId,
) -> Result<JournalResult> {
    for _ in 1..TRIES {
        match try_copy(from, to, fresh, name).await {
            CopyTry::Done(copied) => return copied,
            CopyTry::Changed => {}
        }
    }
    match try_copy(from, to, fresh, name).await {
        CopyTry::Done(copied) => copied,
        CopyTry::Changed => {
            let message =
                format!("journal {name} changes faster than it can be copied: copy it when it is not in use");
            Err(Error::new(ErrorKind::Corrupt, message))
        }
    }
}

enum CopyTry {
    Done(Result<JournalResult>),
    /// It was trimmed or taken over while it was read.
    Changed,
}

async fn try_copy(from: &dyn Store, to: &dyn Store, fresh: bool, name: &JournalId) -> CopyTry {
    let info = match from.info(name).await {
        Ok(Some(info)) => info,
        Ok(None) => return CopyTry::Done(drop_gone(to, fresh, name).await),
        Err(error) => return CopyTry::Done(Err(error)),
    };
    let copied = copy_as(from, to, fresh, name, &info).await;
    let Err(error) = &copied else { return CopyTry::Done(copied) };
    let may_have_changed =
        matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Trimmed { .. } | ErrorKind::Unknown);
    match from.info(name).await {
        Ok(now) if may_have_changed && now.as_ref() != Some(&info) => CopyTry::Changed,
        _ => CopyTry::Done(copied),
    }
}

/// A journal deleted in the source since it was listed must not stay in the target.
async fn drop_gone(to: &dyn Store, fresh: bool, name: &JournalId) -> Result<JournalResult> {
    if !fresh {
        to.delete(name).await?;
    }
    Ok(JournalResult::Gone)
}

/// Copies a journal up to the end in `info`, and reads it back.
async fn copy_as(
    from: &dyn Store,
    to: &dyn Store,
    fresh: bool,
    name: &JournalId,
    info: &JournalInfo,
) -> Result<JournalResult> {
    let driven = info.driven;
    if !fresh && let Some(there) = to.info(name).await? {
        if is_same(info, &there) {
            return Ok(JournalResult::Unchanged { driven });
        }
        to.delete(name).await?;
    }
    let mut sent = JournalDigest::new(name);
    if info.first > info.tail.last {
        to.restore(name, info, &[]).await?;
    }
    let mut after = info.first - 1;
    while after < info.tail.last {
        let piece = read_piece(from, name, after, info).await?;
        after += piece.len() as u64;
        sent.add(&piece);
        to.restore(name, info, &piece).await?;
    }
    let (records, bytes) = (sent.records, sent.bytes);
    let digest = read_back(to, name, info).await?;
    if digest != sent.finish() {
        return Err(differs(name));
    }
    Ok(JournalResult::Done { digest, records, bytes, driven })
}

/// The digest of the target's journal.
async fn read_back(to: &dyn Store, name: &JournalId, info: &JournalInfo) -> Result<Digest> {
    let there = to.info(name).await?;
    if !there.is_some_and(|there| is_same(info, &there)) {
        return Err(differs(name));
    }
    let mut digest = JournalDigest::new(name);
    let mut after = info.first - 1;
    while after < info.tail.last {
        let piece = read_piece(to, name, after, info).await?;
        after += piece.len() as u64;
        digest.add(&piece);
    }
    Ok(digest.finish())
}

/// The next records, up to the end of the copy.
async fn read_piece(
    store: &dyn Store,
    name: &JournalId,
    after: u64,
    info: &JournalInfo,
) -> Result<Vec<Record>> {
    let mut piece = store.read(name, after, PIECE).await?.records;
    piece.retain(|record| record.seq <= info.tail.last);
    if piece.is_empty() {
        let message =
            format!("journal {name} ends with record {after} and should go on to {}", info.tail.last);
        return Err(Error::new(ErrorKind::Corrupt, message));
    }
    Ok(piece)
}

fn differs(name: &JournalId) -> Error {
    let message =
        format!("journal {name} is not the same when it is read back from the target: copy it again");
    Error::new(ErrorKind::Corrupt, message)
}
