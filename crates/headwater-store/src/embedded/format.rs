//! The parts of `docs/store-format.md` that are not frames: integers, the headers of segments and commits,
//! and file names.

use crate::{Error, ErrorKind, Result};

/// The format version that this code writes, and the only one that it reads.
pub(super) const VERSION: u32 = 4;

pub(super) const SEGMENT_HEADER: usize = 64;
pub(super) const COMMIT_HEADER: usize = 40;

const SEGMENT_MAGIC: &[u8; 8] = b"HWSTORE\n";
pub(super) const COMMIT_MAGIC: &[u8; 4] = b"HWc\x01";

/// The name of a segment's file.
pub(super) fn segment_name(number: u64) -> String {
    format!("{number:016x}.seg")
}

/// The file name of a segment while it is rewritten.
pub(super) fn rewrite_name(number: u64) -> String {
    format!("{number:016x}.seg.new")
}

/// The number in a segment's file name, if it is one.
pub(super) fn segment_number(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".seg").filter(|digits| digits.len() == 16)?;
    u64::from_str_radix(digits, 16).ok().filter(|number| segment_name(*number) == name)
}

/// Counters that never decrease, whatever is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Counters {
    pub(super) epoch: u64,
    pub(super) version: u64,
    pub(super) journal: u64,
}

impl Counters {
    /// Advances the counters beyond everything that damage may have hidden.
    pub(super) fn leap(&mut self) {
        const FAR: u64 = 1_000_000;
        self.epoch += FAR;
        self.version += FAR;
        self.journal += FAR;
    }

    /// Advances the visible counters beyond everything that a process of an earlier generation may have given
    /// out: with fsync `interval` or `never` a power cut may have lost the newest ones.
    pub(super) fn begin(&mut self, generation: u32) {
        let first = u64::from(generation) << 32;
        self.epoch = self.epoch.max(first);
        self.version = self.version.max(first);
    }

    pub(super) fn raise(&mut self, other: &Self) {
        self.epoch = self.epoch.max(other.epoch);
        self.version = self.version.max(other.version);
        self.journal = self.journal.max(other.journal);
    }
}

/// The first bytes of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SegmentHeader {
    pub(super) number: u64,
    pub(super) commit_before: u64,
    pub(super) counters: Counters,
    pub(super) generation: u32,
}

impl SegmentHeader {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(SEGMENT_HEADER);
        out.extend_from_slice(SEGMENT_MAGIC);
        put_u32(&mut out, VERSION);
        let sum = crc32c::crc32c(&out);
        put_u32(&mut out, sum);
        let counters = &self.counters;
        for number in [self.number, self.commit_before, counters.epoch, counters.version, counters.journal] {
            put_u64(&mut out, number);
        }
        put_u32(&mut out, self.generation);
        let sum = crc32c::crc32c(out.get(16..).unwrap_or_default());
        put_u32(&mut out, sum);
        out
    }

    /// Parses a header; `Ok(None)` if it is damaged or missing.
    ///
    /// # Errors
    /// [`ErrorKind::Format`] if a program with another format wrote it.
    pub(super) fn decode(bytes: &[u8], file: &str) -> Result<Option<Self>> {
        let Some(version) = Self::version(bytes) else { return Ok(None) };
        if version != VERSION {
            let message = format!(
                "{file} has format {version} and this program reads format {VERSION}: use the program that wrote it, or \
                 begin a new folder"
            );
            return Err(Error::new(ErrorKind::Format, message));
        }
        Ok(Self::fields(bytes))
    }

    fn version(bytes: &[u8]) -> Option<u32> {
        let mut input = ByteInput(bytes);
        if input.take(8)? != SEGMENT_MAGIC {
            return None;
        }
        let version = input.u32()?;
        (input.u32()? == crc32c::crc32c(bytes.get(..12)?)).then_some(version)
    }

    fn fields(bytes: &[u8]) -> Option<Self> {
        let mut input = ByteInput(bytes.get(16..SEGMENT_HEADER)?);
        let header = Self {
            number: input.u64()?,
            commit_before: input.u64()?,
            counters: Counters { epoch: input.u64()?, version: input.u64()?, journal: input.u64()? },
            generation: input.u32()?,
        };
        (input.u32()? == crc32c::crc32c(bytes.get(16..60)?)).then_some(header)
    }
}

/// The bytes before the frames of one commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CommitHeader {
    pub(super) body: u32,
    pub(super) body_sum: u32,
    pub(super) frames: u32,
    pub(super) generation: u32,
    pub(super) number: u64,
    pub(super) durable: u64,
}

impl CommitHeader {
    /// Writes the header into the space reserved before the frames.
    pub(super) fn encode_into(&self, room: &mut [u8], segment: u64, offset: u64) {
        let mut fields = Vec::with_capacity(COMMIT_HEADER);
        for number in [self.body, self.body_sum, self.frames, self.generation] {
            put_u32(&mut fields, number);
        }
        put_u64(&mut fields, self.number);
        put_u64(&mut fields, self.durable);
        let sum = placed_sum(&fields, segment, offset);
        let whole = COMMIT_MAGIC.iter().chain(&sum.to_le_bytes()).chain(&fields).copied().collect::<Vec<_>>();
        for (to, from) in room.iter_mut().zip(whole) {
            *to = from;
        }
    }

    /// Parses a header at its offset; `None` if there is no valid one.
    pub(super) fn decode(bytes: &[u8], segment: u64, offset: u64) -> Option<Self> {
        let mut input = ByteInput(bytes.get(..COMMIT_HEADER)?);
        if input.take(4)? != COMMIT_MAGIC {
            return None;
        }
        let sum = input.u32()?;
        if placed_sum(input.0, segment, offset) != sum {
            return None;
        }
        Some(Self {
            body: input.u32()?,
            body_sum: input.u32()?,
            frames: input.u32()?,
            generation: input.u32()?,
            number: input.u64()?,
            durable: input.u64()?,
        })
    }
}

/// A checksum that is only valid at one offset of one segment.
pub(super) fn placed_sum(fields: &[u8], segment: u64, offset: u64) -> u32 {
    let sum = crc32c::crc32c(&segment.to_le_bytes());
    let sum = crc32c::crc32c_append(sum, &offset.to_le_bytes());
    crc32c::crc32c_append(sum, fields)
}

pub(super) fn put_u32(out: &mut Vec<u8>, number: u32) {
    out.extend_from_slice(&number.to_le_bytes());
}

pub(super) fn put_u64(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(&number.to_le_bytes());
}

pub(super) fn put_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

pub(super) fn put_text(out: &mut Vec<u8>, text: &str) {
    put_varint(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// An optional time, as 0 or the time plus one.
pub(super) fn put_time(out: &mut Vec<u8>, time: Option<crate::Time>) {
    put_varint(out, time.map_or(0, |time| time.0.saturating_add(1)));
}

/// Bytes that are parsed from the front.
#[derive(Debug, Clone, Copy)]
pub(super) struct ByteInput<'a>(pub(super) &'a [u8]);

impl<'a> ByteInput<'a> {
    pub(super) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    pub(super) fn varint(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            let part = u64::from(byte & 0x7f);
            if shift == 63 && part > 1 {
                return None;
            }
            number |= part << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    pub(super) fn length(&mut self) -> Option<usize> {
        usize::try_from(self.varint()?).ok()
    }

    pub(super) fn text(&mut self) -> Option<&'a str> {
        let length = self.length()?;
        std::str::from_utf8(self.take(length)?).ok()
    }

    pub(super) fn time(&mut self) -> Option<Option<crate::Time>> {
        Some(self.varint()?.checked_sub(1).map(crate::Time))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flipped_bit_in_a_segment_header_is_detected() {
        let header = SegmentHeader {
            number: 7,
            commit_before: 99,
            counters: Counters { epoch: 3, version: 4, journal: 5 },
            generation: 2,
        };
        let bytes = header.encode();
        assert_eq!(bytes.len(), SEGMENT_HEADER);
        assert_eq!(SegmentHeader::decode(&bytes, "f").unwrap(), Some(header));
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(SegmentHeader::decode(&flipped, "f").unwrap(), None, "bit {bit}");
        }
    }

    #[test]
    fn commit_header_is_valid_only_at_its_offset() {
        let header =
            CommitHeader { body: 10, body_sum: 11, frames: 1, generation: 2, number: 12, durable: 11 };
        let mut room = [0; COMMIT_HEADER];
        header.encode_into(&mut room, 3, 64);
        assert_eq!(CommitHeader::decode(&room, 3, 64), Some(header));
        assert_eq!(CommitHeader::decode(&room, 3, 65), None);
        assert_eq!(CommitHeader::decode(&room, 4, 64), None);
        for bit in 0..room.len() * 8 {
            let mut flipped = room;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(CommitHeader::decode(&flipped, 3, 64), None, "bit {bit}");
        }
    }

    #[test]
    fn varints_round_trip_and_overlong_ones_are_refused() {
        for number in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, number);
            assert_eq!(ByteInput(&bytes).varint(), Some(number));
        }
        assert_eq!(ByteInput(&[0xff; 11]).varint(), None);
    }
}
