//! `headwater store backup` and `restore`: copies of a folder, also while its server runs.

use std::{
    collections::BTreeMap,
    fs, io,
    io::Write as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use headwater_store::embedded::{Folder, check as check_files};

use crate::{
    failure::{CommandFailure, ExitVerdict},
    style,
};

/// How often the copy is brought up to date with a server that writes, before it is given up.
const ROUNDS: usize = 50;

/// The identity of a segment's content: rewriting a segment makes it another file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileStamp {
    length: u64,
    modified: Option<SystemTime>,
    file: u64,
}

/// Copies the store in a folder into an empty one, and checks the copy.
pub(super) fn backup(from: &Path, to: &Path) -> Result<ExitVerdict, CommandFailure> {
    make_empty(to)?;
    copy_segments(from, to)?;
    report(to, &format!("copied {} to {}", from.display(), to.display()))
}

/// Copies a backup into the place of a store that is not there, after checking it.
pub(super) fn restore(from: &Path, to: &Path) -> Result<ExitVerdict, CommandFailure> {
    let files = Folder::unchanged(from).map_err(|error| reading(from, error))?;
    let backup = check_files(Arc::new(files)).map_err(|error| CommandFailure::of_folder(from, &error))?;
    if !backup.is_good() {
        let message =
            format!("the backup in {} is damaged: `headwater store check` says where", from.display());
        return Err(CommandFailure::new(message));
    }
    make_empty(to)?;
    copy_segments(from, to)?;
    report(to, &format!("restored {} to {}", from.display(), to.display()))
}

fn report(to: &Path, done: &str) -> Result<ExitVerdict, CommandFailure> {
    let files = Folder::unchanged(to).map_err(|error| reading(to, error))?;
    let report = check_files(Arc::new(files)).map_err(|error| CommandFailure::of_folder(to, &error))?;
    let mut out = style::stdout(false);
    writeln!(out, "{}", style::printable(done))?;
    writeln!(out, "{}", style::printable(&report.to_string()))?;
    out.flush()?;
    Ok(ExitVerdict::at_fault_if(!report.is_good()))
}

fn reading(folder: &Path, error: io::Error) -> CommandFailure {
    CommandFailure::reading(&folder.display().to_string(), error)
}

/// A backup never replaces anything.
fn make_empty(folder: &Path) -> Result<(), CommandFailure> {
    fs::create_dir_all(folder).map_err(|error| reading(folder, error))?;
    let mut entries = folder.read_dir().map_err(|error| reading(folder, error))?;
    if entries.next().is_some() {
        let message = format!("{} is not empty: give a folder that is new or empty", folder.display());
        return Err(CommandFailure::new(message));
    }
    Ok(())
}

/// Copies the segments in the order in which they were written, the one that is being written last. A server that writes
/// meanwhile only appends to that one, so the copy is the store as it was at some moment. Unless it rewrites or adds
/// segments: then those are copied again, until nothing but the end of the last one has changed.
pub(super) fn copy_segments(from: &Path, to: &Path) -> Result<(), CommandFailure> {
    let mut copied: BTreeMap<String, FileStamp> = BTreeMap::new();
    for _ in 0..ROUNDS {
        let listed = segments(from).map_err(|error| reading(from, error))?;
        for gone in copied.keys().filter(|name| !listed.contains_key(*name)) {
            fs::remove_file(to.join(gone)).map_err(|error| reading(to, error))?;
        }
        copied.retain(|name, _| listed.contains_key(name));
        for (name, stamp) in &listed {
            if copied.get(name) == Some(stamp) {
                continue;
            }
            match copy_file(&from.join(name), &to.join(name)) {
                Ok(()) => drop(copied.insert(name.clone(), *stamp)),
                // The server has removed it since.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(reading(&from.join(name), error)),
            }
        }
        let now = segments(from).map_err(|error| reading(from, error))?;
        let is_done = now.keys().eq(copied.keys())
            && now.iter().rev().skip(1).all(|(name, stamp)| copied.get(name) == Some(stamp));
        if is_done {
            return Ok(());
        }
    }
    let message = format!("the store in {} changes faster than it can be copied: try again", from.display());
    Err(CommandFailure::temporary(message))
}

/// The segments of a folder, in the order in which they were written.
fn segments(folder: &Path) -> io::Result<BTreeMap<String, FileStamp>> {
    let mut found = BTreeMap::new();
    for entry in folder.read_dir()? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        if Path::new(&name).extension().is_none_or(|extension| extension != "seg") {
            continue;
        }
        match entry.metadata() {
            Ok(metadata) => drop(found.insert(name, stamp(&metadata))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

fn stamp(metadata: &fs::Metadata) -> FileStamp {
    #[cfg(unix)]
    let file = std::os::unix::fs::MetadataExt::ino(metadata);
    #[cfg(not(unix))]
    let file = 0;
    FileStamp { length: metadata.len(), modified: metadata.modified().ok(), file }
}

/// Copies a file that appears under its name when it is complete and durable.
fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    let part: PathBuf = to.with_extension("part");
    let mut source = fs::File::open(from)?;
    let mut options = fs::File::options();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut copy = options.open(&part)?;
    io::copy(&mut source, &mut copy)?;
    copy.sync_all()?;
    fs::rename(&part, to)
}
