//! Reads records and values from segments.

use std::{
    collections::VecDeque,
    io,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use bytes::Bytes;

use super::{
    disk::read_up_to,
    files::File,
    format::segment_name,
    frame::LogFrame,
    handles::SegmentFile,
    index::{FrameAt, Frames, SegmentIndex, footer::Footer},
    journal::room_for,
    scan::{ScanStart, scan},
};
use crate::{Error, ErrorKind, JournalId, ReadLimit, Record, Result};

/// A complete segment.
#[derive(Debug)]
pub(super) struct SealedSegment {
    pub(super) number: u64,
    pub(super) file: Arc<SegmentFile>,
    /// The size of its file.
    pub(super) size: u64,
    pub(super) lists: Lists,
    /// Whether it has deletions.
    pub(super) tombstones: bool,
    /// Whether it is damaged. Then it is not rewritten.
    pub(super) damaged: AtomicBool,
}

/// Location of the lists of frames.
#[derive(Debug)]
pub(super) enum Lists {
    /// In the footer.
    Footer(Footer),
    /// In memory, because the footer is damaged.
    Memory(SegmentIndex),
}

/// A journal's frames within one segment.
#[derive(Debug)]
pub(super) struct List {
    pub(super) first: u64,
    pub(super) encoded: Vec<u8>,
}

impl List {
    pub(super) fn frames(&self) -> Frames<'_> {
        Frames::new(self.first, &self.encoded)
    }
}

impl SealedSegment {
    pub(super) fn is_damaged(&self) -> bool {
        self.damaged.load(Ordering::SeqCst)
    }

    /// The list of a journal's frames; empty if it has no frames.
    pub(super) fn list(&self, journal: u64) -> io::Result<List> {
        let list = match &self.lists {
            Lists::Footer(footer) => match footer.list(&*self.file, journal) {
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    self.scanned_list(footer, journal)?
                }
                list => list?,
            },
            Lists::Memory(index) => {
                let part = index.journals.get(&journal);
                part.map(|part| (part.list.first, part.list.encoded().to_vec()))
            }
        };
        let (first, encoded) = list.unwrap_or_default();
        Ok(List { first, encoded })
    }
}

impl SealedSegment {
    /// The list of a journal's frames from a full scan, if the footer's list is damaged.
    fn scanned_list(&self, footer: &Footer, journal: u64) -> io::Result<Option<(u64, Vec<u8>)>> {
        let until = u64::from(footer.lists);
        let expected =
            ScanStart { segment: self.number, commit_before: None, generation: 0, until, sealed: true };
        let index = scan(&*self.file, expected)?.index;
        let part = index.journals.get(&journal);
        Ok(part.map(|part| (part.list.first, part.list.encoded().to_vec())))
    }
}

/// The part of a journal to read from one segment.
#[derive(Debug)]
pub(super) struct SegmentRead {
    pub(super) source: RecordSource,
    pub(super) segment: u64,
    pub(super) name: JournalId,
    pub(super) journal: u64,
    pub(super) from: u64,
    pub(super) until: u64,
}

/// Location of a journal's list of frames.
#[derive(Debug)]
pub(super) enum RecordSource {
    /// In memory, for the active segment.
    Active {
        file: Arc<dyn File>,
        frames: Vec<FrameAt>,
    },
    Sealed(Arc<SealedSegment>),
}

/// The maximum size of one read of nearby frames.
const SPAN: u64 = 256 << 10;
/// Gaps up to this size are read rather than skipped.
const JUMP: u64 = 4 << 10;

impl SegmentRead {
    /// Reads records into `records`, up to the limit. Damage is only an error if no record precedes it.
    pub(super) fn read(
        &self,
        lists: &ListCache,
        limit: &mut ReadLimit,
        records: &mut Vec<Record>,
    ) -> Result<()> {
        let cached;
        let (file, frames): (&dyn File, &mut dyn Iterator<Item = FrameAt>) = match &self.source {
            RecordSource::Active { file, frames } => (&**file, &mut frames.iter().copied()),
            RecordSource::Sealed(sealed) => {
                cached = lists.get(sealed, self.journal).map_err(|error| self.failed(error, 0))?;
                (&*sealed.file, &mut cached.frames())
            }
        };
        let mut expected = self.from;
        let mut span = Vec::new();
        let mut end = 0;
        let (mut count, mut bytes) = (0, 0);
        for frame in frames.skip_while(|frame| frame.last() < self.from) {
            if frame.first > self.until || count >= limit.records || bytes >= limit.bytes {
                break;
            }
            let start = u64::from(span.first().map_or(frame.offset, |first: &FrameAt| first.offset));
            let offset = u64::from(frame.offset);
            if !span.is_empty() && (offset > end + JUMP || offset + frame.room() > start + SPAN) {
                if !self.read_span(file, &span, &mut expected, limit, records)? {
                    return Ok(());
                }
                span.clear();
            }
            end = offset + frame.room();
            count += usize::try_from(frame.count).unwrap_or(usize::MAX);
            bytes += usize::try_from(frame.bytes).unwrap_or(usize::MAX);
            span.push(frame);
        }
        if !span.is_empty() && !self.read_span(file, &span, &mut expected, limit, records)? {
            return Ok(());
        }
        if expected == self.from && records.is_empty() {
            return Err(self.missing(expected, 0));
        }
        Ok(())
    }

    /// Reads nearby frames. Returns whether to continue.
    fn read_span(
        &self,
        file: &dyn File,
        span: &[FrameAt],
        expected: &mut u64,
        limit: &mut ReadLimit,
        records: &mut Vec<Record>,
    ) -> Result<bool> {
        let (Some(first), Some(last)) = (span.first(), span.last()) else { return Ok(true) };
        let start = u64::from(first.offset);
        let length = usize::try_from(u64::from(last.offset) + last.room() - start).unwrap_or(usize::MAX);
        let bytes = read_up_to(file, start, length).map_err(|error| self.failed(error, start))?;
        let bytes = Bytes::from(bytes);
        for frame in span {
            let offset = u64::from(frame.offset);
            let decoded =
                usize::try_from(offset - start).ok().and_then(|skip| self.decode(&bytes, skip, frame));
            let fault = match decoded {
                _ if frame.first > *expected => Some(self.missing(*expected, offset)),
                None => Some(self.damaged(*expected, offset)),
                Some(_) => None,
            };
            if let Some(fault) = fault {
                return if records.is_empty() { Err(fault) } else { Ok(false) };
            }
            for record in decoded.into_iter().flatten() {
                if record.seq < *expected {
                    continue;
                }
                if record.seq > self.until || !room_for(limit, records.is_empty(), record.body.len()) {
                    return Ok(false);
                }
                *expected = record.seq + 1;
                records.push(record);
            }
        }
        Ok(true)
    }

    fn decode(&self, bytes: &Bytes, skip: usize, frame: &FrameAt) -> Option<Vec<Record>> {
        let (LogFrame::Records(records), _) = LogFrame::decode(bytes.get(skip..)?)? else { return None };
        let as_listed =
            records.journal == self.journal && records.first == frame.first && records.count == frame.count;
        if as_listed { records.decode() } else { None }
    }

    fn failed(&self, error: io::Error, offset: u64) -> Error {
        if matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof) {
            return self.damaged(self.from, offset);
        }
        let file = segment_name(self.segment);
        Error::io(format_args!("reading journal {} from {file} at offset {offset}", self.name), error)
    }

    fn damaged(&self, seq: u64, offset: u64) -> Error {
        let (name, file) = (&self.name, segment_name(self.segment));
        corrupt(format_args!("journal {name}: record {seq} is damaged in {file} at offset {offset}"))
    }

    fn missing(&self, seq: u64, offset: u64) -> Error {
        let (name, file) = (&self.name, segment_name(self.segment));
        corrupt(format_args!("journal {name}: record {seq} is missing from {file} before offset {offset}"))
    }
}

/// The error for damaged bytes.
pub(super) fn corrupt(what: std::fmt::Arguments<'_>) -> Error {
    let message = format!("{what}: check the disk, and restore the folder from a copy if you need it");
    Error::new(ErrorKind::Corrupt, message)
}

/// The position of a value's frame.
#[derive(Debug, Clone)]
pub(super) struct ValueAt {
    pub(super) file: Arc<dyn File>,
    pub(super) segment: u64,
    pub(super) offset: u32,
    pub(super) length: u32,
    pub(super) version: u64,
}

impl ValueAt {
    /// Reads the value's bytes.
    pub(super) fn read(&self, key: &str) -> Result<Bytes> {
        let place = || format!("{} at offset {}", segment_name(self.segment), self.offset);
        let bytes = read_up_to(&*self.file, u64::from(self.offset), self.length as usize)
            .map_err(|error| Error::io(format_args!("reading value {key} from {}", place()), error))?;
        let whole = Bytes::from(bytes);
        match LogFrame::decode(&whole) {
            Some((LogFrame::Put { key: found, version, bytes, .. }, _))
                if found == key && version == self.version =>
            {
                Ok(if bytes.is_empty() { Bytes::new() } else { whole.slice_ref(bytes) })
            }
            _ => Err(corrupt(format_args!("value {key} is damaged in {}", place()))),
        }
    }
}

type CachedList = (Arc<SealedSegment>, u64, Arc<List>);

/// Recently read lists, so that a reader of many pages does not read its list for each page.
#[derive(Debug, Default)]
pub(super) struct ListCache {
    lists: Mutex<VecDeque<CachedList>>,
}

impl ListCache {
    const LISTS: usize = 64;
    const BYTES: usize = 8 << 20;

    fn get(&self, sealed: &Arc<SealedSegment>, journal: u64) -> io::Result<Arc<List>> {
        let lock = || self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |(segment, number, _): &CachedList| Arc::ptr_eq(segment, sealed) && *number == journal;
        if let Some((_, _, list)) = lock().iter().find(|entry| is_it(entry)) {
            return Ok(list.clone());
        }
        let list = Arc::new(sealed.list(journal)?);
        let mut lists = lock();
        lists.push_back((sealed.clone(), journal, list.clone()));
        let mut bytes: usize = lists.iter().map(|(_, _, list)| list.encoded.len()).sum();
        while lists.len() > Self::LISTS || bytes > Self::BYTES {
            let Some((_, _, oldest)) = lists.pop_front() else { break };
            bytes -= oldest.encoded.len();
        }
        Ok(list)
    }

    pub(super) fn clear(&self) {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Drops a removed segment, whose file would otherwise stay open.
    pub(super) fn forget(&self, segment: u64) {
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        lists.retain(|(sealed, _, _)| sealed.number != segment);
    }
}
