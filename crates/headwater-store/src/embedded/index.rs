//! The index of a segment: built while it is written or scanned, and stored as the footer of a sealed one.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    format::{ByteInput, put_varint},
    frame::{LogFrame, RecordsFrame},
};
use crate::{EpochStart, JournalId, Time};

pub(super) mod footer;

/// The contents of one segment per journal and value.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SegmentIndex {
    /// Boxed, which keeps the keys close together: a commit looks up as many journals as it has frames.
    pub(super) journals: BTreeMap<u64, Box<IndexPart>>,
    pub(super) values: BTreeMap<Arc<str>, ValuePart>,
}

/// The contents of one segment for one journal.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct IndexPart {
    pub(super) name: Option<JournalId>,
    pub(super) epochs: Vec<EpochStart>,
    /// The newest released epoch, or 0.
    pub(super) released: u64,
    /// Whether it was closed, and its expiry time.
    pub(super) closed: Option<Option<Time>>,
    /// The first sequence that is kept, or 0.
    pub(super) trimmed: u64,
    pub(super) deleted: bool,
    /// Whether it was being restored: without an epoch its records do not count.
    pub(super) restoring: bool,
    /// A sequence that the journal had reached, or 0: if its record is missing, the end of the journal is
    /// lost.
    pub(super) last: u64,
    pub(super) list: FrameList,
}

impl IndexPart {
    /// Whether it reveals the extent of the journal. A trim does not: it contains only the new start.
    pub(super) fn shows_extent(&self) -> bool {
        *self != Self { trimmed: self.trimmed, ..Self::default() }
    }
}

/// The newest entry for a value in one segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValuePart {
    Put { version: u64, expires: Option<Time>, offset: u32, length: u32 },
    Removed { version: u64 },
}

impl ValuePart {
    pub(super) fn version(&self) -> u64 {
        match *self {
            Self::Put { version, .. } | Self::Removed { version } => version,
        }
    }
}

/// The positions of one journal's records within a segment, in a few bytes per frame.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FrameList {
    /// The first sequence; 0 if empty.
    pub(super) first: u64,
    pub(super) last: u64,
    /// The bytes of all bodies.
    pub(super) bytes: u64,
    pub(super) frames: u32,
    offset: u32,
    encoded: Vec<u8>,
    /// Entry points for reading the list, one for every [`MARK_EVERY`] frames.
    marks: Vec<Mark>,
}

/// An entry point of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mark {
    /// The first sequence of the frame there.
    first: u64,
    /// The offset in the encoded list.
    at: u32,
    /// The base of its relative numbers.
    offset: u32,
    next: u64,
}

/// The number of frames per mark.
const MARK_EVERY: u32 = 256;

/// The position of one frame of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FrameAt {
    pub(super) offset: u32,
    pub(super) first: u64,
    pub(super) count: u64,
    /// The bytes of its bodies.
    pub(super) bytes: u64,
}

impl FrameAt {
    pub(super) fn last(&self) -> u64 {
        self.first + self.count.saturating_sub(1)
    }

    /// An upper bound of the frame's length, however its numbers are encoded.
    pub(super) fn room(&self) -> u64 {
        self.bytes + 64 + 24 * self.count
    }
}

impl FrameList {
    /// Adds a frame at the end. One whose records are already listed is skipped.
    pub(super) fn push(&mut self, frame: FrameAt) {
        if frame.count == 0 || (self.frames > 0 && frame.first <= self.last) || frame.offset < self.offset {
            return;
        }
        let expected = if self.frames == 0 { frame.first } else { self.last + 1 };
        if self.frames == 0 {
            self.first = frame.first;
        }
        if self.frames > 0 && self.frames.is_multiple_of(MARK_EVERY) {
            let at = u32::try_from(self.encoded.len()).unwrap_or(u32::MAX);
            self.marks.push(Mark { first: frame.first, at, offset: self.offset, next: expected });
        }
        let numbers =
            [u64::from(frame.offset - self.offset), frame.first - expected, frame.count, frame.bytes];
        numbers.iter().for_each(|number| put_varint(&mut self.encoded, *number));
        self.offset = frame.offset;
        self.last = frame.last();
        self.bytes += frame.bytes;
        self.frames += 1;
    }

    pub(super) fn iter(&self) -> Frames<'_> {
        Frames::new(self.first, &self.encoded)
    }

    /// The frames from the one with a sequence on, possibly with some before it.
    pub(super) fn iter_near(&self, seq: u64) -> Frames<'_> {
        let after = self.marks.partition_point(|mark| mark.first <= seq);
        match after.checked_sub(1).and_then(|at| self.marks.get(at)) {
            None => self.iter(),
            Some(mark) => Frames {
                offset: mark.offset,
                next: mark.next,
                input: ByteInput(self.encoded.get(mark.at as usize..).unwrap_or_default()),
            },
        }
    }

    pub(super) fn encoded(&self) -> &[u8] {
        &self.encoded
    }
}

/// Iterates over an encoded list of frames.
#[derive(Debug, Clone)]
pub(super) struct Frames<'a> {
    offset: u32,
    next: u64,
    input: ByteInput<'a>,
}

impl<'a> Frames<'a> {
    pub(super) fn new(first: u64, encoded: &'a [u8]) -> Self {
        Self { offset: 0, next: first, input: ByteInput(encoded) }
    }
}

impl Iterator for Frames<'_> {
    type Item = FrameAt;

    fn next(&mut self) -> Option<FrameAt> {
        let offset = self.offset.checked_add(u32::try_from(self.input.varint()?).ok()?)?;
        let first = self.next.checked_add(self.input.varint()?)?;
        let (count, bytes) = (self.input.varint()?, self.input.varint()?);
        self.offset = offset;
        self.next = first.checked_add(count)?;
        Some(FrameAt { offset, first, count, bytes })
    }
}

impl SegmentIndex {
    /// Adds the content of a frame at an offset of the segment's file.
    pub(super) fn add(&mut self, frame: &LogFrame<'_>, offset: u32, length: u32) {
        match *frame {
            LogFrame::Records(records) => {
                let bytes = records.body_bytes().unwrap_or_default();
                let at = FrameAt { offset, first: records.first, count: records.count, bytes };
                self.journal(records.journal).list.push(at);
            }
            LogFrame::Claimed { journal, name, epoch, first } => {
                let part = self.journal(journal);
                part.name = Some(name.into());
                if !part.epochs.iter().any(|start| start.epoch == epoch) {
                    // Most segments see one epoch of a journal, and there may be very many journals.
                    part.epochs.reserve_exact(1);
                    part.epochs.push(EpochStart { epoch, first });
                }
            }
            LogFrame::Released { journal, epoch, last } => {
                let part = self.journal(journal);
                part.released = part.released.max(epoch);
                part.last = part.last.max(last);
            }
            LogFrame::Closed { journal, goes, last } => {
                let part = self.journal(journal);
                part.closed = Some(goes);
                part.last = part.last.max(last);
            }
            LogFrame::Trimmed { journal, before } => {
                let part = self.journal(journal);
                part.trimmed = part.trimmed.max(before);
            }
            LogFrame::Deleted { journal } => self.journal(journal).deleted = true,
            LogFrame::Restoring { journal, name } => {
                let part = self.journal(journal);
                part.name = Some(name.into());
                part.restoring = true;
            }
            LogFrame::Put { key, version, expires, .. } => {
                self.value(key, ValuePart::Put { version, expires, offset, length });
            }
            LogFrame::Removed { key, version } => self.value(key, ValuePart::Removed { version }),
        }
    }

    /// Whether the records of a damaged frame are the next ones of the journal that it names: then the name
    /// is right, because no other journal has that epoch.
    pub(super) fn goes_on_with(&self, records: &RecordsFrame<'_>) -> bool {
        self.journals.get(&records.journal).is_some_and(|part| {
            let has_epoch = part.epochs.last().is_some_and(|start| start.epoch == records.epoch);
            has_epoch && (part.list.frames == 0 || part.list.last + 1 == records.first)
        })
    }

    /// Whether it has deletions.
    pub(super) fn has_tombstones(&self) -> bool {
        self.journals.values().any(|part| part.deleted)
            || self.values.values().any(|part| matches!(part, ValuePart::Removed { .. }))
    }

    pub(super) fn journal(&mut self, number: u64) -> &mut IndexPart {
        self.journals.entry(number).or_default()
    }

    fn value(&mut self, key: &str, part: ValuePart) {
        match self.values.get_mut(key) {
            Some(known) if known.version() >= part.version() => {}
            Some(known) => *known = part,
            None => {
                self.values.insert(key.into(), part);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frame_list_round_trips_and_shows_a_gap() {
        let frames = [
            FrameAt { offset: 100, first: 5, count: 3, bytes: 30 },
            FrameAt { offset: 900, first: 8, count: 1, bytes: 10 },
            FrameAt { offset: 1_000, first: 20, count: 2, bytes: 0 },
        ];
        let mut list = FrameList::default();
        frames.iter().for_each(|frame| list.push(*frame));
        list.push(frames[1]);
        assert_eq!(list.iter().collect::<Vec<_>>(), frames);
        assert_eq!((list.first, list.last, list.bytes, list.frames), (5, 21, 40, 3));
    }

    #[test]
    fn long_frame_list_can_be_read_from_the_middle() {
        let mut list = FrameList::default();
        for n in 0..2_000_u32 {
            let gap = u64::from(n) * 3 + u64::from(n / 700);
            list.push(FrameAt { offset: 64 + n * 100, first: 1 + gap, count: 3, bytes: 7 });
        }
        let all: Vec<_> = list.iter().collect();
        for seq in [0, 1, 767, 768, 769, 770, 3_000, 6_000, 9_000] {
            let near: Vec<_> = list.iter_near(seq).skip_while(|frame| frame.last() < seq).collect();
            let expected: Vec<_> = all.iter().copied().skip_while(|frame| frame.last() < seq).collect();
            assert_eq!(near, expected, "from {seq}");
        }
    }
}
