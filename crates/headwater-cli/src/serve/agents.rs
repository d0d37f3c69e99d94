//! Loads agents from files and reloads them when the files change.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use headwater_models::Models;
use headwater_runtime::{Agent, AgentFile, AgentOptions, FileOptions};
use headwater_store::Store;

use crate::failure::CommandFailure;

/// The watched agent files and the agents loaded from them.
#[derive(Debug)]
pub(crate) struct AgentFiles {
    named: Vec<PathBuf>,
    with: FileOptions,
    loaded: Vec<LoadedAgent>,
    /// Files that could not be loaded, with their stamps, so that the same error is not reported twice.
    broken: Vec<(PathBuf, Vec<Stamp>)>,
}

/// An agent and the file that it was loaded from.
#[derive(Debug, Clone)]
pub(crate) struct LoadedAgent {
    pub(crate) path: PathBuf,
    pub(crate) file: AgentFile,
    pub(crate) agent: Agent,
    stamps: Vec<Stamp>,
    /// How many checks in a row did not find the file.
    missed: u8,
}

/// After how many missed checks an agent is removed: a file missing once is usually being rewritten.
const GONE: u8 = 2;

/// Detects changes of a file. A missing file has neither time nor length.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp(PathBuf, Option<(SystemTime, u64)>);

impl Stamp {
    fn of(path: &Path) -> Self {
        let found = fs::metadata(path).ok();
        let found = found.and_then(|found| Some((found.modified().ok()?, found.len())));
        Self(path.to_owned(), found)
    }
}

/// A change of an agent file.
#[derive(Debug)]
pub(crate) enum AgentFileChange {
    /// A new agent, or a new version of one.
    Loaded(LoadedAgent),
    /// The file cannot be loaded; the old version stays.
    Broken(String),
    /// The file is gone and the agent of this name is removed.
    Removed(String),
}

impl AgentFiles {
    /// Loads the given files and the files of the given folders.
    pub(crate) fn load(
        named: &[PathBuf],
        store: &Arc<dyn Store>,
        models: Models,
        options: AgentOptions,
    ) -> Result<Self, CommandFailure> {
        let with = FileOptions::new(store.clone()).models(models).options(options);
        let mut files = Self { named: named.to_vec(), with, loaded: Vec::new(), broken: Vec::new() };
        let mut wrong = Vec::new();
        for path in files.paths()? {
            match files.read(&path, None) {
                Ok(loaded) => files.loaded.push(loaded),
                Err(message) => wrong.push((path, message)),
            }
        }
        wrong.retain(|(path, _)| !files.is_included(path));
        if !wrong.is_empty() {
            let wrong: Vec<_> = wrong.into_iter().map(|(_, message)| message).collect();
            return Err(CommandFailure::new(wrong.join("\n")));
        }
        if files.loaded.is_empty() {
            let shown: Vec<_> = named.iter().map(|path| path.display().to_string()).collect();
            let message = format!("no agent file in {}: `headwater new hello` writes one", shown.join(", "));
            return Err(CommandFailure::new(message));
        }
        Ok(files)
    }

    pub(crate) fn loaded(&self) -> &[LoadedAgent] {
        &self.loaded
    }

    /// Checks the files for changes and loads the changed ones.
    pub(crate) fn changes(&mut self) -> Vec<AgentFileChange> {
        let paths = match self.paths() {
            Ok(paths) => paths,
            Err(failure) => return vec![AgentFileChange::Broken(failure.to_string())],
        };
        let mut changes = Vec::new();
        for loaded in &mut self.loaded {
            if paths.contains(&loaded.path) && loaded.path.exists() {
                continue;
            }
            loaded.missed = loaded.missed.saturating_add(1);
            if loaded.missed == GONE {
                // Clear the stamps so that the file is loaded if it returns, whatever its time.
                loaded.stamps.clear();
                changes.push(AgentFileChange::Removed(loaded.file.name().to_owned()));
            }
        }
        for path in paths {
            let at = self.loaded.iter().position(|loaded| loaded.path == path);
            if at.is_none() && self.is_included(&path) {
                continue;
            }
            let before = at.and_then(|at| self.loaded.get(at)).cloned();
            let seen = match &before {
                Some(loaded) => loaded.stamps.clone(),
                None => vec![],
            };
            let now = stamps(seen.iter().map(|stamp| stamp.0.as_path()), &path);
            if now == seen || now.iter().any(|stamp| stamp.1.is_none()) {
                continue;
            }
            let broken = self.broken.iter().position(|(broken, _)| *broken == path);
            if broken.and_then(|at| self.broken.get(at)).is_some_and(|(_, stamps)| *stamps == now) {
                continue;
            }
            if let Some(at) = broken {
                self.broken.swap_remove(at);
            }
            match self.read(&path, before.as_ref()) {
                Ok(loaded) => {
                    let name = loaded.file.name();
                    // A file that moved is still the same agent.
                    let at = self.loaded.iter().position(|known| known.file.name() == name);
                    match at.and_then(|at| self.loaded.get_mut(at)) {
                        Some(place) => *place = loaded.clone(),
                        None => self.loaded.push(loaded.clone()),
                    }
                    changes.push(AgentFileChange::Loaded(loaded));
                }
                Err(message) => {
                    self.broken.push((path, now));
                    changes.push(AgentFileChange::Broken(message));
                }
            }
        }
        changes
    }

    /// The given files, and the files of the given folders.
    fn paths(&self) -> Result<Vec<PathBuf>, CommandFailure> {
        let mut paths = Vec::new();
        for path in &self.named {
            if !path.is_dir() {
                paths.push(path.clone());
                continue;
            }
            let listed = fs::read_dir(path).and_then(|entries| {
                entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>()
            });
            let mut listed =
                listed.map_err(|error| CommandFailure::reading(&path.display().to_string(), error))?;
            listed.retain(|path| is_agent(path));
            listed.sort();
            paths.extend(listed);
        }
        Ok(paths)
    }

    /// Whether another file includes this one: then it does not have to be an agent.
    fn is_included(&self, path: &Path) -> bool {
        let same = |one: &Path| one.canonicalize().ok() == path.canonicalize().ok();
        self.loaded.iter().any(|loaded| {
            loaded.missed == 0
                && loaded.path != path
                && loaded.file.files().iter().any(|included| same(included))
        })
    }

    fn read(&self, path: &Path, before: Option<&LoadedAgent>) -> Result<LoadedAgent, String> {
        // Taken before the file is read, so that a change in between is detected next time.
        let first = stamps([], path);
        let file = AgentFile::read(path).map_err(|errors| errors.to_string())?;
        let mut with = self.with.clone();
        let moved = self.loaded.iter().find(|gone| gone.missed > 0 && gone.file.name() == file.name());
        match before.or(moved) {
            Some(before) if before.file.name() == file.name() => {
                with = with.replaces(before.agent.clone(), before.file.clone());
            }
            Some(before) => {
                return Err(format!(
                    "{}: the agent was renamed from `{}` to `{}`: restart the server to rename it",
                    path.display(),
                    before.file.name(),
                    file.name()
                ));
            }
            None => {}
        }
        if let Some(other) = self
            .loaded
            .iter()
            .find(|other| other.path != path && other.missed == 0 && other.file.name() == file.name())
        {
            return Err(format!(
                "{}: agent `{}` is already defined in {}: give one of them another `name`",
                path.display(),
                file.name(),
                other.path.display()
            ));
        }
        let agent = file.build(with).map_err(|error| error.to_string())?;
        let mut stamps = stamps(file.files().iter().map(PathBuf::as_path), path);
        for stamp in &mut stamps {
            if let Some(first) = first.iter().find(|first| first.0 == stamp.0) {
                stamp.1 = first.1;
            }
        }
        Ok(LoadedAgent { path: path.to_owned(), file, agent, stamps, missed: 0 })
    }
}

/// The stamps of a file and of the files that it includes.
fn stamps<'p>(files: impl IntoIterator<Item = &'p Path>, path: &Path) -> Vec<Stamp> {
    let mut stamps: Vec<_> = files.into_iter().map(Stamp::of).collect();
    if !stamps.iter().any(|stamp| stamp.0 == path) {
        stamps.push(Stamp::of(path));
    }
    stamps
}

/// Whether the extension is that of an agent file.
fn is_agent(path: &Path) -> bool {
    matches!(path.extension().and_then(|ending| ending.to_str()), Some("yaml" | "yml" | "json"))
}
