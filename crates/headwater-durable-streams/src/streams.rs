//! Streams in a store: their settings, and the operations on them.

mod catalog;
mod content;
mod fork;
mod meta;
mod offset;
mod producer;
mod read;
mod record;
pub(crate) mod subscriptions;
mod sweep;
mod writer;
mod writers;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};

use headwater_store::Store;
use tokio::sync::watch;

pub(crate) use catalog::{CreateRequest, ForkRequest, StreamId};
pub(crate) use content::{ContentKind, json_array};
pub(crate) use meta::{Expiry, StreamMeta};
pub use offset::{Offset, parse_offset};
pub(crate) use producer::ProducerStamp;
pub(crate) use read::{StreamEntry, StreamPage};
pub(crate) use writer::{AppendOutcome, AppendRequest};

use subscriptions::Subscriptions;
use writers::StreamWriters;

/// How streams are served.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct StreamOptions {
    /// How long a long-poll waits for data: 20 s.
    pub long_poll: Duration,
    /// How long an SSE response lasts before the client is asked to reconnect: 60 s.
    pub sse: Duration,
    /// The interval of control events in a silent SSE response: 15 s.
    pub heartbeat: Duration,
    /// The streams that one owner may have: 10,000.
    pub streams: usize,
    /// The producers that one stream remembers: 10,000.
    pub producers: usize,
    /// Whether subscriptions may call webhooks.
    pub webhooks: bool,
}

impl Default for StreamOptions {
    fn default() -> Self {
        Self {
            long_poll: Duration::from_secs(20),
            sse: Duration::from_secs(60),
            heartbeat: Duration::from_secs(15),
            streams: 10_000,
            producers: 10_000,
            webhooks: false,
        }
    }
}

/// Streams in a store. Cheap to clone; all clones are one.
#[derive(Debug, Clone)]
pub struct DurableStreams(pub(crate) Arc<StreamEngine>);

#[derive(Debug)]
pub(crate) struct StreamEngine {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) options: StreamOptions,
    pub(crate) subscriptions: Subscriptions,
    writers: StreamWriters,
    /// Number of streams of each owner, counted when the owner first creates one.
    counts: Mutex<HashMap<String, usize>>,
    closing: watch::Sender<bool>,
    background: OnceLock<()>,
}

impl DurableStreams {
    /// Streams in this store.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, options: StreamOptions) -> Self {
        let subscriptions = Subscriptions::new(store.as_ref(), options.webhooks);
        Self(Arc::new(StreamEngine {
            store,
            options,
            subscriptions,
            writers: StreamWriters::default(),
            counts: Mutex::default(),
            closing: watch::Sender::new(false),
            background: OnceLock::new(),
        }))
    }

    /// How they are served.
    #[must_use]
    pub fn options(&self) -> &StreamOptions {
        &self.0.options
    }

    /// Ends all open reads, so that their clients reconnect here or at another server.
    pub fn let_go(&self) {
        self.0.closing.send_replace(true);
    }

    /// Starts the background work with the first request: it releases idle leases, removes expired streams, and attends to
    /// subscriptions for as long as the streams are in use.
    pub(crate) fn ensure_background(&self) {
        self.0.background.get_or_init(|| {
            tokio::spawn(sweep::maintain(Arc::downgrade(&self.0)));
        });
    }
}

impl StreamEngine {
    /// Resolves when open reads should end.
    pub(crate) async fn closed(&self) {
        let mut closing = self.closing.subscribe();
        // The sender lives as long as the engine.
        let _ = closing.wait_for(|closing| *closing).await;
    }

    fn counts(&self) -> std::sync::MutexGuard<'_, HashMap<String, usize>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
