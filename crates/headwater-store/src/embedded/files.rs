//! The only way to the disk, small enough that a test can put a faulty one in its place.

use std::{fmt, io};

/// A flat folder of files.
pub trait Files: fmt::Debug + Send + Sync + 'static {
    /// Takes the folder for this process until the guard is dropped or the process ends.
    /// [`io::ErrorKind::WouldBlock`] means that another process has it.
    fn lock(&self) -> io::Result<Box<dyn Guard>>;

    /// The names of all files.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Opens a file that is there.
    fn open(&self, name: &str) -> io::Result<Box<dyn File>>;

    /// Makes a new, empty file. [`io::ErrorKind::AlreadyExists`] if the name is taken.
    fn create(&self, name: &str) -> io::Result<Box<dyn File>>;

    /// Gives a file another name, in place of the file that has it.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Makes the names durable: what was created, renamed and removed so far.
    fn sync_names(&self) -> io::Result<()>;
}

/// An open file.
pub trait File: fmt::Debug + Send + Sync {
    /// Its size in bytes.
    fn size(&self) -> io::Result<u64>;

    /// Reads some bytes at an offset; 0 at the end.
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize>;

    /// Writes some bytes at an offset; may write fewer than given.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<usize>;

    /// Makes what was written durable.
    fn sync(&self) -> io::Result<()>;

    /// Cuts the file off.
    fn truncate(&self, len: u64) -> io::Result<()>;
}

/// Holds the folder for this process.
pub trait Guard: fmt::Debug + Send + Sync {}

/// Whether an error is that this process, or the system, has no descriptor left. That passes.
#[must_use]
pub fn is_out_of_descriptors(error: &io::Error) -> bool {
    // `EMFILE` and `ENFILE` of every Unix, and `ERROR_TOO_MANY_OPEN_FILES`.
    let numbers: &[i32] = if cfg!(windows) { &[4] } else { &[24, 23] };
    error.raw_os_error().is_some_and(|number| numbers.contains(&number))
}
