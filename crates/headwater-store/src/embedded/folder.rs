//! A real folder.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::files::{File, Files, Guard};

/// A folder of the file system.
#[derive(Debug, Clone)]
pub struct Folder {
    path: PathBuf,
}

/// The name of the file whose lock is the folder's.
const LOCK: &str = "lock";

impl Folder {
    /// A folder, which is made if it is not there.
    ///
    /// # Errors
    /// What the file system says.
    pub fn new(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        fs::create_dir_all(&path)?;
        Ok(Self { path })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Files for Folder {
    fn lock(&self) -> io::Result<Box<dyn Guard>> {
        let path = self.path.join(LOCK);
        let file = fs::File::options().read(true).write(true).create(true).truncate(false).open(path)?;
        file.try_lock()?;
        Ok(Box::new(Locked { _file: file }))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            // A name that is not text is not one of ours.
            if let (true, Ok(name)) = (entry.file_type()?.is_file(), entry.file_name().into_string()) {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn File>> {
        let file = fs::File::options().read(true).write(true).open(self.path.join(name))?;
        Ok(Box::new(OnDisk(file)))
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn File>> {
        let file = fs::File::options().read(true).write(true).create_new(true).open(self.path.join(name))?;
        Ok(Box::new(OnDisk(file)))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path.join(from), self.path.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }

    #[cfg(unix)]
    fn sync_names(&self) -> io::Result<()> {
        fs::File::open(&self.path)?.sync_all()
    }

    /// Elsewhere a folder cannot be opened as a file, and the file system keeps names by itself.
    #[cfg(not(unix))]
    fn sync_names(&self) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Debug)]
struct Locked {
    _file: fs::File,
}

impl Guard for Locked {}

#[derive(Debug)]
struct OnDisk(fs::File);

impl File for OnDisk {
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
