//! What other processes announce, and the poll that finds what no announcement brought.

use std::{sync::Arc, time::Duration};

use futures_util::{StreamExt as _, stream};
use tokio::time::timeout;

use super::{Engine, Hint, Hints, call::Backoff, context::StoreContext};
use crate::{Error, ErrorKind, JournalId, Result};

/// How many journals one request of a poll is about, and how many one request fetches.
const POLLED_TOGETHER: usize = 500;
const FETCHED_TOGETHER: usize = 32;

/// How many such requests are under way at the same time.
const FETCHES: usize = 4;

/// A journal without waiters is forgotten after this many polls.
const IDLE_POLLS: u32 = 4;

/// Watches look again, unasked, after so many polls.
const WATCH_POLLS: u32 = 5;

/// Listens to announcements. Never ends.
pub(super) async fn listen<E: Engine>(shared: Arc<StoreContext<E>>, mut hints: E::Hints) {
    let silence = shared.options.request_timeout;
    loop {
        let error = loop {
            match next(&mut hints, silence).await {
                Ok(hint) => heed(&shared, hint),
                Err(error) => break error,
            }
        };
        tracing::warn!(code = error.code(), %error, "the store's engine announces nothing: readers wait for the next poll");
        let mut backoff = Backoff::new();
        hints = loop {
            backoff.pause().await;
            if let Ok(hints) = shared.engine.subscribe().await {
                break hints;
            }
        };
        tracing::info!("the store's engine announces changes again");
        // Announcements in the meantime were lost.
        shared.watches.changed_unknown();
        poll(&shared).await;
    }
}

/// The next announcement. A firewall that forgets a connection informs neither side, so the engine is asked for a sign of life
/// after each silence, and has as long again to give one.
async fn next(hints: &mut impl Hints, silence: Duration) -> Result<Hint> {
    loop {
        if let Ok(next) = timeout(silence, hints.next()).await {
            return next.map_err(|fault| fault.error().clone());
        }
        match timeout(silence, hints.check()).await {
            Ok(checked) => checked.map_err(|fault| fault.error().clone())?,
            Err(_) => {
                let message = format!("the connection that listens has been silent for {:?}", silence * 2);
                return Err(Error::new(ErrorKind::Unavailable, message));
            }
        }
    }
}

fn heed<E: Engine>(shared: &StoreContext<E>, hint: Hint) {
    match hint {
        Hint::Value(key) => shared.watches.changed(&key),
        Hint::Journals(numbers) => {
            let state = shared.state();
            let followed = numbers.iter().filter_map(|number| state.numbers.get(number));
            let hinted: Vec<JournalId> = followed
                .filter(|journal| state.journals.get(*journal).is_some_and(|local| local.driven.is_none()))
                .cloned()
                .collect();
            drop(state);
            if !hinted.is_empty() {
                shared.hinted().extend(hinted);
                shared.fetch.notify_one();
            }
        }
    }
}

/// Fetches announced records, once for all readers of a journal. Never ends.
pub(super) async fn fetch<E: Engine>(shared: Arc<StoreContext<E>>) {
    loop {
        shared.fetch.notified().await;
        let hinted: Vec<JournalId> = std::mem::take(&mut *shared.hinted()).into_iter().collect();
        stream::iter(hinted.chunks(FETCHED_TOGETHER))
            .for_each_concurrent(FETCHES, |journals| shared.fetch_journals(journals))
            .await;
    }
}

/// Looks regularly for what no announcement brought. Never ends.
pub(super) async fn keep_polling<E: Engine>(shared: Arc<StoreContext<E>>) {
    for polls in 1_u32.. {
        tokio::time::sleep(shared.options.poll).await;
        if polls.is_multiple_of(WATCH_POLLS) {
            shared.watches.changed_unknown();
        }
        poll(&shared).await;
    }
}

async fn poll<E: Engine>(shared: &StoreContext<E>) {
    let mut followed = Vec::new();
    {
        let mut state = shared.state();
        let mut idle = Vec::new();
        for (journal, local) in &mut state.journals {
            if local.driven.is_some() {
                continue;
            }
            local.idle += 1;
            if local.has_waiters() {
                followed.push(journal.clone());
            } else if local.idle > IDLE_POLLS {
                idle.push(journal.clone());
            }
        }
        idle.iter().for_each(|journal| state.forget(journal));
    }
    for journals in followed.chunks(POLLED_TOGETHER) {
        let Ok(tails) = shared.engine.tails(journals).await else {
            // The next poll asks again. Readers ask for themselves meanwhile, and get an error if the engine stays away:
            // another process may reach it.
            return shared.state().doubt(&followed);
        };
        let mut state = shared.state();
        let mut behind = Vec::new();
        for (journal, found) in journals.iter().zip(tails) {
            let Some(local) = state.journals.get_mut(journal).filter(|local| local.driven.is_none()) else {
                continue;
            };
            match found {
                Some((number, tail)) if number == local.number => {
                    if tail.last > local.tail.last {
                        behind.push(journal.clone());
                    } else {
                        local.see(tail);
                    }
                }
                // It is gone, or another has its name: those who wait look for themselves.
                _ => state.forget(journal),
            }
        }
        drop(state);
        if !behind.is_empty() {
            shared.hinted().extend(behind);
            shared.fetch.notify_one();
        }
    }
}
