//! How records are packed into an entry, the unit that an engine stores.
//!
//! ```text
//! version 1 · time of the first record (8 bytes) · records · CRC-32C of all that (4 bytes)
//! record:  varint(zigzag(time − time of the first)) · varint(length × 2 + (1 for a fact)) · body
//! ```
//! Numbers are little-endian. Sequences and epochs are not repeated: the entry knows its first sequence, and the journal
//! where each epoch begins.

use bytes::Bytes;

use super::StoredEntry;
use crate::{
    Class, EpochStart, Error, ErrorKind, JournalId, Record, Result, Time,
    cursor::{put_varint, take_varint},
};

const VERSION: u8 = 1;

/// An entry ends with the record that makes it so long, so that a reader of a few records does not fetch thousands.
const ENTRY_BYTES: usize = 64 << 10;
const ENTRY_RECORDS: usize = 512;

/// Packs records that follow each other. `start` is the bytes of all records before them.
pub(crate) fn pack<'a>(records: impl IntoIterator<Item = &'a Record>, mut start: u64) -> Vec<StoredEntry> {
    let mut entries = Vec::new();
    let mut open: Option<Packing> = None;
    for record in records {
        let packing = open.get_or_insert_with(|| Packing::new(record, start));
        packing.push(record);
        if packing.bytes.len() >= ENTRY_BYTES || packing.records >= ENTRY_RECORDS {
            start += packing.body_bytes;
            entries.extend(open.take().map(Packing::finish));
        }
    }
    entries.extend(open.map(Packing::finish));
    entries
}

struct Packing {
    first: u64,
    last: u64,
    start: u64,
    time: u64,
    records: usize,
    body_bytes: u64,
    bytes: Vec<u8>,
}

impl Packing {
    fn new(first: &Record, start: u64) -> Self {
        let mut bytes = Vec::with_capacity(64 + first.body.len());
        bytes.push(VERSION);
        bytes.extend_from_slice(&first.time.0.to_le_bytes());
        Self {
            first: first.seq,
            last: first.seq,
            start,
            time: first.time.0,
            records: 0,
            body_bytes: 0,
            bytes,
        }
    }

    fn push(&mut self, record: &Record) {
        let passed = record.time.0.wrapping_sub(self.time) as i64;
        put_varint(&mut self.bytes, ((passed << 1) ^ (passed >> 63)) as u64);
        put_varint(&mut self.bytes, (record.body.len() as u64) << 1 | u64::from(record.class == Class::Fact));
        self.bytes.extend_from_slice(&record.body);
        self.last = record.seq;
        self.records += 1;
        self.body_bytes += record.body.len() as u64;
    }

    fn finish(mut self) -> StoredEntry {
        let sum = crc32c::crc32c(&self.bytes);
        self.bytes.extend_from_slice(&sum.to_le_bytes());
        StoredEntry { first: self.first, last: self.last, start: self.start, packed: self.bytes.into() }
    }
}

/// The records of an entry. Their bodies share the entry's memory.
///
/// # Errors
/// [`Corrupt`](ErrorKind::Corrupt) when the bytes are not a packed entry.
pub(crate) fn unpack(journal: &JournalId, entry: &StoredEntry, epochs: &[EpochStart]) -> Result<Vec<Record>> {
    unpack_records(entry, epochs).ok_or_else(|| {
        let message = format!(
            "journal {journal}: the stored records {} to {} are damaged; restore them from a backup of the engine",
            entry.first, entry.last
        );
        Error::new(ErrorKind::Corrupt, message)
    })
}

fn unpack_records(entry: &StoredEntry, epochs: &[EpochStart]) -> Option<Vec<Record>> {
    let (content, sum) = entry.packed.split_last_chunk::<4>()?;
    if crc32c::crc32c(content) != u32::from_le_bytes(*sum) {
        return None;
    }
    let (version, rest) = content.split_first()?;
    let (time, mut rest) = rest.split_first_chunk::<8>()?;
    if *version != VERSION {
        return None;
    }
    let time = u64::from_le_bytes(*time);
    let mut epochs = epochs.iter().peekable();
    let mut epoch = 0;
    let count = usize::try_from((entry.last + 1).checked_sub(entry.first)?).ok()?;
    let mut records = Vec::with_capacity(count.min(content.len()));
    for seq in entry.first..=entry.last {
        while let Some(start) = epochs.next_if(|start| start.first <= seq) {
            epoch = start.epoch;
        }
        let passed = take_varint(&mut rest)?;
        let passed = (passed >> 1) as i64 ^ -((passed & 1) as i64);
        let head = take_varint(&mut rest)?;
        let class = if head & 1 == 1 { Class::Fact } else { Class::Delta };
        let length = usize::try_from(head >> 1).ok()?;
        let (body, after) = rest.split_at_checked(length)?;
        rest = after;
        let body = if body.is_empty() { Bytes::new() } else { entry.packed.slice_ref(body) };
        records.push(Record { seq, epoch, time: Time(time.wrapping_add_signed(passed)), class, body });
    }
    rest.is_empty().then_some(records)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(sizes: &[usize]) -> Vec<Record> {
        let record = |(seq, size): (u64, &usize)| Record {
            seq,
            epoch: if seq < 5 { 7 } else { 9 },
            time: Time(1_000_000 - seq * 3 % 7),
            class: if seq.is_multiple_of(3) { Class::Fact } else { Class::Delta },
            body: vec![seq as u8; *size].into(),
        };
        (3..).zip(sizes).map(record).collect()
    }

    const EPOCHS: [EpochStart; 2] = [EpochStart { epoch: 7, first: 1 }, EpochStart { epoch: 9, first: 5 }];

    #[test]
    fn records_round_trip() {
        let packed = records(&[0, 1, 300, 0, 100_000, 5, 70_000, 1]);
        let entries = pack(&packed, 40);
        assert_eq!(entries.len(), 3);
        assert_eq!(entries.iter().map(|entry| entry.start).collect::<Vec<_>>(), [40, 100_341, 170_346]);
        let unpacked: Vec<Record> = entries
            .iter()
            .flat_map(|entry| unpack(&"run".into(), entry, &EPOCHS).unwrap_or_default())
            .collect();
        assert_eq!(unpacked, packed);
        assert!(pack([], 0).is_empty());
    }

    #[test]
    fn entry_with_many_records_is_split() {
        let packed = records(&[1; ENTRY_RECORDS + 1]);
        let entries = pack(&packed, 0);
        assert_eq!(entries.iter().map(|entry| entry.last).collect::<Vec<_>>(), [514, 515]);
    }

    #[test]
    fn damage_is_found() {
        let entries = pack(&records(&[3, 4]), 0);
        let Some(entry) = entries.first() else { return };
        for at in 0..entry.packed.len() {
            let mut bytes = entry.packed.to_vec();
            bytes[at] ^= 0x10;
            let damaged = StoredEntry { packed: bytes.into(), ..entry.clone() };
            assert!(unpack(&"run".into(), &damaged, &EPOCHS).is_err(), "byte {at}");
        }
        for (first, last) in [(3, 3), (3, 5), (4, 3), (9, 1)] {
            let misplaced = StoredEntry { first, last, ..entry.clone() };
            let error = unpack(&"run".into(), &misplaced, &EPOCHS).map_err(|error| error.kind().clone());
            assert_eq!(error, Err(ErrorKind::Corrupt));
        }
    }
}
