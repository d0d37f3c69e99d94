//! A disk in memory that loses unsynced data at a power cut, and that fails on demand.
//!
//! It guarantees only what a program may rely on: a file's bytes are durable after its `sync`, names after
//! `sync_names`. Everything else depends on a seed, so that the same seed always loses the same data.

mod file;
mod powercut;

use std::{
    collections::BTreeMap,
    fmt, io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use headwater_store::embedded::{Files, Guard, StoreFile};

use self::file::{Handle, Inode};
use crate::random::Random;

/// A disk. Clones share it.
///
/// ```
/// use headwater_store::embedded::Files;
/// use headwater_testkit::disk::Disk;
///
/// let disk = Disk::new(7);
/// let file = disk.create("a")?;
/// disk.sync_names()?;
/// file.write_at(0, b"durable")?;
/// file.sync()?;
/// disk.cut_power();
///
/// assert!(file.size().is_err(), "a file that was open is gone with the process");
/// assert_eq!(disk.open("a")?.size()?, 7);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct Disk(Arc<Mutex<DiskState>>);

/// A fault that happens once, at the next operation that it applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskFault {
    /// A write writes only part of the bytes and reports that.
    ShortWrite,
    /// A write fails; part of the bytes may have been written.
    WriteError,
    /// The disk is full: this and all later writes fail, until [`Disk::make_room`].
    NoSpace,
    /// A sync fails. As on Linux, any part of the unsynced data may be durable, the rest never will be, and
    /// the next sync succeeds.
    SyncError,
    /// Syncing the names fails.
    NamesError,
    /// A new file cannot be created.
    CreateError,
    /// A read fails.
    ReadError,
    /// The process has no file descriptor left: nothing can be opened or created, until
    /// [`Disk::free_descriptors`].
    NoDescriptors,
    /// The process dies during the operation, which fails, as does every later one of this process.
    Death,
}

struct DiskState {
    random: Random,
    inodes: BTreeMap<u64, Inode>,
    next_inode: u64,
    names: BTreeMap<String, u64>,
    durable_names: BTreeMap<String, u64>,
    unsynced_names: Vec<NameChange>,
    /// Number of the current process; handles of earlier ones no longer work.
    process: u64,
    dead: bool,
    locked: bool,
    full: bool,
    no_descriptors: bool,
    lies_about_sync: bool,
    armed: Vec<(DiskFault, u64)>,
    fired: Vec<DiskFault>,
    operations: u64,
    syncs: u64,
}

#[derive(Debug, Clone)]
enum NameChange {
    Link(String, u64),
    Unlink(String),
    Rename(String, String),
}

/// The kind of an operation, for selecting faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DiskOperation {
    Write,
    Sync,
    SyncNames,
    Create,
    Open,
    Read,
    Other,
}

impl DiskFault {
    const fn happens_to(self, operation: DiskOperation) -> bool {
        match self {
            Self::ShortWrite | Self::WriteError | Self::NoSpace => matches!(operation, DiskOperation::Write),
            Self::SyncError => matches!(operation, DiskOperation::Sync),
            Self::NamesError => matches!(operation, DiskOperation::SyncNames),
            Self::CreateError => matches!(operation, DiskOperation::Create),
            Self::ReadError => matches!(operation, DiskOperation::Read),
            Self::NoDescriptors => matches!(operation, DiskOperation::Create | DiskOperation::Open),
            Self::Death => true,
        }
    }
}

impl Disk {
    /// An empty disk with this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(DiskState {
            random: Random::new(seed),
            inodes: BTreeMap::new(),
            next_inode: 0,
            names: BTreeMap::new(),
            durable_names: BTreeMap::new(),
            unsynced_names: Vec::new(),
            process: 0,
            dead: false,
            locked: false,
            full: false,
            no_descriptors: false,
            lies_about_sync: false,
            armed: Vec::new(),
            fired: Vec::new(),
            operations: 0,
            syncs: 0,
        })))
    }

    /// Arms a fault: it skips `skip` operations that it applies to and happens at the next one.
    pub fn arm(&self, fault: DiskFault, skip: u64) {
        self.state().armed.push((fault, skip));
    }

    /// Removes the faults that have not happened yet.
    pub fn disarm(&self) {
        self.state().armed.clear();
    }

    /// The faults that have happened since the last call.
    pub fn fired(&self) -> Vec<DiskFault> {
        std::mem::take(&mut self.state().fired)
    }

    /// Whether the process that used the disk has died.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        self.state().dead
    }

    /// Number of operations so far.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.state().operations
    }

    /// Number of syncs of a file so far.
    #[must_use]
    pub fn syncs(&self) -> u64 {
        self.state().syncs
    }

    /// Whether [`DiskFault::NoSpace`] is in effect.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.state().full
    }

    /// Ends [`DiskFault::NoSpace`].
    pub fn make_room(&self) {
        self.state().full = false;
    }

    /// Ends [`DiskFault::NoDescriptors`].
    pub fn free_descriptors(&self) {
        self.state().no_descriptors = false;
    }

    /// From now on, syncs report success without making data durable, to show that a test would notice.
    pub fn lie_about_sync(&self) {
        self.state().lies_about_sync = true;
    }

    /// Kills the process that uses the disk. Its written data stays, synced or not.
    pub fn kill(&self) {
        self.state().begin_process();
    }

    /// Cuts the power: any part of the unsynced data may be lost.
    pub fn cut_power(&self) {
        self.state().cut_power();
    }

    /// Flips one durable bit of a file. Returns false if the file has no such byte.
    pub fn flip(&self, name: &str, offset: u64, bit: u8) -> bool {
        let mut state = self.state();
        let inode = state.names.get(name).copied();
        inode.and_then(|inode| state.inodes.get_mut(&inode)).is_some_and(|inode| inode.flip(offset, bit))
    }

    /// The names and sizes of all files.
    #[must_use]
    pub fn sizes(&self) -> BTreeMap<String, u64> {
        let state = self.state();
        let size = |inode| state.inodes.get(inode).map_or(0, Inode::size);
        state.names.iter().map(|(name, inode)| (name.clone(), size(inode))).collect()
    }

    fn state(&self) -> MutexGuard<'_, DiskState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins an operation of the current process.
    fn begin(&self, operation: DiskOperation) -> io::Result<MutexGuard<'_, DiskState>> {
        let mut state = self.state();
        state.begin(operation)?;
        Ok(state)
    }

    fn handle(&self, inode: u64, process: u64) -> Box<dyn StoreFile> {
        Box::new(Handle { disk: self.clone(), inode, process })
    }
}

impl DiskState {
    /// Counts an operation, and fails it if a fault is due.
    fn begin(&mut self, operation: DiskOperation) -> io::Result<Option<DiskFault>> {
        if self.dead {
            return Err(gone());
        }
        self.operations += 1;
        self.syncs += u64::from(operation == DiskOperation::Sync);
        if self.full && operation == DiskOperation::Write {
            return Ok(Some(DiskFault::NoSpace));
        }
        if self.no_descriptors && DiskFault::NoDescriptors.happens_to(operation) {
            return Err(no_descriptors());
        }
        let mut happens = None;
        for (at, (fault, skip)) in self.armed.iter_mut().enumerate() {
            if fault.happens_to(operation) {
                if *skip == 0 {
                    happens = Some(at);
                    break;
                }
                *skip -= 1;
            }
        }
        let Some(at) = happens else { return Ok(None) };
        let (fault, _) = self.armed.remove(at);
        self.fired.push(fault);
        match fault {
            DiskFault::NoSpace => self.full = true,
            DiskFault::NoDescriptors => self.no_descriptors = true,
            DiskFault::Death => self.dead = true,
            _ => {}
        }
        // Writes and syncs do part of their work before they fail.
        match (fault, operation) {
            (DiskFault::Death, DiskOperation::Write | DiskOperation::Sync) => Ok(Some(fault)),
            (DiskFault::Death, _) => Err(gone()),
            (DiskFault::NoDescriptors, _) => Err(no_descriptors()),
            (DiskFault::NamesError | DiskFault::CreateError | DiskFault::ReadError, _) => Err(broken()),
            _ => Ok(Some(fault)),
        }
    }

    fn begin_process(&mut self) {
        self.process += 1;
        self.dead = false;
        self.locked = false;
        self.no_descriptors = false;
        self.armed.clear();
    }

    fn change_name(&mut self, change: NameChange) {
        change.apply(&mut self.names);
        self.unsynced_names.push(change);
    }
}

impl NameChange {
    fn apply(&self, names: &mut BTreeMap<String, u64>) {
        match self {
            Self::Link(name, inode) => drop(names.insert(name.clone(), *inode)),
            Self::Unlink(name) => drop(names.remove(name)),
            Self::Rename(from, to) => {
                if let Some(inode) = names.remove(from) {
                    names.insert(to.clone(), inode);
                }
            }
        }
    }
}

fn gone() -> io::Error {
    io::Error::other("the process that used the disk has died")
}

fn broken() -> io::Error {
    io::Error::other("injected disk failure")
}

fn no_descriptors() -> io::Error {
    // `EMFILE`
    io::Error::from_raw_os_error(24)
}

fn full() -> io::Error {
    io::Error::from(io::ErrorKind::StorageFull)
}

impl Files for Disk {
    fn lock(&self) -> io::Result<Box<dyn Guard>> {
        let mut state = self.begin(DiskOperation::Other)?;
        if state.locked {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        state.locked = true;
        Ok(Box::new(Lock { disk: self.clone(), process: state.process }))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.begin(DiskOperation::Other)?.names.keys().cloned().collect())
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn StoreFile>> {
        let state = self.begin(DiskOperation::Open)?;
        let inode = *state.names.get(name).ok_or(io::ErrorKind::NotFound)?;
        let process = state.process;
        drop(state);
        Ok(self.handle(inode, process))
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn StoreFile>> {
        let mut state = self.begin(DiskOperation::Create)?;
        if state.names.contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        if state.full {
            return Err(full());
        }
        let inode = state.next_inode;
        state.next_inode += 1;
        state.inodes.insert(inode, Inode::default());
        state.change_name(NameChange::Link(name.to_owned(), inode));
        let process = state.process;
        drop(state);
        Ok(self.handle(inode, process))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.begin(DiskOperation::Other)?;
        if !state.names.contains_key(from) {
            return Err(io::ErrorKind::NotFound.into());
        }
        state.change_name(NameChange::Rename(from.to_owned(), to.to_owned()));
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = self.begin(DiskOperation::Other)?;
        if !state.names.contains_key(name) {
            return Err(io::ErrorKind::NotFound.into());
        }
        state.change_name(NameChange::Unlink(name.to_owned()));
        Ok(())
    }

    fn sync_names(&self) -> io::Result<()> {
        let mut state = self.begin(DiskOperation::SyncNames)?;
        if !state.lies_about_sync {
            state.unsynced_names.clear();
            state.durable_names = state.names.clone();
        }
        Ok(())
    }
}

/// Locks the disk for one process.
struct Lock {
    disk: Disk,
    process: u64,
}

impl Guard for Lock {}

impl Drop for Lock {
    fn drop(&mut self) {
        let mut state = self.disk.state();
        // The lock of a dead process was released when it died.
        if state.process == self.process {
            state.locked = false;
        }
    }
}

impl fmt::Debug for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lock").field("process", &self.process).finish_non_exhaustive()
    }
}

impl fmt::Debug for Disk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Disk").field(&self.sizes()).finish()
    }
}
