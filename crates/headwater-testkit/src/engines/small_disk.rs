//! A small file system that a test can fill.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

use super::{fail, folder::unprivileged};

const NAME: &str = "small disk";

/// The file that takes all the room.
const FILLER: &str = "filler";

/// A file system in memory, owned by the user that servers run as. Only root can mount one. Declare it before
/// the server that uses it: it is unmounted when it is dropped.
#[derive(Debug)]
pub struct SmallDisk {
    folder: TempDir,
}

impl SmallDisk {
    /// Mounts a file system of this many MiB. `None` if this process is not root, or may not mount; a note is
    /// printed in that case.
    ///
    /// # Panics
    /// If there is no temporary folder or no unprivileged user.
    #[allow(clippy::print_stdout, reason = "the test output must show why a test was skipped")]
    #[must_use]
    #[track_caller]
    pub fn mount(mebibytes: u32) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            println!("skipped: only root can mount a small disk");
            return None;
        }
        let (folder, account) = match TempDir::with_prefix("headwater-disk-")
            .and_then(|folder| unprivileged().map(|account| (folder, account)))
        {
            Ok(made) => made,
            Err(error) => fail(NAME, &error.to_string()),
        };
        let options = format!("size={mebibytes}m,mode=0700,uid={},gid={}", account.user, account.group);
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &options, "headwater-disk"]).arg(folder.path());
        let refused = match mount.output() {
            Ok(output) if output.status.success() => return Some(Self { folder }),
            Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
            Err(error) => error.to_string(),
        };
        println!("skipped: root may not mount here: {refused}");
        None
    }

    /// The root of the file system.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    fn filler(&self) -> PathBuf {
        self.path().join(FILLER)
    }

    /// Takes all the room that is left.
    ///
    /// # Panics
    /// If writing fails for another reason.
    #[track_caller]
    pub fn fill(&self) {
        let filled = File::create(self.filler()).and_then(|mut file| {
            loop {
                match file.write(&[0; 4096]) {
                    Ok(_) => {}
                    Err(error) if error.kind() == io::ErrorKind::StorageFull => return Ok(()),
                    Err(error) => return Err(error),
                }
            }
        });
        if let Err(error) = filled {
            fail(NAME, &format!("cannot be filled: {error}"));
        }
    }

    /// Gives back the room that [`fill`](Self::fill) took.
    ///
    /// # Panics
    /// If it was not filled.
    #[track_caller]
    pub fn make_room(&self) {
        if let Err(error) = fs::remove_file(self.filler()) {
            fail(NAME, &format!("was not filled: {error}"));
        }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: a server that is still running keeps its files until it ends.
        let _ = Command::new("umount").arg("--lazy").arg(self.path()).output();
    }
}
