//! Frames: the units of the log with their own checksum.

use bytes::{Bytes, BytesMut};

use super::format::{ByteInput, put_text, put_time, put_u32, put_varint};
use crate::{Class, Record, Time};

/// The bytes before a frame's payload: checksum and length.
pub(super) const FRAME_HEADER: usize = 8;

const RECORDS: u8 = 1;
const CLAIMED: u8 = 2;
const RELEASED: u8 = 3;
const CLOSED: u8 = 4;
const TRIMMED: u8 = 5;
const DELETED: u8 = 6;
const PUT: u8 = 7;
const REMOVED: u8 = 8;
const RESTORING: u8 = 9;

/// The content of a frame. It borrows from the bytes that it was parsed from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LogFrame<'a> {
    Records(RecordsFrame<'a>),
    Claimed {
        journal: u64,
        name: &'a str,
        epoch: u64,
        first: u64,
    },
    Released {
        journal: u64,
        epoch: u64,
        last: u64,
    },
    Closed {
        journal: u64,
        goes: Option<Time>,
        last: u64,
    },
    Trimmed {
        journal: u64,
        before: u64,
    },
    Deleted {
        journal: u64,
    },
    Put {
        key: &'a str,
        version: u64,
        expires: Option<Time>,
        bytes: &'a [u8],
    },
    Removed {
        key: &'a str,
        version: u64,
    },
    /// Records of the journal follow that do not count before it is claimed.
    Restoring {
        journal: u64,
        name: &'a str,
    },
}

/// Consecutive records of one journal and epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RecordsFrame<'a> {
    pub(super) journal: u64,
    pub(super) epoch: u64,
    pub(super) first: u64,
    pub(super) count: u64,
    time: u64,
    /// The records, one after the other.
    rest: &'a [u8],
}

/// The first number of a record in its frame: the count of body bytes that follow, combined with these flags.
const FACT: u64 = 1;
/// The milliseconds since the record before it follow.
const LATER: u64 = 2;
/// The length of the prefix shared with the previous body follows; otherwise it is unchanged.
const OTHER_PREFIX: u64 = 4;
const FLAG_BITS: u32 = 3;

/// Consecutive bodies usually start with the same few bytes, which are written once. Longer prefixes are not
/// searched for: the rest of a body is rarely equal.
const MAX_PREFIX: usize = 16;

/// The head of a record, read before its body is assembled.
struct RecordHead {
    fact: bool,
    later: u64,
    prefix: usize,
    length: usize,
}

impl RecordHead {
    /// Reads the head of the next record, after one with a shared prefix of this length.
    fn decode(input: &mut ByteInput<'_>, prefix: usize) -> Option<Self> {
        let head = input.varint()?;
        let later = if head & LATER == 0 { 0 } else { input.varint()? };
        let prefix = if head & OTHER_PREFIX == 0 { prefix } else { usize::try_from(input.varint()?).ok()? };
        if prefix > MAX_PREFIX {
            return None;
        }
        let length = usize::try_from(head >> FLAG_BITS).ok()?;
        Some(Self { fact: head & FACT != 0, later, prefix, length })
    }
}

/// One record to be encoded.
#[derive(Debug, Clone)]
pub(super) struct RecordEntry {
    pub(super) epoch: u64,
    pub(super) time: Time,
    pub(super) class: Class,
    pub(super) body: Bytes,
}

impl RecordsFrame<'_> {
    /// The records. Their bodies share one buffer.
    pub(super) fn decode(&self) -> Option<Vec<Record>> {
        let mut records = Vec::with_capacity(usize::try_from(self.count).ok()?.min(self.rest.len()));
        // A damaged frame does not come this far, so the sum is not out of proportion.
        let mut bodies = BytesMut::with_capacity(usize::try_from(self.body_bytes()?).ok()?);
        let mut ends = Vec::with_capacity(records.capacity());
        let mut input = ByteInput(self.rest);
        let (mut time, mut prefix, mut start) = (self.time, 0, 0);
        for seq in (self.first..).take(usize::try_from(self.count).ok()?) {
            let head = RecordHead::decode(&mut input, prefix)?;
            (time, prefix) = (time.checked_add(head.later)?, head.prefix);
            if prefix > bodies.len() - start {
                return None;
            }
            let end = bodies.len();
            bodies.extend_from_within(start..start + prefix);
            bodies.extend_from_slice(input.take(head.length)?);
            ends.push(bodies.len());
            start = end;
            let class = if head.fact { Class::Fact } else { Class::Delta };
            records.push(Record { seq, epoch: self.epoch, time: Time(time), class, body: Bytes::new() });
        }
        let bodies = bodies.freeze();
        let mut start = 0;
        for (record, end) in records.iter_mut().zip(ends) {
            record.body = bodies.slice(start..end);
            start = end;
        }
        input.0.is_empty().then_some(records)
    }

    /// The bytes of all bodies.
    pub(super) fn body_bytes(&self) -> Option<u64> {
        self.body_bytes_from(0)
    }

    /// The bytes of the bodies from the n-th on.
    pub(super) fn body_bytes_from(&self, skip: u64) -> Option<u64> {
        let mut input = ByteInput(self.rest);
        let (mut sum, mut prefix) = (0_u64, 0);
        for at in 0..self.count {
            let head = RecordHead::decode(&mut input, prefix)?;
            prefix = head.prefix;
            input.take(head.length)?;
            if at >= skip {
                sum = sum.checked_add((prefix + head.length) as u64)?;
            }
        }
        Some(sum)
    }
}

impl<'a> LogFrame<'a> {
    /// Parses the frame at the front and returns it with its length; `None` if it is damaged.
    pub(super) fn decode(bytes: &'a [u8]) -> Option<(Self, usize)> {
        let length = frame_length(bytes)?;
        let sum = ByteInput(bytes).u32()?;
        if crc32c::crc32c(bytes.get(4..length)?) != sum {
            return None;
        }
        let frame = Self::payload(ByteInput(bytes.get(FRAME_HEADER..length)?))?;
        Some((frame, length))
    }

    fn payload(mut input: ByteInput<'a>) -> Option<Self> {
        let kind = input.u8()?;
        let frame = match kind {
            RECORDS => {
                let (journal, epoch, first) = (input.varint()?, input.varint()?, input.varint()?);
                let (time, count) = (input.varint()?, input.varint()?);
                let rest = input.take(input.0.len())?;
                Self::Records(RecordsFrame { journal, epoch, first, count, time, rest })
            }
            CLAIMED => Self::Claimed {
                journal: input.varint()?,
                name: input.text()?,
                epoch: input.varint()?,
                first: input.varint()?,
            },
            RELEASED => {
                Self::Released { journal: input.varint()?, epoch: input.varint()?, last: input.varint()? }
            }
            CLOSED => Self::Closed { journal: input.varint()?, goes: input.time()?, last: input.varint()? },
            TRIMMED => Self::Trimmed { journal: input.varint()?, before: input.varint()? },
            DELETED => Self::Deleted { journal: input.varint()? },
            PUT => Self::Put {
                key: input.text()?,
                version: input.varint()?,
                expires: input.time()?,
                bytes: input.take(input.0.len())?,
            },
            REMOVED => Self::Removed { key: input.text()?, version: input.varint()? },
            RESTORING => Self::Restoring { journal: input.varint()?, name: input.text()? },
            _ => return None,
        };
        input.0.is_empty().then_some(frame)
    }

    /// Appends the frame. Records are written by [`encode_records`].
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        let start = begin(out);
        match *self {
            Self::Records(RecordsFrame { journal, epoch, first, count, time, rest }) => {
                out.push(RECORDS);
                for number in [journal, epoch, first, time, count] {
                    put_varint(out, number);
                }
                out.extend_from_slice(rest);
            }
            Self::Claimed { journal, name, epoch, first } => {
                out.push(CLAIMED);
                put_varint(out, journal);
                put_text(out, name);
                put_varint(out, epoch);
                put_varint(out, first);
            }
            Self::Released { journal, epoch, last } => {
                out.push(RELEASED);
                put_varint(out, journal);
                put_varint(out, epoch);
                put_varint(out, last);
            }
            Self::Closed { journal, goes, last } => {
                out.push(CLOSED);
                put_varint(out, journal);
                put_time(out, goes);
                put_varint(out, last);
            }
            Self::Trimmed { journal, before } => {
                out.push(TRIMMED);
                put_varint(out, journal);
                put_varint(out, before);
            }
            Self::Deleted { journal } => {
                out.push(DELETED);
                put_varint(out, journal);
            }
            Self::Put { key, version, expires, bytes } => {
                out.push(PUT);
                put_text(out, key);
                put_varint(out, version);
                put_time(out, expires);
                out.extend_from_slice(bytes);
            }
            Self::Removed { key, version } => {
                out.push(REMOVED);
                put_text(out, key);
                put_varint(out, version);
            }
            Self::Restoring { journal, name } => {
                out.push(RESTORING);
                put_varint(out, journal);
                put_text(out, name);
            }
        }
        finish(out, start);
    }

    /// The apparent content of a frame, even if its checksum is wrong.
    pub(super) fn guess(bytes: &'a [u8]) -> Option<Self> {
        Self::payload(ByteInput(bytes.get(FRAME_HEADER..)?))
    }

    /// The journal of the frame, if it has one.
    pub(super) fn journal(&self) -> Option<u64> {
        match *self {
            Self::Records(RecordsFrame { journal, .. })
            | Self::Claimed { journal, .. }
            | Self::Released { journal, .. }
            | Self::Closed { journal, .. }
            | Self::Trimmed { journal, .. }
            | Self::Deleted { journal }
            | Self::Restoring { journal, .. } => Some(journal),
            Self::Put { .. } | Self::Removed { .. } => None,
        }
    }
}

/// Appends a frame of records of one epoch, the first with the sequence `first`. Returns the bytes of all
/// bodies.
pub(super) fn encode_records<'e>(
    out: &mut Vec<u8>,
    journal: u64,
    first: u64,
    entries: impl ExactSizeIterator<Item = &'e RecordEntry> + Clone,
) -> u64 {
    let Some(head) = entries.clone().next() else { return 0 };
    let start = begin(out);
    out.push(RECORDS);
    let count = entries.len() as u64;
    for number in [journal, head.epoch, first, head.time.0, count] {
        put_varint(out, number);
    }
    let (mut time, mut before, mut prefix) = (head.time.0, &Bytes::new(), 0);
    let mut bytes = 0;
    for entry in entries {
        let later = entry.time.0.saturating_sub(time);
        // A clock that was set back must not give a record an earlier time than its predecessor.
        time = time.max(entry.time.0);
        let common = before.iter().zip(&entry.body).take(MAX_PREFIX).take_while(|(a, b)| a == b).count();
        // A shortened prefix stays short: encoding an accidental longer match would cost more than it saves.
        let now = if prefix > 0 && common >= prefix {
            prefix
        } else if common > 1 {
            common
        } else {
            0
        };
        let rest = entry.body.get(now..).unwrap_or_default();
        let fact = if entry.class == Class::Fact { FACT } else { 0 };
        let flags = fact | if later > 0 { LATER } else { 0 } | if now != prefix { OTHER_PREFIX } else { 0 };
        put_varint(out, (rest.len() as u64) << FLAG_BITS | flags);
        if later > 0 {
            put_varint(out, later);
        }
        if now != prefix {
            put_varint(out, now as u64);
        }
        out.extend_from_slice(rest);
        (before, prefix) = (&entry.body, now);
        bytes += entry.body.len() as u64;
    }
    finish(out, start);
    bytes
}

/// The length of the frame at the front, from its header. Not trustworthy before the checksum is verified.
pub(super) fn frame_length(bytes: &[u8]) -> Option<usize> {
    let payload = usize::try_from(ByteInput(bytes.get(4..)?).u32()?).ok()?;
    payload.checked_add(FRAME_HEADER).filter(|length| *length <= bytes.len())
}

fn begin(out: &mut Vec<u8>) -> usize {
    let start = out.len();
    put_u32(out, 0);
    put_u32(out, 0);
    start
}

fn finish(out: &mut [u8], start: usize) {
    // Frames are bounded by the size of a commit, far below four gigabytes.
    let length = u32::try_from(out.len() - start - FRAME_HEADER).unwrap_or(u32::MAX);
    if let Some(room) = out.get_mut(start + 4..start + 8) {
        room.copy_from_slice(&length.to_le_bytes());
    }
    let sum = crc32c::crc32c(out.get(start + 4..).unwrap_or_default());
    if let Some(room) = out.get_mut(start..start + 4) {
        room.copy_from_slice(&sum.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_round_trip() {
        let frames = [
            LogFrame::Claimed { journal: 1, name: "run", epoch: 300, first: 1 },
            LogFrame::Released { journal: 1, epoch: 300, last: 7 },
            LogFrame::Closed { journal: 1, goes: None, last: 0 },
            LogFrame::Closed { journal: 1, goes: Some(Time(0)), last: 300 },
            LogFrame::Trimmed { journal: 1, before: 9 },
            LogFrame::Deleted { journal: u64::MAX },
            LogFrame::Put { key: "a/b", version: 7, expires: Some(Time(8)), bytes: b"xyz" },
            LogFrame::Put { key: "", version: 7, expires: None, bytes: b"" },
            LogFrame::Removed { key: "a/b", version: 8 },
            LogFrame::Restoring { journal: 2, name: "run" },
        ];
        let mut out = Vec::new();
        frames.iter().for_each(|frame| frame.encode(&mut out));
        let mut rest = &out[..];
        for frame in frames {
            let (read, length) = LogFrame::decode(rest).unwrap();
            assert_eq!(read, frame);
            rest = &rest[length..];
        }
        assert!(rest.is_empty());
    }

    fn some_records() -> Vec<RecordEntry> {
        let entry = |time, class, body| RecordEntry { epoch: 5, time: Time(time), class, body };
        vec![
            entry(1_000, Class::Delta, Bytes::from_static(b"one")),
            entry(1_000, Class::Fact, Bytes::new()),
            entry(1_250, Class::Delta, Bytes::from_static(b"three")),
        ]
    }

    #[test]
    fn records_round_trip_with_times_and_classes() {
        let entries = some_records();
        let mut out = Vec::new();
        assert_eq!(encode_records(&mut out, 9, 41, entries.iter()), 8);
        let whole = Bytes::from(out);
        let (LogFrame::Records(records), length) = LogFrame::decode(&whole).unwrap() else { panic!() };
        assert_eq!(length, whole.len());
        assert_eq!((records.body_bytes(), records.body_bytes_from(1)), (Some(8), Some(5)));
        let read = records.decode().unwrap();
        assert_eq!(read.iter().map(|record| record.seq).collect::<Vec<_>>(), [41, 42, 43]);
        for (record, entry) in read.iter().zip(&entries) {
            assert_eq!(
                (record.epoch, record.time, record.class, &record.body),
                (entry.epoch, entry.time, entry.class, &entry.body)
            );
        }
    }

    #[test]
    fn beginning_that_bodies_have_in_common_is_written_once() {
        let bodies = [
            "one",
            "%\u{1}Hello ",
            "%\u{1}world ",
            "%\u{1}",
            "%\u{1}!",
            "{}",
            "",
            "%\u{1}World",
            "%\u{1}World",
        ];
        let entry = |body: &'static str| RecordEntry {
            epoch: 5,
            time: Time(1_000),
            class: Class::Delta,
            body: Bytes::from_static(body.as_bytes()),
        };
        let entries: Vec<_> = bodies.into_iter().map(entry).collect();
        let mut out = Vec::new();
        let bytes = encode_records(&mut out, 9, 1, entries.iter());
        assert_eq!(bytes, bodies.iter().map(|body| body.len() as u64).sum::<u64>());
        let (LogFrame::Records(records), _) = LogFrame::decode(&out).unwrap() else { panic!() };
        assert_eq!(records.body_bytes(), Some(bytes));
        let read: Vec<_> = records.decode().unwrap().into_iter().map(|record| record.body).collect();
        assert_eq!(read, bodies);
    }

    #[test]
    fn delta_of_nine_bytes_takes_ten() {
        let delta = |number: u8| RecordEntry {
            epoch: 5,
            time: Time(1_000),
            class: Class::Delta,
            body: Bytes::from([&b"%\x81\x01"[..], &[b'a' + number % 26], b"ine byte"].concat()),
        };
        let deltas: Vec<_> = (0..250).map(delta).collect();
        let mut out = Vec::new();
        encode_records(&mut out, 9, 1, deltas.iter());
        assert!((2_500..2_540).contains(&out.len()), "{}", out.len());
    }

    #[test]
    fn prefix_longer_than_the_body_before_is_refused() {
        for (rest, count) in [(&[4, 1][..], 1), (&[1 << 3, b'x', 4, 2], 2), (&[1 << 3, b'x', 4, 17], 2)] {
            let frame = RecordsFrame { journal: 1, epoch: 1, first: 1, count, time: 0, rest };
            assert_eq!(frame.decode(), None, "{rest:?}");
        }
    }

    #[test]
    fn flipped_bit_in_a_frame_is_detected() {
        let mut out = Vec::new();
        encode_records(&mut out, 9, 41, some_records().iter());
        for bit in 0..out.len() * 8 {
            let mut flipped = out.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(LogFrame::decode(&flipped).is_none(), "bit {bit}");
        }
    }
}
