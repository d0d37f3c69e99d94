//! A store in a folder: one checksummed log of segments for records, epochs and values, so that one fsync
//! covers all of them.
//!
//! `docs/store-format.md` describes the bytes. `core` holds the state and decides, without threads, time or
//! waiting; `log` writes; `recover` opens; `sweep` frees space; this file connects them.

use std::{
    fmt,
    path::PathBuf,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

use tokio::sync::{Semaphore, watch};

mod check;
mod core;
mod damage;
mod disk;
mod files;
mod folder;
mod format;
mod frame;
mod handles;
mod index;
mod journal;
mod log;
mod number_map;
mod options;
mod recover;
mod scan;
mod segment;
mod store;
mod sweep;
mod values;
mod writer;

pub use check::{Report, check};
pub use damage::Damage;
pub use files::{File, Files, Guard, is_out_of_descriptors};
pub use folder::Folder;
pub use options::{Fsync, Options, Writer};
pub use sweep::compact;

use self::{core::Core, handles::Handles, log::Log, segment::ListCache};
use crate::{Error, ErrorKind, Result, batch::CommitRoom, clock::Retention};

/// A store in a folder.
///
/// ```
/// use std::time::Duration;
/// use headwater_store::{Class, ReadLimit, Store, embedded::Embedded};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let folder = tempfile::tempdir()?;
/// let store = Embedded::open(folder.path())?;
/// let run = "run_1".into();
/// let lease = store.claim(&run, "me", Duration::from_secs(30)).await?;
/// store.append(&lease, Class::Fact, &["it began".into()])?.await?;
/// drop(store);
///
/// let store = Embedded::open(folder.path())?;
/// let page = store.read(&run, 0, ReadLimit::default()).await?;
/// assert_eq!(page.records[0].body, "it began");
/// assert_eq!(store.expired(10).await?, [run]);
/// # Ok(())
/// # }
/// ```
pub struct Embedded {
    shared: Arc<EmbeddedState>,
    writer: Option<thread::JoinHandle<()>>,
    sweeper: Mutex<Option<thread::JoinHandle<()>>>,
    /// At most one sweep rewrites segments.
    sweeping: Arc<Semaphore>,
}

/// State shared by the store and its threads.
#[derive(Debug)]
struct EmbeddedState {
    core: Mutex<Core>,
    /// Locked before the core, never after it.
    log: Mutex<Log>,
    /// Wakes the writer thread.
    wake: Condvar,
    /// Number of callers that gather changes for one commit.
    gathering: AtomicUsize,
    /// Whether the writer waits for them, and its notification when they are done.
    writer_waits: AtomicBool,
    gathered: Condvar,
    quit: AtomicBool,
    lists: ListCache,
    handles: Arc<Handles>,
    room: Arc<CommitRoom>,
    /// Why the store has stopped.
    failure: Arc<watch::Sender<Option<Error>>>,
    retention: Retention,
    options: Options,
    files: Arc<dyn Files>,
    _guard: Box<dyn Guard>,
}

impl Embedded {
    /// Opens the store in a folder, or creates one, with the default options.
    ///
    /// # Errors
    /// [`Locked`](crate::ErrorKind::Locked) if another process uses the folder,
    /// [`Format`](crate::ErrorKind::Format) if a program with another format wrote it,
    /// [`Io`](crate::ErrorKind::Io). Damage is not an error here: the readable part is served, and
    /// [`damages`](Self::damages) lists the damage.
    pub fn open(folder: impl Into<PathBuf>) -> Result<Self> {
        Self::open_folder(folder, Options::default())
    }

    /// Opens the store in a folder with other options.
    ///
    /// # Errors
    /// Like [`open`](Self::open).
    pub fn open_folder(folder: impl Into<PathBuf>, options: Options) -> Result<Self> {
        let path = folder.into();
        let place = path.display().to_string();
        let files = Folder::new(path)
            .map_err(|error| Error::io(format_args!("creating the folder {place}"), error))?;
        Self::open_at(Arc::new(files), options, &place)
    }

    /// Opens the store in any kind of folder.
    ///
    /// # Errors
    /// Like [`open`](Self::open).
    pub fn open_with(files: Arc<dyn Files>, options: Options) -> Result<Self> {
        Self::open_at(files, options, "of the store")
    }

    fn open_at(files: Arc<dyn Files>, options: Options, place: &str) -> Result<Self> {
        let guard = recover::lock(&*files, place)?;
        let handles = Handles::new(files.clone(), options.max_open_files);
        let (core, log) = recover::recover(&files, handles, &options)?;
        let manual = options.writer == Writer::Manual;
        let shared = Arc::new(EmbeddedState::new(core, log, options, files, guard));
        let writer = if manual { None } else { Some(writer::start(&shared)?) };
        Ok(Self { shared, writer, sweeper: Mutex::new(None), sweeping: Arc::new(Semaphore::new(1)) })
    }

    /// Writes all pending calls as one commit, in the calling thread. Returns whether there was anything to
    /// write. For simulations, with [`Writer::Manual`].
    ///
    /// # Errors
    /// The failure that stopped the store.
    pub fn step(&self) -> Result<bool> {
        self.shared.commit()
    }

    /// Reopens the folder in place after a failure has stopped the store, as if the process had been
    /// restarted. Failed writes are gone and leases have ended, so drivers find them stale; their journals
    /// are listed as [expired](crate::Store::expired). Does nothing if the store has not stopped.
    ///
    /// It takes as long as opening does, and blocks the calling thread.
    ///
    /// # Errors
    /// Why it cannot be reopened yet: the disk is still full or failing. The store stays stopped, and the
    /// call can be repeated.
    pub async fn recover(&self) -> Result<()> {
        let stopped = || Error::new(ErrorKind::Stopped, "the store was closed");
        let _no_sweep = self.sweeping.acquire().await.map_err(|_| stopped())?;
        self.shared.recover()
    }

    /// The damage found when the store was opened.
    #[must_use]
    pub fn damages(&self) -> Vec<Damage> {
        self.shared.core().damages.clone()
    }
}

impl EmbeddedState {
    fn new(core: Core, log: Log, options: Options, files: Arc<dyn Files>, guard: Box<dyn Guard>) -> Self {
        let handles = log.handles.clone();
        let room = core.room.clone();
        let failure = core.failure.clone();
        let retention = Retention::new(options.clock.clone());
        Self {
            core: Mutex::new(core),
            log: Mutex::new(log),
            wake: Condvar::new(),
            gathering: AtomicUsize::new(0),
            writer_waits: AtomicBool::new(false),
            gathered: Condvar::new(),
            quit: AtomicBool::new(false),
            lists: ListCache::default(),
            handles,
            room,
            failure,
            retention,
            options,
            files,
            _guard: guard,
        }
    }

    fn core(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn recover(&self) -> Result<()> {
        let mut log = self.log();
        if self.core().running().is_ok() {
            return Ok(());
        }
        log.cut_off_failed()?;
        log.probe()?;
        let (core, opened) = recover::recover(&self.files, self.handles.clone(), &self.options)?;
        core.running()?;
        core.replace(&mut self.core());
        *log = opened;
        self.lists.clear();
        self.wake.notify_all();
        Ok(())
    }

    /// Writes all pending calls as one commit.
    fn commit(&self) -> Result<bool> {
        let mut log = self.log();
        let buffer = std::mem::take(&mut log.buffer);
        let Some(mut taken) = self.core().take(buffer) else { return Ok(false) };
        let now = self.options.clock.monotonic();
        let rotated = if log.is_full() { log.rotate(&self.core, now) } else { Ok(()) };
        let outcome = rotated.and_then(|()| log.write(&mut taken, now));
        let failed = outcome.as_ref().err().cloned();
        let mut buffer = self.core().settle(taken, outcome);
        buffer.shrink_to(4 << 20);
        log.buffer = buffer;
        failed.map_or(Ok(true), Err)
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        self.shared.quit.store(true, Ordering::SeqCst);
        {
            // Locked so that the writer either has not checked yet or is already waiting.
            let _core = self.shared.core();
            self.shared.wake.notify_all();
        }
        let sweeper = self.sweeper.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        for thread in [sweeper, self.writer.take()].into_iter().flatten() {
            // The log already has the failure of a thread that panicked.
            let _ = thread.join();
        }
        // Without a writer thread, pending writes are never written: their callers must not wait forever.
        self.shared
            .core()
            .stop(Error::new(ErrorKind::Stopped, "the store was closed before this was written"));
    }
}

impl fmt::Debug for Embedded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let core = self.shared.core();
        f.debug_struct("Embedded")
            .field("journals", &core.journals.len())
            .field("values", &core.values.len())
            .field("segments", &(core.sealed.len() + 1))
            .finish_non_exhaustive()
    }
}
