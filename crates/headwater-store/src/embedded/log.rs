//! The end of the log: writes commits, makes them durable, seals full segments.

use std::{io, sync::Arc, time::Duration};

use super::{
    Fsync, Options,
    core::{ActiveSegment, Core, PendingCommit},
    disk::write_all,
    files::{Files, StoreFile, is_out_of_descriptors},
    format::{
        COMMIT_HEADER, CommitHeader, Counters, SEGMENT_HEADER, SegmentHeader, rewrite_name, segment_name,
    },
    handles::{Handles, SegmentFile},
    index::{SegmentIndex, footer::Footer},
    segment::{Lists, SealedSegment},
};
use crate::{Error, ErrorKind, Monotonic, Result};

/// The maximum size of a segment, so that offsets fit in 32 bits including one commit and a footer, even if
/// it has to grow to twice that.
const MAX_SEGMENT: u64 = 1 << 30;

/// How long deltas without a following fact may go without an fsync. If a power cut loses them, their attempt
/// is retracted, which also happens if they survive.
const DELTAS: Duration = Duration::from_secs(1);

/// The end of the log.
#[derive(Debug)]
pub(super) struct Log {
    pub(super) files: Arc<dyn Files>,
    pub(super) handles: Arc<Handles>,
    pub(super) segment: u64,
    pub(super) file: Arc<dyn StoreFile>,
    /// The offset of the next commit.
    pub(super) offset: u64,
    /// The last written commit.
    pub(super) commit: u64,
    /// The last durable commit.
    pub(super) synced: u64,
    pub(super) generation: u32,
    /// Whether the last commit is a marker.
    pub(super) marked: bool,
    fsync: Fsync,
    segment_bytes: u64,
    last_sync: Monotonic,
    /// The offset of a commit that was not written or not made durable.
    unsettled: Option<u64>,
    /// The buffer of the last commit, reused for the next.
    pub(super) buffer: Vec<u8>,
}

impl Log {
    /// A log that continues at an offset before which everything is durable.
    pub(super) fn resume(
        handles: Arc<Handles>,
        options: &Options,
        (segment, file, offset): (u64, Arc<dyn StoreFile>, u64),
        commit: u64,
        generation: u32,
    ) -> Self {
        Self {
            files: handles.files().clone(),
            handles,
            segment,
            file,
            offset,
            commit,
            synced: commit,
            generation,
            marked: true,
            fsync: options.fsync,
            segment_bytes: options.segment_bytes.min(MAX_SEGMENT),
            last_sync: options.clock.monotonic(),
            unsettled: None,
            buffer: Vec::new(),
        }
    }

    /// Creates a segment with a durable name and header.
    pub(super) fn create(
        files: &dyn Files,
        number: u64,
        commit_before: u64,
        counters: Counters,
        generation: u32,
    ) -> Result<Arc<dyn StoreFile>> {
        let header = SegmentHeader { number, commit_before, counters, generation };
        let file = prepare(files, number).map_err(|error| beginning(number, error))?;
        begin(files, &*file, &header).map_err(|error| beginning(number, error))?;
        Ok(file.into())
    }

    pub(super) fn is_full(&self) -> bool {
        self.offset >= self.segment_bytes
    }

    /// Writes a commit and makes it durable if the policy requires it. Returns its offset.
    pub(super) fn write(&mut self, taken: &mut PendingCommit, now: Monotonic) -> Result<u64> {
        let at = self.offset;
        self.unsettled = Some(at);
        if taken.frames > 0 {
            self.write_commit(&mut taken.bytes, taken.frames)?;
        }
        let since = |interval| self.last_sync.after(interval) <= now;
        let due = match self.fsync {
            Fsync::Commit => taken.urgent || since(DELTAS),
            Fsync::Interval(interval) => since(interval),
            Fsync::Never => false,
        };
        if taken.sync || due {
            self.sync(now)?;
        }
        self.unsettled = None;
        Ok(at)
    }

    /// Tests for free disk space by writing some bytes after the end and truncating them. A crash in between
    /// looks like a torn end. Without this test, a store on a full disk would alternately recover and stop.
    pub(super) fn probe(&self) -> Result<()> {
        const ROOM: usize = 1 << 20;
        let probe = || -> io::Result<()> {
            let end = self.file.size()?;
            let written = write_all(&*self.file, end, &vec![0; ROOM]).and_then(|()| self.file.sync());
            self.file.truncate(end)?;
            written.and_then(|()| self.file.sync())
        };
        let name = segment_name(self.segment);
        probe().map_err(|error| write_error(format_args!("looking for room after {name}"), error))
    }

    /// Removes the written part of a failed commit. Its callers know that it failed, so it must not reappear
    /// when the folder is reopened in the same process.
    pub(super) fn cut_off_failed(&mut self) -> Result<()> {
        let Some(at) = self.unsettled else { return Ok(()) };
        let cut = self.file.truncate(at).and_then(|()| self.file.sync());
        cut.map_err(|error| {
            write_error(format_args!("cutting {} off at offset {at}", segment_name(self.segment)), error)
        })?;
        self.unsettled = None;
        Ok(())
    }

    fn write_commit(&mut self, bytes: &mut [u8], frames: u32) -> Result<()> {
        let at = self.offset;
        let (room, body) = bytes.split_at_mut_checked(COMMIT_HEADER).unwrap_or_default();
        let header = CommitHeader {
            body: u32::try_from(body.len()).unwrap_or(u32::MAX),
            body_sum: crc32c::crc32c(body),
            frames,
            generation: self.generation,
            number: self.commit + 1,
            durable: self.synced,
        };
        header.encode_into(room, self.segment, at);
        write_all(&*self.file, at, bytes).map_err(|error| {
            write_error(format_args!("writing {} at offset {at}", segment_name(self.segment)), error)
        })?;
        self.offset += bytes.len() as u64;
        self.commit += 1;
        self.marked = frames == 0;
        Ok(())
    }

    /// Makes all writes durable.
    pub(super) fn sync(&mut self, now: Monotonic) -> Result<()> {
        if self.synced < self.commit {
            self.file.sync().map_err(|error| {
                write_error(format_args!("making {} durable", segment_name(self.segment)), error)
            })?;
            self.synced = self.commit;
        }
        self.last_sync = now;
        Ok(())
    }

    /// The time until the policy requires an fsync; `None` if there is nothing to sync.
    pub(super) fn sync_after(&self) -> Option<Duration> {
        match self.fsync {
            Fsync::Commit if self.synced < self.commit => Some(DELTAS),
            Fsync::Interval(interval) if self.synced < self.commit => Some(interval),
            _ => None,
        }
    }

    /// Writes a marker, without syncing it, that everything before it is durable. It distinguishes damage to
    /// the last commit from a torn end.
    pub(super) fn mark(&mut self) -> Result<()> {
        if self.marked || self.synced < self.commit {
            return Ok(());
        }
        self.write_commit(&mut [0; COMMIT_HEADER], 0)
    }

    /// Makes the start of a new generation durable, regardless of the policy.
    pub(super) fn begin_generation(&mut self, now: Monotonic) -> Result<()> {
        self.write_commit(&mut [0; COMMIT_HEADER], 0)?;
        self.sync(now)
    }

    /// Seals the segment and starts the next one. Without a free descriptor the segment continues for now.
    pub(super) fn rotate(&mut self, core: &std::sync::Mutex<Core>, now: Monotonic) -> Result<()> {
        let lock = || core.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let number = self.segment + 1;
        // The file comes first, so that nothing after it needs another descriptor.
        let file = match prepare(&*self.files, number) {
            Ok(file) => file,
            Err(error) if is_out_of_descriptors(&error) && self.offset < 2 * MAX_SEGMENT => return Ok(()),
            Err(error) => return Err(beginning(number, error)),
        };
        self.files.sync_names().map_err(|error| beginning(number, error))?;
        self.sync(now)?;
        self.write_commit(&mut [0; COMMIT_HEADER], 0)?;
        let (footer, counters, tombstones) = {
            let core = lock();
            let index = &core.active.index;
            (self.footer(index), core.counters, index.has_tombstones())
        };
        let (footer, bytes) = footer;
        let name = segment_name(self.segment);
        let at = self.offset;
        write_all(&*self.file, at, &bytes)
            .map_err(|error| write_error(format_args!("sealing {name} at offset {at}"), error))?;
        self.sync(now)?;
        let sealed = SealedSegment {
            number: self.segment,
            file: SegmentFile::new(self.segment, &self.handles),
            size: at + bytes.len() as u64,
            lists: Lists::Footer(footer),
            tombstones,
            damaged: false.into(),
        };
        let header =
            SegmentHeader { number, commit_before: self.commit, counters, generation: self.generation };
        begin(&*self.files, &*file, &header).map_err(|error| beginning(number, error))?;
        let file: Arc<dyn StoreFile> = file.into();
        self.segment = number;
        self.file = file.clone();
        self.offset = SEGMENT_HEADER as u64;
        let mut core = lock();
        core.sealed.insert(sealed.number, Arc::new(sealed));
        core.active = ActiveSegment { number, file, index: SegmentIndex::default() };
        Ok(())
    }

    fn footer(&self, index: &SegmentIndex) -> (Footer, Vec<u8>) {
        Footer::encode(index, self.segment, u32::try_from(self.offset).unwrap_or(u32::MAX))
    }
}

/// Creates the file of a segment, under a temporary name.
fn prepare(files: &dyn Files, number: u64) -> io::Result<Box<dyn StoreFile>> {
    let name = rewrite_name(number);
    match files.create(&name) {
        // Left by a process that died here. It is never removed: its absence after a sealed segment is
        // damage.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let file = files.open(&name)?;
            file.truncate(0)?;
            Ok(file)
        }
        made => made,
    }
}

/// Gives a segment its header and its final name, both durable.
fn begin(files: &dyn Files, file: &dyn StoreFile, header: &SegmentHeader) -> io::Result<()> {
    write_all(file, 0, &header.encode())?;
    file.sync()?;
    files.rename(&rewrite_name(header.number), &segment_name(header.number))?;
    files.sync_names()
}

fn beginning(number: u64, error: io::Error) -> Error {
    write_error(format_args!("beginning {}", segment_name(number)), error)
}

/// The error of a failed write.
pub(super) fn write_error(doing: std::fmt::Arguments<'_>, error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            Error::new(ErrorKind::NoSpace, format!("{doing}: {error}; make room and reopen the store"))
        }
        _ => Error::io(doing, error),
    }
}
