//! A folder of the file system.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use super::{
    files::{File, Files, Guard, is_out_of_descriptors},
    format::segment_number,
};

/// A folder that only its owner may read.
#[derive(Debug, Clone)]
pub struct Folder {
    path: PathBuf,
    /// Whether other users could read it before.
    was_open_to_others: bool,
    /// Whether a missing lock file is created.
    makes_lock: bool,
    reserve: Arc<Reserve>,
}

/// The lock file of the folder.
const LOCK: &str = "lock";

/// Number of reserved spare descriptors.
const RESERVED: usize = 4;

/// Descriptors that the store needs even if the process has no others left.
#[derive(Debug)]
struct Reserve {
    /// The folder itself, to make its directory durable.
    #[cfg(unix)]
    folder: fs::File,
    spare: Mutex<Vec<fs::File>>,
}

impl Folder {
    /// A folder, created if missing. New files are readable and writable by their owner only; an existing
    /// store that others could read is restricted, and [`was_open_to_others`](Self::was_open_to_others)
    /// reports it.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn new(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        make(&path)?;
        let was_open_to_others = close_to_others(&path)?;
        Self::with(path, was_open_to_others, true)
    }

    /// An existing folder, to [`check`](super::check) it: no folder or lock file is created, and permissions
    /// do not change.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn unchanged(path: impl Into<PathBuf>) -> io::Result<Self> {
        Self::with(path.into(), false, false)
    }

    fn with(path: PathBuf, was_open_to_others: bool, makes_lock: bool) -> io::Result<Self> {
        let reserve = Reserve {
            #[cfg(unix)]
            folder: fs::File::open(&path)?,
            spare: Mutex::default(),
        };
        reserve.refill();
        Ok(Self { path, was_open_to_others, makes_lock, reserve: Arc::new(reserve) })
    }

    /// The path of the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether other users could read the existing store. They no longer can.
    #[must_use]
    pub const fn was_open_to_others(&self) -> bool {
        self.was_open_to_others
    }
}

impl Reserve {
    #[cfg(unix)]
    fn refill(&self) {
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        while spare.len() < RESERVED {
            let Ok(file) = self.folder.try_clone() else { return };
            spare.push(file);
        }
    }

    /// Other systems have no such limit on open files.
    #[cfg(not(unix))]
    fn refill(&self) {}

    /// Opens something, with descriptors of the reserve if there are no others.
    fn open<T>(&self, open: impl Fn() -> io::Result<T>) -> io::Result<T> {
        let mut opened = open();
        let mut spent = false;
        while let Err(error) = &opened
            && is_out_of_descriptors(error)
        {
            // Another thread may take the freed descriptor: then try with more of the reserve.
            let spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
            if spare.is_none() {
                return opened;
            }
            drop(spare);
            spent = true;
            opened = open();
        }
        if !spent {
            self.refill();
        }
        opened
    }
}

#[cfg(unix)]
fn make(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

#[cfg(not(unix))]
fn make(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}

/// Removes group and other permissions from a folder that holds only store files, and from those files;
/// returns whether there were any.
#[cfg(unix)]
fn close_to_others(path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::PermissionsExt as _;
    let mut files = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let ours = entry.file_name().to_str().is_some_and(|name| {
            name == LOCK || segment_number(name.strip_suffix(".new").unwrap_or(name)).is_some()
        });
        if !ours {
            return Ok(false);
        }
        files.push((entry.path(), 0o600));
    }
    files.push((path.to_owned(), 0o700));
    let mut was_open = false;
    for (path, mode) in files {
        let open = fs::metadata(&path)?.permissions().mode() & 0o077 != 0;
        // Only the owner may change permissions; another user was given access on purpose.
        was_open |= open && fs::set_permissions(&path, fs::Permissions::from_mode(mode)).is_ok();
    }
    Ok(was_open)
}

#[cfg(not(unix))]
fn close_to_others(_path: &Path) -> io::Result<bool> {
    Ok(false)
}

/// Options to create files for their owner only.
fn for_owner() -> fs::OpenOptions {
    let mut options = fs::File::options();
    options.read(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

impl Files for Folder {
    fn lock(&self) -> io::Result<Box<dyn Guard>> {
        let path = self.path.join(LOCK);
        let opened = self.reserve.open(|| for_owner().create(self.makes_lock).truncate(false).open(&path));
        let file = match opened {
            // A copied store may lack the lock file; a process that uses the folder always has it.
            Err(error) if error.kind() == io::ErrorKind::NotFound && !self.makes_lock => None,
            opened => Some(opened?),
        };
        if let Some(file) = &file {
            file.try_lock()?;
        }
        Ok(Box::new(FolderGuard { _file: file }))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in self.reserve.open(|| fs::read_dir(&self.path))? {
            let entry = entry?;
            // A name that is not UTF-8 is not one of ours.
            if let (true, Ok(name)) = (entry.file_type()?.is_file(), entry.file_name().into_string()) {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn File>> {
        let path = self.path.join(name);
        let file = self.reserve.open(|| for_owner().open(&path))?;
        Ok(Box::new(DiskFile(file)))
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn File>> {
        let path = self.path.join(name);
        let file = self.reserve.open(|| for_owner().create_new(true).open(&path))?;
        Ok(Box::new(DiskFile(file)))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path.join(from), self.path.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }

    #[cfg(unix)]
    fn sync_names(&self) -> io::Result<()> {
        self.reserve.folder.sync_all()
    }

    /// Elsewhere a folder cannot be opened as a file, and the file system keeps names durable itself.
    #[cfg(not(unix))]
    fn sync_names(&self) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Debug)]
struct FolderGuard {
    _file: Option<fs::File>,
}

impl Guard for FolderGuard {}

#[derive(Debug)]
struct DiskFile(fs::File);

impl File for DiskFile {
    fn size(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    #[cfg(unix)]
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(&self.0, into, offset)
    }

    #[cfg(unix)]
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        std::os::unix::fs::FileExt::write_at(&self.0, bytes, offset)
    }

    #[cfg(windows)]
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_read(&self.0, into, offset)
    }

    #[cfg(windows)]
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_write(&self.0, bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }
}
