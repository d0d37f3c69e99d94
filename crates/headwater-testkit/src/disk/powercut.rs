//! Power cuts: which unsynced data survives.

use std::collections::BTreeSet;

use super::{
    DiskState,
    file::{FileChange, Inode, write},
};
use crate::random::Random;

/// Size of an atomic write.
const SECTOR: usize = 512;

impl DiskState {
    pub(super) fn cut_power(&mut self) {
        let mut random = self.random.fork();
        // The file system keeps the order of name changes: a prefix of them survives.
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
                // Nothing, everything, or a prefix survives.
                0 => break,
                1 => change.apply(&mut self.durable),
                2 if at >= kept => break,
                2 => change.apply(&mut self.durable),
                // A prefix survives and the next change is torn, at any byte or between two sectors.
                3 | 4 if at > kept => break,
                3 | 4 if at == kept => tear(change, &mut self.durable, way == 4, random),
                3 | 4 => change.apply(&mut self.durable),
                // Any sectors of any writes survive.
                _ => scatter(change, &mut self.durable, random),
            }
        }
        // The size may be written although the bytes are not.
        if random.one_in(4) && self.durable.len() < self.seen.len() {
            self.durable.resize(self.seen.len(), 0);
        }
        self.seen.clone_from(&self.durable);
    }
}

fn tear(change: &FileChange, durable: &mut Vec<u8>, at_sector: bool, random: &mut Random) {
    let FileChange::Write { offset, bytes } = change else { return };
    let mut end = random.below(bytes.len() + 1);
    if at_sector {
        end = ((offset + end) / SECTOR * SECTOR).saturating_sub(*offset);
    }
    write(durable, *offset, bytes.get(..end).unwrap_or(bytes));
}

fn scatter(change: &FileChange, durable: &mut Vec<u8>, random: &mut Random) {
    match change {
        FileChange::Truncate(_) if random.one_in(2) => change.apply(durable),
        FileChange::Truncate(_) => {}
        FileChange::Write { offset, bytes } => {
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
