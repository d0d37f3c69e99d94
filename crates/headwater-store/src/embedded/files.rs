//! The interface to the disk, small enough that a test can replace it with a faulty one.

use std::{fmt, io};

/// A flat folder of files.
pub trait Files: fmt::Debug + Send + Sync + 'static {
    /// Locks the folder for this process until the guard is dropped or the process ends.
    /// [`io::ErrorKind::WouldBlock`] means that another process holds the lock.
    fn lock(&self) -> io::Result<Box<dyn Guard>>;

    /// The names of all files.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Opens an existing file.
    fn open(&self, name: &str) -> io::Result<Box<dyn StoreFile>>;

    /// Creates a new, empty file. [`io::ErrorKind::AlreadyExists`] if the name is taken.
    fn create(&self, name: &str) -> io::Result<Box<dyn StoreFile>>;

    /// Renames a file and replaces an existing one.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Makes the directory durable: all creations, renames and removals so far.
    fn sync_names(&self) -> io::Result<()>;
}

/// An open file.
pub trait StoreFile: fmt::Debug + Send + Sync {
    /// The size in bytes.
    fn size(&self) -> io::Result<u64>;

    /// Reads some bytes at an offset; 0 at the end.
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize>;

    /// Writes some bytes at an offset; may write fewer than given.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<usize>;

    /// Makes all writes durable.
    fn sync(&self) -> io::Result<()>;

    /// Truncates the file.
    fn truncate(&self, len: u64) -> io::Result<()>;
}

/// Holds the lock of the folder.
pub trait Guard: fmt::Debug + Send + Sync {}

/// Whether an error means that the process or the system has no file descriptor left, which is temporary.
#[must_use]
pub fn is_out_of_descriptors(error: &io::Error) -> bool {
    // `EMFILE` and `ENFILE` on Unix, `ERROR_TOO_MANY_OPEN_FILES` on Windows.
    let numbers: &[i32] = if cfg!(windows) { &[4] } else { &[24, 23] };
    error.raw_os_error().is_some_and(|number| numbers.contains(&number))
}
