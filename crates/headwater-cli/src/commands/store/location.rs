//! Parses the STORE argument.

use std::{
    fmt, fs,
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
};

use headwater_store::{Embedded, ErrorKind, Store};

use super::backup::copy_segments;
use crate::{
    config::{Layers, ServerSettings, StoreUrl},
    failure::CommandFailure,
    serve::store::{LONGEST_REQUEST, connect},
};

/// A persistent store: a folder, or a URL as in the setting `store`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct StoreLocation(StoreUrl);

impl FromStr for StoreLocation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let scheme = text.split_once(':').map(|(scheme, _)| scheme);
        let is_url = scheme.is_some_and(|scheme| {
            // A single letter is a Windows drive, not a URL scheme.
            scheme.len() > 1 && scheme.bytes().all(|byte| byte.is_ascii_alphabetic())
        });
        Self::new(if is_url { text.parse()? } else { StoreUrl::File(store_in(PathBuf::from(text))) })
    }
}

impl fmt::Display for StoreLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            StoreUrl::File(folder) => write!(f, "{}", folder.display()),
            url => url.fmt(f),
        }
    }
}

impl StoreLocation {
    fn new(url: StoreUrl) -> Result<Self, String> {
        match url {
            StoreUrl::Memory(_) => {
                Err("a `memory:` store is lost when its server stops: give another one".to_owned())
            }
            url => Ok(Self(url)),
        }
    }

    /// The store given as argument, or the one of the settings.
    pub(in super::super) fn or_settings(named: Option<&Self>) -> Result<Self, CommandFailure> {
        if let Some(named) = named {
            return Ok(named.clone());
        }
        let environment = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        let settings = ServerSettings::of(&Layers::gather(Vec::new(), environment, None)?)?;
        Self::new(settings.store)
            .map_err(|why| CommandFailure::new(format!("the settings keep runs in memory: {why}")))
    }

    /// The folder of an existing store; inspecting a store must not create one.
    pub(super) fn folder(&self) -> Result<&Path, CommandFailure> {
        match &self.0 {
            StoreUrl::File(folder) if has_store(folder) => Ok(folder),
            StoreUrl::File(folder) => {
                let why = if folder.is_dir() { "it contains no store" } else { "there is no such folder" };
                Err(CommandFailure::new(format!("cannot read {}: {why}", folder.display())))
            }
            _ => Err(CommandFailure::new(format!("{self} is not a folder: this command needs one"))),
        }
    }

    pub(super) fn is_folder(&self) -> bool {
        matches!(self.0, StoreUrl::File(_))
    }

    /// Whether two locations are the same store.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let place = |folder: &Path| folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        match (&self.0, &other.0) {
            (StoreUrl::File(one), StoreUrl::File(other)) => place(one) == place(other),
            (one, other) => one == other,
        }
    }

    /// Opens an existing store.
    pub(super) async fn open(&self) -> Result<Arc<dyn Store>, CommandFailure> {
        if self.is_folder() {
            self.folder()?;
        }
        self.open_or_begin().await
    }

    /// Opens an existing store to read it. A folder in use by a server is read from a backup, which is made here
    /// and removed when it is no longer read.
    pub(in super::super) async fn open_to_read(&self) -> Result<ReadableStore, CommandFailure> {
        let StoreUrl::File(_) = &self.0 else {
            return Ok(ReadableStore { store: self.open().await?, backup: None });
        };
        let folder = self.folder()?;
        match Embedded::open(folder) {
            Ok(store) => Ok(ReadableStore { store: Arc::new(store), backup: None }),
            Err(error) if *error.kind() == ErrorKind::Locked => {
                let backup = TemporaryBackup::of(folder)?;
                let opened = Embedded::open(&backup.folder)
                    .map_err(|error| CommandFailure::of_folder(folder, &error))?;
                Ok(ReadableStore { store: Arc::new(opened), backup: Some(backup) })
            }
            Err(error) => Err(CommandFailure::of_folder(folder, &error)),
        }
    }

    /// Opens a store, or creates one in an empty location.
    pub(super) async fn open_or_begin(&self) -> Result<Arc<dyn Store>, CommandFailure> {
        match &self.0 {
            StoreUrl::File(folder) => match Embedded::open(folder) {
                Ok(store) => Ok(Arc::new(store)),
                Err(error) => Err(CommandFailure::of_folder(folder, &error)),
            },
            StoreUrl::Memory(_) => {
                Err(CommandFailure::new("a `memory:` store is lost when its server stops"))
            }
            shared @ (StoreUrl::Postgres(_) | StoreUrl::Redis(_)) => {
                Ok(connect(shared, LONGEST_REQUEST).await?.store())
            }
        }
    }
}

/// A store that is only read, itself or as a backup of it.
pub(in super::super) struct ReadableStore {
    // Closed before its folder is removed.
    pub(in super::super) store: Arc<dyn Store>,
    pub(in super::super) backup: Option<TemporaryBackup>,
}

/// A backup in a temporary folder, which is removed when this is dropped.
pub(in super::super) struct TemporaryBackup {
    pub(super) folder: PathBuf,
}

impl TemporaryBackup {
    fn of(store: &Path) -> Result<Self, CommandFailure> {
        let folder = std::env::temp_dir().join(format!("headwater-copy-{}", std::process::id()));
        let mut builder = fs::DirBuilder::new();
        // Others must not read it, and a folder that they have made there is not used.
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder
            .create(&folder)
            .map_err(|error| CommandFailure::new(format!("cannot create {}: {error}", folder.display())))?;
        let backup = Self { folder };
        copy_segments(store, &backup.folder)?;
        Ok(backup)
    }
}

impl Drop for TemporaryBackup {
    fn drop(&mut self) {
        // What could not be removed is in the folder for temporary files.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The store inside a data folder (`serve --data DIR` uses `DIR/store`), or the folder itself.
fn store_in(folder: PathBuf) -> PathBuf {
    let within = folder.join("store");
    if !has_store(&folder) && has_store(&within) { within } else { folder }
}

/// Whether a folder contains a store segment.
fn has_store(folder: &Path) -> bool {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    entries.into_iter().any(|entry| entry.path().extension().is_some_and(|extension| extension == "seg"))
}
