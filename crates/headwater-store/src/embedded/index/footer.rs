//! The footer of a sealed segment: an index that allows reading one journal without the others.

use std::io;

use super::{FrameList, IndexPart, SegmentIndex, ValuePart};
use crate::{
    EpochStart,
    embedded::{
        disk::{read_exact, read_up_to},
        files::File,
        format::{
            ByteInput, COMMIT_HEADER, CommitHeader, placed_sum, put_text, put_time, put_u32, put_u64,
            put_varint,
        },
    },
};

const TRAILER: usize = 32;
const TRAILER_MAGIC: &[u8; 4] = b"HWf\x01";
const ENTRY: usize = 32;

/// The positions of the parts of a footer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::embedded) struct Footer {
    /// End of the commits.
    pub(in crate::embedded) lists: u32,
    directory: u32,
    summary: u32,
    trailer: u32,
    sum: u32,
}

impl Footer {
    /// Encodes the footer of a segment whose commits end at an offset.
    pub(in crate::embedded) fn encode(index: &SegmentIndex, segment: u64, lists: u32) -> (Self, Vec<u8>) {
        let mut out = Vec::new();
        let mut directory = Vec::new();
        let at = |out: &[u8]| lists.saturating_add(u32::try_from(out.len()).unwrap_or(u32::MAX));
        for (number, part) in index.journals.iter().filter(|(_, part)| part.list.frames > 0) {
            put_u64(&mut directory, *number);
            put_u64(&mut directory, part.list.first);
            let list = part.list.encoded();
            let length = u32::try_from(list.len()).unwrap_or(u32::MAX);
            for field in [at(&out), length, part.list.frames, crc32c::crc32c(list)] {
                put_u32(&mut directory, field);
            }
            out.extend_from_slice(list);
        }
        let directory_at = at(&out);
        let mut sum = crc32c::crc32c(&directory);
        out.append(&mut directory);
        let summary_at = at(&out);
        let summary = encode_summary(index);
        sum = crc32c::crc32c_append(sum, &summary);
        out.extend_from_slice(&summary);
        let trailer_at = at(&out);
        let footer = Self { lists, directory: directory_at, summary: summary_at, trailer: trailer_at, sum };
        out.extend_from_slice(&footer.encode_trailer(segment));
        (footer, out)
    }

    fn encode_trailer(&self, segment: u64) -> Vec<u8> {
        let mut fields = Vec::with_capacity(TRAILER);
        for field in [self.lists, self.directory, self.summary, self.trailer, self.sum, 0] {
            put_u32(&mut fields, field);
        }
        let mut out = TRAILER_MAGIC.to_vec();
        put_u32(&mut out, placed_sum(&fields, segment, u64::from(self.trailer)));
        out.extend_from_slice(&fields);
        out
    }

    /// Reads the footer at the end of a segment and its index; `None` if there is no valid one. The lists of
    /// frames stay on disk.
    pub(in crate::embedded) fn read(
        file: &dyn File,
        segment: u64,
    ) -> io::Result<Option<(Self, SegmentIndex)>> {
        let size = file.size()?;
        let Some(at) = size.checked_sub(TRAILER as u64) else { return Ok(None) };
        let bytes = read_up_to(file, at, TRAILER)?;
        let Some(footer) = Self::decode_trailer(&bytes, segment, at) else { return Ok(None) };
        let length = (footer.trailer - footer.directory) as usize;
        let bytes = read_up_to(file, u64::from(footer.directory), length)?;
        if bytes.len() != length || crc32c::crc32c(&bytes) != footer.sum {
            return Ok(None);
        }
        let summary = bytes.get((footer.summary - footer.directory) as usize..).unwrap_or_default();
        Ok(decode_summary(ByteInput(summary)).map(|index| (footer, index)))
    }

    fn decode_trailer(bytes: &[u8], segment: u64, at: u64) -> Option<Self> {
        let mut input = ByteInput(bytes);
        let (magic, sum) = (input.take(4)?, input.u32()?);
        if magic != TRAILER_MAGIC || placed_sum(input.0, segment, at) != sum {
            return None;
        }
        let footer = Self {
            lists: input.u32()?,
            directory: input.u32()?,
            summary: input.u32()?,
            trailer: input.u32()?,
            sum: input.u32()?,
        };
        let ordered = footer.lists <= footer.directory
            && footer.directory <= footer.summary
            && footer.summary <= footer.trailer
            && u64::from(footer.trailer) == at;
        ordered.then_some(footer)
    }

    /// Reads the list of one journal's frames: its first sequence and the encoded list. `Ok(None)` if the
    /// segment has no frames of that journal, [`io::ErrorKind::InvalidData`] if the list is damaged.
    pub(in crate::embedded) fn list(
        &self,
        file: &dyn File,
        journal: u64,
    ) -> io::Result<Option<(u64, Vec<u8>)>> {
        let (mut low, mut high) = (0_u32, (self.summary - self.directory) / ENTRY as u32);
        while low < high {
            let middle = low + (high - low) / 2;
            let entry =
                read_exact(file, u64::from(self.directory) + u64::from(middle) * ENTRY as u64, ENTRY)?;
            let entry = FooterEntry::decode(&entry).ok_or(io::ErrorKind::InvalidData)?;
            match entry.journal.cmp(&journal) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => {
                    if u64::from(entry.offset) + u64::from(entry.length) > u64::from(self.directory) {
                        return Err(io::ErrorKind::InvalidData.into());
                    }
                    let list = read_exact(file, u64::from(entry.offset), entry.length as usize)?;
                    if crc32c::crc32c(&list) != entry.sum {
                        return Err(io::ErrorKind::InvalidData.into());
                    }
                    return Ok(Some((entry.first, list)));
                }
            }
        }
        Ok(None)
    }

    /// Whether the whole footer is intact, with the marker before it. A footer that was not made durable may
    /// be partial.
    pub(in crate::embedded) fn is_whole(&self, file: &dyn File, segment: u64) -> io::Result<bool> {
        let Some(marker) = u64::from(self.lists).checked_sub(COMMIT_HEADER as u64) else { return Ok(false) };
        if CommitHeader::decode(&read_up_to(file, marker, COMMIT_HEADER)?, segment, marker).is_none() {
            return Ok(false);
        }
        let bytes = read_up_to(file, u64::from(self.lists), (self.summary - self.lists) as usize)?;
        let (lists, directory) =
            bytes.split_at_checked((self.directory - self.lists) as usize).unwrap_or_default();
        Ok(directory.chunks(ENTRY).filter_map(FooterEntry::decode).all(|entry| {
            let start = entry.offset.checked_sub(self.lists).map(|start| start as usize);
            let list = start.and_then(|start| lists.get(start..start.checked_add(entry.length as usize)?));
            list.is_some_and(|list| crc32c::crc32c(list) == entry.sum)
        }))
    }

    /// Whether all lists are intact and agree with the scanned frames.
    pub(in crate::embedded) fn lists_agree(&self, file: &dyn File, index: &SegmentIndex) -> bool {
        index.journals.iter().filter(|(_, part)| part.list.frames > 0).all(|(number, part)| {
            matches!(self.list(file, *number), Ok(Some((first, encoded)))
                if first == part.list.first && encoded == part.list.encoded())
        })
    }
}

struct FooterEntry {
    journal: u64,
    first: u64,
    offset: u32,
    length: u32,
    sum: u32,
}

impl FooterEntry {
    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut input = ByteInput(bytes);
        let (journal, first, offset, length) = (input.u64()?, input.u64()?, input.u32()?, input.u32()?);
        let _frames = input.u32()?;
        Some(Self { journal, first, offset, length, sum: input.u32()? })
    }
}

fn encode_summary(index: &SegmentIndex) -> Vec<u8> {
    let mut out = Vec::new();
    put_varint(&mut out, index.journals.len() as u64);
    for (number, part) in &index.journals {
        put_varint(&mut out, *number);
        put_text(&mut out, part.name.as_ref().map_or("", |name| name.as_str()));
        out.push(
            u8::from(part.name.is_some())
                | u8::from(part.deleted) << 1
                | u8::from(part.closed.is_some()) << 2
                | u8::from(part.restoring) << 3,
        );
        put_time(&mut out, part.closed.flatten());
        put_varint(&mut out, part.epochs.len() as u64);
        for start in &part.epochs {
            put_varint(&mut out, start.epoch);
            put_varint(&mut out, start.first);
        }
        let list = &part.list;
        let (bytes, frames) = (list.bytes, u64::from(list.frames));
        for number in [part.released, part.trimmed, part.last, bytes, list.first, list.last, frames] {
            put_varint(&mut out, number);
        }
    }
    put_varint(&mut out, index.values.len() as u64);
    for (key, part) in &index.values {
        put_text(&mut out, key);
        put_varint(&mut out, part.version());
        if let ValuePart::Put { expires, offset, length, .. } = *part {
            put_varint(&mut out, u64::from(length));
            put_varint(&mut out, u64::from(offset));
            put_time(&mut out, expires);
        } else {
            put_varint(&mut out, 0);
        }
    }
    out
}

fn decode_summary(mut input: ByteInput<'_>) -> Option<SegmentIndex> {
    let mut index = SegmentIndex::default();
    for _ in 0..input.varint()? {
        let number = input.varint()?;
        let name = input.text()?;
        let flags = input.u8()?;
        let goes = input.time()?;
        let epochs = (0..input.varint()?)
            .map(|_| Some(EpochStart { epoch: input.varint()?, first: input.varint()? }))
            .collect::<Option<Vec<_>>>()?;
        let part = IndexPart {
            name: (flags & 1 != 0).then(|| name.into()),
            epochs,
            deleted: flags & 2 != 0,
            closed: (flags & 4 != 0).then_some(goes),
            restoring: flags & 8 != 0,
            released: input.varint()?,
            trimmed: input.varint()?,
            last: input.varint()?,
            list: FrameList {
                bytes: input.varint()?,
                first: input.varint()?,
                last: input.varint()?,
                frames: u32::try_from(input.varint()?).ok()?,
                ..FrameList::default()
            },
        };
        index.journals.insert(number, Box::new(part));
    }
    for _ in 0..input.varint()? {
        let key = input.text()?;
        let version = input.varint()?;
        let length = u32::try_from(input.varint()?).ok()?;
        let part = if length == 0 {
            ValuePart::Removed { version }
        } else {
            let offset = u32::try_from(input.varint()?).ok()?;
            ValuePart::Put { version, expires: input.time()?, offset, length }
        };
        index.values.insert(key.into(), part);
    }
    input.0.is_empty().then_some(index)
}
