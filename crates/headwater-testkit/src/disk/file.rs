//! A file of the faulty disk: its visible content, its durable content, and the changes between them.

use std::{fmt, io};

use headwater_store::embedded::StoreFile;

use super::{Disk, DiskFault, DiskOperation, DiskState, broken, full, gone};

/// The content of a file.
#[derive(Debug, Default)]
pub(super) struct Inode {
    /// The content that a process reads.
    pub(super) seen: Vec<u8>,
    /// The content that survives a power cut.
    pub(super) durable: Vec<u8>,
    /// Changes since then, which may or may not survive.
    pub(super) unsynced: Vec<FileChange>,
}

/// A change of a file that is not durable.
#[derive(Debug, Clone)]
pub(super) enum FileChange {
    Write { offset: usize, bytes: Vec<u8> },
    Truncate(usize),
}

impl FileChange {
    pub(super) fn apply(&self, to: &mut Vec<u8>) {
        match self {
            Self::Write { offset, bytes } => write(to, *offset, bytes),
            Self::Truncate(size) => to.resize(*size, 0),
        }
    }
}

/// A write beyond the end fills the gap with zeros.
pub(super) fn write(to: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    let end = offset + bytes.len();
    if to.len() < end {
        to.resize(end, 0);
    }
    if let Some(part) = to.get_mut(offset..end) {
        part.copy_from_slice(bytes);
    }
}

impl Inode {
    pub(super) fn size(&self) -> u64 {
        self.seen.len() as u64
    }

    pub(super) fn flip(&mut self, offset: u64, bit: u8) -> bool {
        let Ok(offset) = usize::try_from(offset) else { return false };
        if let Some(byte) = self.durable.get_mut(offset) {
            *byte ^= 1 << (bit % 8);
        }
        self.seen.get_mut(offset).map(|byte| *byte ^= 1 << (bit % 8)).is_some()
    }

    fn change(&mut self, change: FileChange) {
        change.apply(&mut self.seen);
        self.unsynced.push(change);
    }

    fn sync(&mut self) {
        for change in self.unsynced.drain(..) {
            change.apply(&mut self.durable);
        }
    }
}

/// An open file.
pub(super) struct Handle {
    pub(super) disk: Disk,
    pub(super) inode: u64,
    pub(super) process: u64,
}

impl Handle {
    fn with<T>(
        &self,
        operation: DiskOperation,
        act: impl FnOnce(&mut DiskState, Option<DiskFault>) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut state = self.disk.state();
        if state.process != self.process {
            return Err(gone());
        }
        let fault = state.begin(operation)?;
        act(&mut state, fault)
    }
}

impl DiskState {
    fn inode(&mut self, inode: u64) -> io::Result<&mut Inode> {
        self.inodes.get_mut(&inode).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl StoreFile for Handle {
    fn size(&self) -> io::Result<u64> {
        self.with(DiskOperation::Other, |state, _| Ok(state.inode(self.inode)?.size()))
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        self.with(DiskOperation::Read, |state, _| {
            let offset = usize::try_from(offset).unwrap_or(usize::MAX);
            let available = state.inode(self.inode)?.seen.get(offset..).unwrap_or_default();
            let part = available.iter().zip(into);
            Ok(part.map(|(from, to)| *to = *from).count())
        })
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        self.with(DiskOperation::Write, |state, fault| {
            let offset = usize::try_from(offset).map_err(|_| full())?;
            let written = match fault {
                None => bytes.len(),
                // A short write writes at least one byte: zero bytes would mean that the disk is full.
                Some(DiskFault::ShortWrite) => 1 + state.random.below(bytes.len().saturating_sub(1)),
                Some(_) => state.random.below(bytes.len() + 1),
            };
            let part = bytes.get(..written).unwrap_or(bytes).to_vec();
            if !part.is_empty() {
                state.inode(self.inode)?.change(FileChange::Write { offset, bytes: part });
            }
            match fault {
                None | Some(DiskFault::ShortWrite) => Ok(written.min(bytes.len())),
                Some(DiskFault::NoSpace) => Err(full()),
                Some(DiskFault::Death) => Err(gone()),
                Some(_) => Err(broken()),
            }
        })
    }

    fn sync(&self) -> io::Result<()> {
        self.with(DiskOperation::Sync, |state, fault| {
            if fault.is_none() {
                if !state.lies_about_sync {
                    state.inode(self.inode)?.sync();
                }
                return Ok(());
            }
            if fault == Some(DiskFault::Death) {
                // A following power cut decides which part of the sync survives.
                return Err(gone());
            }
            let mut random = state.random.fork();
            let inode = state.inode(self.inode)?;
            // Data that fails to be written back is dropped: it can still be read, but no later sync writes
            // it.
            let unsynced = std::mem::take(&mut inode.unsynced);
            for change in unsynced.iter().filter(|_| random.one_in(2)) {
                change.apply(&mut inode.durable);
            }
            Err(broken())
        })
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        self.with(DiskOperation::Other, |state, _| {
            let size = usize::try_from(len).map_err(|_| full())?;
            state.inode(self.inode)?.change(FileChange::Truncate(size));
            Ok(())
        })
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").field("inode", &self.inode).finish_non_exhaustive()
    }
}
