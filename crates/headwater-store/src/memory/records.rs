//! The records of a journal in memory. Most are deltas of a few bytes, so older ones are packed: many bodies in one buffer,
//! with 8 bytes beside each instead of about a hundred.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

use crate::{Class, Time};

/// Number of records kept unpacked before they are packed.
const UNPACKED: usize = 256;

/// Fewer records than this take no less room in a block.
const LEAST_PACKED: usize = 4;

/// The bytes of bodies in one block, unless one body alone has more.
const BLOCK_BYTES: usize = 256 << 10;

/// Approximate overhead of a block.
const BLOCK_COST: u64 = 128;

/// A record without its sequence number and epoch, which its place implies.
#[derive(Debug, Clone)]
pub(super) struct MemoryRecord {
    pub(super) time: Time,
    pub(super) class: Class,
    pub(super) body: Bytes,
}

/// The records of one journal, in order.
#[derive(Debug, Default)]
pub(super) struct RecordLog {
    blocks: VecDeque<RecordBlock>,
    /// Number of records in blocks.
    packed: usize,
    recent: VecDeque<MemoryRecord>,
    /// The index of the first record: the number of trimmed ones.
    first: u64,
    /// The bytes of the bodies.
    bytes: u64,
}

/// Records whose bodies lie one after the other in one buffer.
#[derive(Debug)]
struct RecordBlock {
    /// The number of its first record.
    first: u64,
    /// The time of its first record.
    time: u64,
    bodies: Bytes,
    entries: Box<[PackedBlock]>,
}

/// One record of a block.
#[derive(Debug, Clone, Copy)]
struct PackedBlock {
    /// Where its body ends.
    end: u32,
    /// Twice the milliseconds since the block's first record, and 1 for a fact.
    late: u32,
}

/// Size of this many records before they are packed.
pub(super) fn cost_of(records: usize, bytes: u64) -> u64 {
    (records * size_of::<MemoryRecord>()) as u64 + bytes
}

impl RecordLog {
    /// The records of a journal whose first ones were trimmed away elsewhere.
    pub(super) fn after(trimmed: u64) -> Self {
        Self { first: trimmed, ..Self::default() }
    }

    pub(super) fn len(&self) -> usize {
        self.packed + self.recent.len()
    }

    pub(super) fn trimmed(&self) -> u64 {
        self.first
    }

    /// The bytes of the bodies.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The total size.
    pub(super) fn cost(&self) -> u64 {
        let blocks = self.blocks.len() as u64 * BLOCK_COST + (self.packed * size_of::<PackedBlock>()) as u64;
        blocks + cost_of(self.recent.len(), self.bytes)
    }

    pub(super) fn push(&mut self, record: MemoryRecord) {
        self.bytes += record.body.len() as u64;
        self.recent.push_back(record);
        if self.recent.len() >= UNPACKED {
            self.pack();
        }
    }

    /// Packs all of them: no more are expected soon.
    pub(super) fn pack(&mut self) {
        if self.recent.len() < LEAST_PACKED {
            return self.recent.shrink_to_fit();
        }
        while let Some(block) = self.next_block() {
            self.packed += block.entries.len();
            self.recent.drain(..block.entries.len());
            self.blocks.push_back(block);
        }
    }

    /// The first unpacked records as a block.
    fn next_block(&self) -> Option<RecordBlock> {
        let time = self.recent.front()?.time.0;
        let (mut entries, mut end) = (Vec::with_capacity(self.recent.len()), 0usize);
        for record in &self.recent {
            // A clock that was set back, or a record that is weeks later, starts another block.
            let late = record.time.0.checked_sub(time).and_then(|late| u32::try_from(late << 1).ok());
            let Some(late) = late else { break };
            let longer = end + record.body.len();
            let Ok(place) = u32::try_from(longer) else { break };
            if longer > BLOCK_BYTES && !entries.is_empty() {
                break;
            }
            end = longer;
            entries.push(PackedBlock { end: place, late: late | u32::from(record.class == Class::Fact) });
        }
        let mut packed = self.recent.iter().take(entries.len());
        let bodies = match (entries.len(), packed.next()) {
            // A large body is not copied.
            (1, Some(record)) => record.body.clone(),
            _ => {
                let mut bodies = BytesMut::with_capacity(end);
                let records = self.recent.iter().take(entries.len());
                records.for_each(|record| bodies.extend_from_slice(&record.body));
                bodies.freeze()
            }
        };
        Some(RecordBlock { first: self.first + self.packed as u64, time, bodies, entries: entries.into() })
    }

    /// Drops this many records from the start.
    pub(super) fn trim(&mut self, count: u64) {
        let mut left = usize::try_from(count).unwrap_or(usize::MAX).min(self.len());
        self.first += left as u64;
        while left > 0 {
            let Some(block) = self.blocks.pop_front() else { break };
            let size = block.entries.len();
            self.bytes -= block.bodies.len() as u64;
            self.packed -= size;
            if size > left {
                let rest = block.without(left);
                self.bytes += rest.bodies.len() as u64;
                self.packed += rest.entries.len();
                self.blocks.push_front(rest);
                left = 0;
            } else {
                left -= size;
            }
        }
        let gone = self.recent.drain(..left);
        self.bytes -= gone.map(|record| record.body.len() as u64).sum::<u64>();
        self.recent.shrink_to(self.recent.len() * 2);
    }

    /// The records after this many.
    pub(super) fn skip(&self, count: usize) -> impl Iterator<Item = MemoryRecord> + '_ {
        let number = self.first + count as u64;
        let at = self.blocks.partition_point(|block| block.first + block.entries.len() as u64 <= number);
        let packed = self.blocks.range(at..).flat_map(move |block| {
            let from = usize::try_from(number.saturating_sub(block.first)).unwrap_or(usize::MAX);
            block.records(from)
        });
        packed.chain(self.recent.iter().skip(count.saturating_sub(self.packed)).cloned())
    }
}

impl RecordBlock {
    fn start_of(&self, at: usize) -> usize {
        at.checked_sub(1).and_then(|before| self.entries.get(before)).map_or(0, |entry| entry.end as usize)
    }

    fn records(&self, from: usize) -> impl Iterator<Item = MemoryRecord> + '_ {
        (from..self.entries.len()).filter_map(|at| {
            let entry = self.entries.get(at)?;
            let class = if entry.late & 1 == 1 { Class::Fact } else { Class::Delta };
            let body = self.bodies.slice(self.start_of(at)..entry.end as usize);
            Some(MemoryRecord { time: Time(self.time + u64::from(entry.late >> 1)), class, body })
        })
    }

    /// The block without its first records.
    fn without(&self, count: usize) -> Self {
        let start = self.start_of(count);
        let rest = self.entries.iter().skip(count);
        let entries =
            rest.map(|entry| PackedBlock { end: entry.end - start as u32, late: entry.late }).collect();
        // Copied, so that the bodies that are gone take no room.
        let bodies = Bytes::copy_from_slice(self.bodies.get(start..).unwrap_or_default());
        Self { first: self.first + count as u64, time: self.time, bodies, entries }
    }
}
