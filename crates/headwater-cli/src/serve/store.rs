//! Opening the store, and saying who has it if somebody has.

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
    config::{Settings, StoreUrl},
    failure::Failure,
};

/// The file in the data folder that says who serves from it.
const SERVING: &str = "serving.json";

/// Who serves from a data folder. A process that was killed leaves this behind: only the store's lock is the truth.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Serving {
    pub(crate) pid: u32,
    pub(crate) address: String,
}

impl Serving {
    /// Who said last that it serves from this folder.
    pub(crate) fn read(data: &Path) -> Option<Self> {
        serde_json::from_str(&fs::read_to_string(data.join(SERVING)).ok()?).ok()
    }

    /// Writes down who serves from the folder; gives what takes that back.
    pub(crate) fn note(settings: &Settings, address: String) -> Option<Noted> {
        let StoreUrl::File(_) = settings.store else { return None };
        let path = settings.data.join(SERVING);
        let text = serde_json::to_string(&Self { pid: std::process::id(), address }).ok()?;
        // It only makes one message better: not worth a failure.
        let written = fs::create_dir_all(&settings.data).and_then(|()| fs::write(&path, text));
        written.is_ok().then_some(Noted(path))
    }
}

/// What is written down about who serves; dropping it takes it back.
#[derive(Debug)]
pub(crate) struct Noted(std::path::PathBuf);

impl Drop for Noted {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// The store of the settings.
pub(crate) enum Opened {
    Memory(Arc<Memory>),
    Folder(Arc<Embedded>),
    #[cfg(feature = "postgres")]
    Postgres(Arc<PostgresStore>),
    #[cfg(feature = "redis")]
    Redis(Arc<RedisStore>),
}

impl Opened {
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

    /// Opens a store that has stopped anew, if it can be.
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

    /// Opens a store that has stopped anew, as often as it stops. Never ends.
    pub(crate) async fn keep_recovering(&self) {
        let store = self.store();
        let mut pause = FIRST_PAUSE;
        loop {
            let running = Instant::now();
            let cause = store.stopped().await;
            // Each recovery takes runs up again, and asks models again: one that does not last is not tried at once.
            if running.elapsed() > LONGEST_PAUSE {
                pause = FIRST_PAUSE;
            }
            tracing::error!(code = cause.code(), %cause, "the store has stopped: its runs are taken up when it recovers");
            loop {
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
                match self.recover().await {
                    Ok(()) => break,
                    Err(error) => {
                        tracing::warn!(code = error.code(), %error, "the store cannot be opened anew yet");
                    }
                }
            }
            tracing::info!("the store has recovered");
        }
    }
}

/// How long to wait before a store is opened anew, at first and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Opens the store.
pub(crate) async fn open(settings: &Settings) -> Result<Opened, Failure> {
    match &settings.store {
        StoreUrl::Memory(max) => {
            let mut options = MemoryOptions::default();
            options.max_bytes = max.unwrap_or(options.max_bytes);
            options.max_journal_bytes = options.max_journal_bytes.min(options.max_bytes / 4);
            Ok(Opened::Memory(Arc::new(Memory::with(options))))
        }
        StoreUrl::File(folder) => open_folder(settings, folder),
        shared @ (StoreUrl::Postgres(_) | StoreUrl::Redis(_)) => connect(shared).await,
    }
}

/// Connects to a server that several machines share.
pub(crate) async fn connect(store: &StoreUrl) -> Result<Opened, Failure> {
    match store {
        #[cfg(feature = "postgres")]
        StoreUrl::Postgres(url) => {
            let store =
                PostgresStore::connect(&url.0, remote::Options::default()).await.map_err(unreachable)?;
            Ok(Opened::Postgres(Arc::new(store)))
        }
        #[cfg(feature = "redis")]
        StoreUrl::Redis(url) => {
            let store = RedisStore::connect(&url.0, remote::Options::default()).await.map_err(unreachable)?;
            Ok(Opened::Redis(Arc::new(store)))
        }
        other => Err(Failure::new(format!("this build has no store for {other}"))),
    }
}

/// A server that is away comes back: a supervisor tries again.
#[cfg(any(feature = "postgres", feature = "redis"))]
fn unreachable(error: headwater_store::Error) -> Failure {
    if error.is_retryable() { Failure::temporary(error.to_string()) } else { Failure::new(error.to_string()) }
}

fn open_folder(settings: &Settings, folder: &Path) -> Result<Opened, Failure> {
    let files = Folder::new(folder).map_err(|error| {
        let message = format!("cannot open the store in {}: making the folder: {error}", folder.display());
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Failure::temporary(message),
            _ => Failure::new(message),
        }
    })?;
    if files.was_open_to_others() {
        tracing::warn!(folder = %folder.display(), "others than the owner could read the store: they no longer can");
    }
    let mut options = Options::default();
    options.fsync = settings.fsync;
    let store = Embedded::open_folder(folder, options).map_err(|error| match error.kind() {
        ErrorKind::Locked => {
            let who = match Serving::read(&settings.data) {
                Some(Serving { pid, address }) => {
                    format!("the headwater process {pid}, which listens on {address}")
                }
                None => "another process".to_owned(),
            };
            Failure::new(format!(
                "the store in {} is used by {who}: stop that one, or give this one a folder of its own with --data DIR",
                folder.display()
            ))
        }
        ErrorKind::NoSpace => {
            Failure::temporary(format!("cannot open the store in {}: {error}", folder.display()))
        }
        _ => Failure::new(format!("cannot open the store in {}: {error}", folder.display())),
    })?;
    for damage in store.damages() {
        tracing::warn!(?damage, "the store is damaged: what is left is served");
    }
    Ok(Opened::Folder(Arc::new(store)))
}
