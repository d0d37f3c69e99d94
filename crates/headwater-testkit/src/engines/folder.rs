//! The temporary folder of a server, owned by the user that the server runs as.

use std::{
    env, fs, io,
    os::unix::{
        fs::{PermissionsExt as _, chown},
        process::CommandExt as _,
    },
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use tempfile::TempDir;

/// User for servers when the tests run as root.
const UNPRIVILEGED: &str = "nobody";

/// User and group ids.
#[derive(Debug, Clone, Copy)]
pub(super) struct Account {
    pub(super) user: u32,
    pub(super) group: u32,
}

/// A temporary folder that a server can write to.
#[derive(Debug)]
pub(super) struct ServerFolder {
    temporary: TempDir,
    /// Set only for root; other users start servers as themselves.
    account: Option<Account>,
}

impl ServerFolder {
    pub(super) fn new() -> io::Result<Self> {
        let temporary = TempDir::with_prefix("headwater-engine-")?;
        let account = if rustix::process::geteuid().is_root() { Some(unprivileged()?) } else { None };
        let folder = Self { temporary, account };
        folder.chown(folder.path())?;
        Ok(folder)
    }

    pub(super) fn path(&self) -> &Path {
        self.temporary.path()
    }

    /// Writes a file that only the server may read, because it may hold a key or a password.
    pub(super) fn write(&self, name: &str, text: &str) -> io::Result<PathBuf> {
        let path = self.path().join(name);
        fs::write(&path, text)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
        self.chown(&path)?;
        Ok(path)
    }

    /// A command that runs in the folder as the server's user.
    pub(super) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        // Messages are searched for words, so they must be in English.
        command.current_dir(self.path()).env("LC_ALL", "C").stdin(Stdio::null());
        // Ctrl-C at the terminal must not stop the server before the tests.
        command.process_group(0);
        if let Some(Account { user, group }) = self.account {
            command.uid(user).gid(group);
        }
        command
    }

    fn chown(&self, path: &Path) -> io::Result<()> {
        match self.account {
            Some(Account { user, group }) => chown(path, Some(user), Some(group)),
            None => Ok(()),
        }
    }
}

/// The user that servers run as when the tests run as root.
pub(super) fn unprivileged() -> io::Result<Account> {
    let users = fs::read_to_string("/etc/passwd")?;
    let found = users.lines().find_map(|line| account(line, UNPRIVILEGED));
    found.ok_or_else(|| {
        io::Error::other(format!(
            "no user {UNPRIVILEGED} in /etc/passwd: add one, or run the tests as a user"
        ))
    })
}

/// Parses the account from a line of `/etc/passwd`, if the name matches.
fn account(line: &str, name: &str) -> Option<Account> {
    let mut fields = line.split(':');
    if fields.next()? != name {
        return None;
    }
    let user = fields.nth(1)?.parse().ok()?;
    Some(Account { user, group: fields.next()?.parse().ok()? })
}

/// The first of several programs that exists on the PATH.
pub(super) fn on_path(programs: &[&str]) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let folders: Vec<_> = env::split_paths(&path).collect();
    let files = programs.iter().flat_map(|program| folders.iter().map(move |folder| folder.join(program)));
    files.into_iter().find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::account;

    #[test]
    fn account_is_parsed_from_its_line() {
        let line = "nobody:x:65534:65533:nobody:/nonexistent:/usr/sbin/nologin";
        let found = account(line, "nobody").unwrap();
        assert_eq!((found.user, found.group), (65534, 65533));
        assert!(account(line, "postgres").is_none() && account("nobody:x", "nobody").is_none());
    }
}
