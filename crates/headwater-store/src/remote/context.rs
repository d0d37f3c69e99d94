//! State shared by a store and its tasks: the writer, and those that listen and poll.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::sync::Notify;

use super::{Options, call::CallLimits, state::RemoteState, time::EngineClock, watch::Watches};
use crate::{Error, JournalId, Result, batch::CommitRoom};

/// The longest key of a value, name of a journal and name of an owner, in bytes.
const MAX_NAME: usize = 1_024;

/// State shared by a store and its tasks.
#[derive(Debug)]
pub(super) struct StoreContext<E> {
    pub(super) engine: E,
    pub(super) options: Options,
    pub(super) time: Arc<EngineClock>,
    state: Mutex<RemoteState>,
    pub(super) room: Arc<CommitRoom>,
    /// Wakes the writer.
    pub(super) work: Notify,
    pub(super) watches: Watches,
    /// Journals of which there is more to fetch, and what wakes the task that does it.
    hinted: Mutex<HashSet<JournalId>>,
    pub(super) fetch: Notify,
    /// Journals about which the engine is being asked.
    pub(super) tail_reads: Mutex<HashMap<JournalId, Weak<tokio::sync::Mutex<()>>>>,
    /// Journals that are being restored piece by piece.
    restoring: Mutex<HashMap<JournalId, Restoring>>,
    closing: AtomicBool,
}

impl<E> StoreContext<E> {
    pub(super) fn new(engine: E, options: Options, time: Arc<EngineClock>) -> Self {
        let state = RemoteState::new();
        Self {
            engine,
            options,
            time,
            room: state.room.clone(),
            state: Mutex::new(state),
            work: Notify::new(),
            watches: Watches::default(),
            hinted: Mutex::default(),
            fetch: Notify::new(),
            tail_reads: Mutex::default(),
            restoring: Mutex::default(),
            closing: AtomicBool::new(false),
        }
    }

    pub(super) fn restoring(&self) -> MutexGuard<'_, HashMap<JournalId, Restoring>> {
        self.restoring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn state(&self) -> MutexGuard<'_, RemoteState> {
        // What is inside is whole between any two calls.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn hinted(&self) -> MutexGuard<'_, HashSet<JournalId>> {
        self.hinted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The limits of a call.
    pub(super) fn limits(&self) -> CallLimits {
        CallLimits { patience: self.options.patience, attempt: self.options.request_timeout }
    }

    /// The limits of a read of a journal.
    pub(super) fn read_limits(&self) -> CallLimits {
        let patience = self.options.read_patience.min(self.options.patience);
        CallLimits { patience, attempt: self.options.request_timeout }
    }

    pub(super) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::SeqCst)
    }

    /// Lets the writer finish its work and end.
    pub(super) fn close(&self) {
        self.closing.store(true, Ordering::SeqCst);
        self.work.notify_one();
    }
}

/// A restore of which this process has written some pieces.
#[derive(Debug)]
pub(super) struct Restoring {
    pub(super) number: u64,
    pub(super) last: u64,
    pub(super) bytes: u64,
}

pub(super) fn check_name(what: &str, name: &str) -> Result<()> {
    if name.len() > MAX_NAME {
        return Err(Error::too_large(what, name.len(), MAX_NAME));
    }
    Ok(())
}
