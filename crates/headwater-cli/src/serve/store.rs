//! Opens the store, and names the process that uses it if it is locked.

use std::{
    fs, io,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

#[cfg(feature = "postgres")]
use headwater_store::PostgresStore;
#[cfg(feature = "redis")]
use headwater_store::RedisStore;
#[cfg(any(feature = "postgres", feature = "redis"))]
use headwater_store::remote;
use headwater_store::{
    Embedded, ErrorKind, Memory, MemoryOptions, Store,
    embedded::{Folder, Options},
};
use serde::{Deserialize, Serialize};

use crate::{
    config::{ServerSettings, StoreUrl},
    failure::CommandFailure,
};

/// The file in the data folder that names the serving process.
const SERVING: &str = "serving.json";

/// The process that serves from a data folder. A killed process leaves this file behind: only the store's
/// lock is reliable.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ServerProcess {
    pub(crate) pid: u32,
    pub(crate) address: String,
}

impl ServerProcess {
    /// The last process that claimed this folder.
    pub(crate) fn read(data: &Path) -> Option<Self> {
        serde_json::from_str(&fs::read_to_string(data.join(SERVING)).ok()?).ok()
    }

    /// Records this process as serving from the folder; dropping the result removes the file.
    pub(crate) fn note(settings: &ServerSettings, address: String) -> Option<ServingFile> {
        let StoreUrl::File(_) = settings.store else { return None };
        let path = settings.data.join(SERVING);
        let text = serde_json::to_string(&Self { pid: std::process::id(), address }).ok()?;
        // The file only improves one error message, so a failed write is not an error.
        let written = fs::create_dir_all(&settings.data).and_then(|()| fs::write(&path, text));
        written.is_ok().then_some(ServingFile(path))
    }
}

/// Removes the file when dropped.
#[derive(Debug)]
pub(crate) struct ServingFile(std::path::PathBuf);

impl Drop for ServingFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// The opened store of the settings.
pub(crate) enum OpenStore {
    Memory(Arc<Memory>),
    Folder(Arc<Embedded>),
    #[cfg(feature = "postgres")]
    Postgres(Arc<PostgresStore>),
    #[cfg(feature = "redis")]
    Redis(Arc<RedisStore>),
}

impl OpenStore {
    pub(crate) fn store(&self) -> Arc<dyn Store> {
        match self {
            Self::Memory(store) => store.clone(),
            Self::Folder(store) => store.clone(),
            #[cfg(feature = "postgres")]
            Self::Postgres(store) => store.clone(),
            #[cfg(feature = "redis")]
            Self::Redis(store) => store.clone(),
        }
    }

    /// Reopens a stopped store, if it can be reopened.
    async fn recover(&self) -> headwater_store::Result<()> {
        match self {
            Self::Memory(_) => Ok(()),
            Self::Folder(store) => store.recover().await,
            #[cfg(feature = "postgres")]
            Self::Postgres(store) => store.recover().await,
            #[cfg(feature = "redis")]
            Self::Redis(store) => store.recover().await,
        }
    }

    /// Reopens the store whenever it stops. Never returns.
    pub(crate) async fn keep_recovering(&self) {
        let store = self.store();
        let mut pause = FIRST_PAUSE;
        loop {
            let running = Instant::now();
            let cause = store.stopped().await;
            // Each recovery resumes runs and calls models again, so a store that keeps stopping is retried
            // with growing pauses.
            if running.elapsed() > LONGEST_PAUSE {
                pause = FIRST_PAUSE;
            }
            tracing::error!(code = cause.code(), %cause, "the store has stopped: its runs continue when it recovers");
            loop {
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
                match self.recover().await {
                    Ok(()) => break,
                    Err(error) => {
                        tracing::warn!(code = error.code(), %error, "cannot reopen the store yet");
                    }
                }
            }
            tracing::info!("the store has recovered");
        }
    }
}

/// The first and the longest pause before a store is reopened.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

pub(crate) async fn open(settings: &ServerSettings) -> Result<OpenStore, CommandFailure> {
    match &settings.store {
        StoreUrl::Memory(max) => {
            let mut options = MemoryOptions::default();
            options.max_bytes = max.unwrap_or(options.max_bytes);
            options.max_journal_bytes = options.max_journal_bytes.min(options.max_bytes / 4);
            Ok(OpenStore::Memory(Arc::new(Memory::with(options))))
        }
        StoreUrl::File(folder) => open_folder(settings, folder),
        shared @ (StoreUrl::Postgres(_) | StoreUrl::Redis(_)) => {
            connect(shared, request_timeout(settings.lease)).await
        }
    }
}

/// The longest that one request to a shared engine may take.
pub(crate) const LONGEST_REQUEST: Duration = Duration::from_secs(20);

/// How long one request to a shared engine may take. A lease is renewed three times within its length, so a request whose
/// connection was lost must be given up early enough for another one. An engine needs some seconds when it is busy.
fn request_timeout(lease: Duration) -> Duration {
    (lease / 3).clamp(Duration::from_secs(5), LONGEST_REQUEST)
}

/// Connects to a database that several machines share.
pub(crate) async fn connect(store: &StoreUrl, request: Duration) -> Result<OpenStore, CommandFailure> {
    #[cfg(any(feature = "postgres", feature = "redis"))]
    let options = {
        let mut options = remote::Options::default();
        options.request_timeout = request;
        options
    };
    #[cfg(not(any(feature = "postgres", feature = "redis")))]
    let _ = request;
    match store {
        #[cfg(feature = "postgres")]
        StoreUrl::Postgres(url) => {
            let store = PostgresStore::connect(&url.0, options).await.map_err(unreachable)?;
            Ok(OpenStore::Postgres(Arc::new(store)))
        }
        #[cfg(feature = "redis")]
        StoreUrl::Redis(url) => {
            let store = RedisStore::connect(&url.0, options).await.map_err(unreachable)?;
            Ok(OpenStore::Redis(Arc::new(store)))
        }
        other => Err(CommandFailure::new(format!("this build has no store for {other}"))),
    }
}

/// The database may become available again, so let a supervisor retry.
#[cfg(any(feature = "postgres", feature = "redis"))]
fn unreachable(error: headwater_store::Error) -> CommandFailure {
    if error.is_retryable() {
        CommandFailure::temporary(error.to_string())
    } else {
        CommandFailure::new(error.to_string())
    }
}

fn open_folder(settings: &ServerSettings, folder: &Path) -> Result<OpenStore, CommandFailure> {
    let files = Folder::new(folder).map_err(|error| {
        let message = format!("cannot open the store in {}: creating the folder: {error}", folder.display());
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => CommandFailure::temporary(message),
            _ => CommandFailure::new(message),
        }
    })?;
    if files.was_open_to_others() {
        tracing::warn!(folder = %folder.display(), "the store was readable by other users: restricted it to its owner");
    }
    let mut options = Options::default();
    options.fsync = settings.fsync;
    let store = Embedded::open_folder(folder, options).map_err(|error| match error.kind() {
        ErrorKind::Locked => {
            let who = match ServerProcess::read(&settings.data) {
                Some(ServerProcess { pid, address }) => {
                    format!("the headwater process {pid}, which listens on {address}")
                }
                None => "another process".to_owned(),
            };
            CommandFailure::new(format!(
                "the store in {} is in use by {who}: stop it, or use another folder with --data DIR",
                folder.display()
            ))
        }
        ErrorKind::NoSpace => {
            CommandFailure::temporary(format!("cannot open the store in {}: {error}", folder.display()))
        }
        _ => CommandFailure::new(format!("cannot open the store in {}: {error}", folder.display())),
    })?;
    for damage in store.damages() {
        tracing::warn!(?damage, "the store is damaged: serving the readable part");
    }
    Ok(OpenStore::Folder(Arc::new(store)))
}
