//! What a power cut leaves of what was not durable.

use std::collections::BTreeSet;

use super::{
    State,
    file::{Change, Inode, write},
};
use crate::random::Random;

/// What a disk writes in one piece.
const SECTOR: usize = 512;

impl State {
    pub(super) fn cut_power(&mut self) {
        let mut random = self.random.fork();
        // The file system keeps the order of names: a beginning of the changes is left.
        let kept = if random.one_in(2) { 0 } else { random.below(self.unsynced_names.len() + 1) };
        for change in self.unsynced_names.drain(..).take(kept) {
            change.apply(&mut self.durable_names);
        }
        self.names = self.durable_names.clone();
        let named: BTreeSet<u64> = self.names.values().copied().collect();
        self.inodes.retain(|inode, _| named.contains(inode));
        for inode in self.inodes.values_mut() {
            inode.cut_power(&mut random);
        }
        self.begin_process();
    }
}

impl Inode {
    fn cut_power(&mut self, random: &mut Random) {
        let unsynced = std::mem::take(&mut self.unsynced);
        let way = random.below(6);
        let kept = random.below(unsynced.len() + 1);
        for (at, change) in unsynced.iter().enumerate() {
            match way {
                // Nothing, everything, or a beginning is left.
                0 => break,
                1 => change.apply(&mut self.durable),
                2 if at >= kept => break,
                2 => change.apply(&mut self.durable),
                // A beginning, and the next one torn: at any byte, or between two sectors.
                3 | 4 if at > kept => break,
                3 | 4 if at == kept => tear(change, &mut self.durable, way == 4, random),
                3 | 4 => change.apply(&mut self.durable),
                // Any sectors of any writes.
                _ => scatter(change, &mut self.durable, random),
            }
        }
        // The size may be written while the bytes are not.
        if random.one_in(4) && self.durable.len() < self.seen.len() {
            self.durable.resize(self.seen.len(), 0);
        }
        self.seen.clone_from(&self.durable);
    }
}

fn tear(change: &Change, durable: &mut Vec<u8>, at_sector: bool, random: &mut Random) {
    let Change::Write { offset, bytes } = change else { return };
    let mut end = random.below(bytes.len() + 1);
    if at_sector {
        end = ((offset + end) / SECTOR * SECTOR).saturating_sub(*offset);
    }
    write(durable, *offset, bytes.get(..end).unwrap_or(bytes));
}

fn scatter(change: &Change, durable: &mut Vec<u8>, random: &mut Random) {
    match change {
        Change::Truncate(_) if random.one_in(2) => change.apply(durable),
        Change::Truncate(_) => {}
        Change::Write { offset, bytes } => {
            let mut at = 0;
            while at < bytes.len() {
                let end = ((offset + at) / SECTOR * SECTOR + SECTOR - offset).min(bytes.len());
                if random.one_in(2) {
                    write(durable, offset + at, bytes.get(at..end).unwrap_or_default());
                }
                at = end;
            }
        }
    }
}
