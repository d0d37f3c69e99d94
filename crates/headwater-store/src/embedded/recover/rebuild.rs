//! Merges the contents of all segments. The result does not depend on which of them were rewritten.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use super::{counters_of, damage};
use crate::{
    EpochStart, JournalId, Time,
    embedded::{
        Damage,
        core::Core,
        format::{Counters, SegmentHeader, segment_name},
        index::{SegmentIndex, ValuePart},
        journal::{EmbeddedJournal, JournalPiece},
        scan::{SegmentFault, Suspects},
        segment::SealedSegment,
        values::StoredValue,
    },
};

/// The state found so far.
#[derive(Debug, Default)]
pub(in crate::embedded) struct Rebuild {
    pub(in crate::embedded) counters: Counters,
    pub(in crate::embedded) generation: u32,
    pub(in crate::embedded) sealed: Vec<SealedSegment>,
    pub(in crate::embedded) core_stale: Vec<u64>,
    journals: BTreeMap<u64, FoundJournal>,
    values: HashMap<Arc<str>, (ValuePart, u64)>,
    /// Damage, with the journal's number if known.
    damages: Vec<(Damage, Option<u64>)>,
    leapt: bool,
    pub(in crate::embedded) suspects: Suspects,
}

#[derive(Debug, Default)]
struct FoundJournal {
    name: Option<JournalId>,
    epochs: Vec<EpochStart>,
    released: u64,
    closed: Option<Option<Time>>,
    trimmed: u64,
    deleted: bool,
    restoring: bool,
    /// A sequence that it had reached.
    last: u64,
    /// Pieces with their last sequence.
    pieces: Vec<(JournalPiece, u64)>,
    segments: Vec<u64>,
}

impl Rebuild {
    pub(in crate::embedded) fn header(&mut self, header: Option<&SegmentHeader>) {
        if let Some(header) = header {
            self.counters.raise(&header.counters);
            self.generation = self.generation.max(header.generation);
        }
    }

    pub(in crate::embedded) fn faults(&mut self, segment: u64, faults: &[SegmentFault]) {
        self.damages.extend(faults.iter().map(|fault| (damage(segment, fault), fault.journal)));
    }

    /// Adds the contents of a segment. Segments come in order.
    pub(in crate::embedded) fn apply(&mut self, segment: u64, index: &SegmentIndex) {
        self.counters.raise(&counters_of(index));
        for (number, part) in &index.journals {
            let found = self.journals.entry(*number).or_default();
            if found.name.is_none() {
                found.name.clone_from(&part.name);
            }
            found.epochs.extend_from_slice(&part.epochs);
            found.released = found.released.max(part.released);
            found.closed = found.closed.or(part.closed);
            found.trimmed = found.trimmed.max(part.trimmed);
            found.deleted |= part.deleted;
            found.restoring |= part.restoring;
            found.last = found.last.max(part.last);
            if part.shows_extent() {
                self.suspects.clear(*number);
            }
            found.segments.push(segment);
            if part.list.frames > 0 {
                let piece = JournalPiece { segment, first: part.list.first, bytes: part.list.bytes };
                found.pieces.push((piece, part.list.last));
            }
        }
        for (key, part) in &index.values {
            match self.values.get_mut(key) {
                Some((known, at)) if known.version() < part.version() => {
                    self.core_stale.push(*at);
                    (*known, *at) = (*part, segment);
                }
                Some(_) => self.core_stale.push(segment),
                None => {
                    self.values.insert(key.clone(), (*part, segment));
                }
            }
        }
    }

    pub(in crate::embedded) fn leap_if_damaged(&mut self) {
        if !self.damages.is_empty() && !self.leapt {
            self.leapt = true;
            self.counters.leap();
        }
    }

    /// Fills a core.
    pub(in crate::embedded) fn finish(mut self, mut core: Core) -> Core {
        core.sealed = std::mem::take(&mut self.sealed)
            .into_iter()
            .map(|sealed| (sealed.number, Arc::new(sealed)))
            .collect();
        let mut unfinished = Vec::new();
        for (number, found) in std::mem::take(&mut self.journals) {
            if found.deleted {
                self.core_stale.extend(&found.segments);
            } else if found.restoring && found.epochs.is_empty() {
                unfinished.push((number, found));
            } else {
                self.add_journal(number, found, &mut core);
            }
        }
        // Last, when all damage is known.
        for (number, found) in unfinished {
            self.add_unfinished(number, found, &mut core);
        }
        for (key, (part, segment)) in std::mem::take(&mut self.values) {
            if let ValuePart::Put { version, expires, offset, length } = part {
                core.values.put(&key, StoredValue { version, expires, segment, offset, length }, None);
            }
        }
        self.leap_if_damaged();
        core.counters = self.counters;
        core.stale_segments =
            self.core_stale.iter().copied().filter(|segment| core.sealed.contains_key(segment)).collect();
        let name = |number: &u64| core.journals.get(number).map(|journal| journal.name.clone());
        core.damages = self
            .damages
            .into_iter()
            .map(|(damage, number)| Damage { journal: damage.journal.or_else(|| name(&number?)), ..damage })
            .collect();
        core
    }

    fn add_journal(&mut self, number: u64, mut found: FoundJournal, core: &mut Core) {
        let since = found.segments.first().copied().unwrap_or_default();
        let name = found.name.clone();
        found.epochs.sort_unstable_by_key(|start| start.epoch);
        found.epochs.dedup_by_key(|start| start.epoch);
        let (Some(name), Some(newest)) = (name, found.epochs.last().copied()) else {
            let what = format!("journal number {number} has lost its beginning");
            self.lost(since, what, found.name);
            return;
        };
        let mut journal = EmbeddedJournal::new(name.clone(), since);
        journal.first = found.trimmed.max(1);
        let mut next = journal.first;
        found.pieces.sort_unstable_by_key(|(piece, _)| piece.first);
        for (mut piece, last) in found.pieces {
            if last < next {
                self.core_stale.push(piece.segment);
                continue;
            }
            if piece.first > next {
                let what = format!("records {next} to {} are missing before this segment", piece.first - 1);
                self.lost(piece.segment, what, Some(name.clone()));
            } else if piece.first < next {
                self.core_stale.push(piece.segment);
                if let Ok(Some((first, bytes))) = core.bytes_from(number, piece.segment, next) {
                    piece = JournalPiece { segment: piece.segment, first, bytes };
                }
            }
            journal.bytes += piece.bytes;
            journal.pieces.push(piece);
            next = last + 1;
        }
        let segment = found.segments.last().copied().unwrap_or_default();
        let end = newest.first.max(found.last + 1);
        if end > next {
            let what = format!("records {next} to {} are missing", end - 1);
            self.lost(segment, what, Some(name.clone()));
            next = end;
        }
        // A closed or released journal has recorded its end.
        let is_driven = found.closed.is_none() && found.released < newest.epoch;
        if is_driven && self.suspects.contains(number) {
            let what = format!("record {next} and those after it may be missing");
            self.lost(segment, what, Some(name.clone()));
            next += 1;
            // Record it in the segment too, so that it is known after sealing.
            core.active.index.journal(number).last = next - 1;
        }
        journal.last = next - 1;
        (journal.visible, journal.taken, journal.durable) = (journal.last, journal.last, journal.last);
        journal.released = found.released >= newest.epoch;
        journal.closed = found.closed;
        journal.epochs = found.epochs;
        journal.epochs.shrink_to_fit();
        journal.pieces.shrink_to_fit();
        if journal.closed.is_none() && !journal.released {
            core.driven.insert(number);
        }
        core.going.extend(journal.closed.flatten().map(|goes| (goes, number)));
        if let Some(older) = core.names.insert(name.clone(), number) {
            // Its deletion was lost to damage: the name now belongs to a newer journal.
            core.journals.remove(&older);
            core.driven.remove(&older);
            core.going.retain(|(_, number)| *number != older);
            self.lost(
                since,
                format!("an older journal of that name, number {older}, is not deleted"),
                Some(name),
            );
        }
        core.journals.insert(number, Box::new(journal));
    }

    /// Removes a journal with an unfinished restore. With damage its end may have been lost: then it stays.
    fn add_unfinished(&mut self, number: u64, found: FoundJournal, core: &mut Core) {
        let since = found.segments.first().copied().unwrap_or_default();
        match found.name {
            Some(name) if self.damages.is_empty() => core.discard_unfinished(number, name, since),
            name => {
                let what = format!("journal number {number} was not restored to its end, or that is damaged");
                self.lost(since, what, name);
            }
        }
    }

    /// Records a loss of a segment.
    pub(in crate::embedded) fn lost(&mut self, segment: u64, what: String, journal: Option<JournalId>) {
        let damage = Damage { file: segment_name(segment), offset: 0, bytes: 0, what, journal };
        self.damages.push((damage, None));
    }
}
