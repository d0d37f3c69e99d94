//! The one task that writes, for all runs of the process. While one commit is under way, the next gathers.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::{Engine, EngineFault, call::Backoff, context::StoreContext, state::CommitBatch};
use crate::{Error, ErrorKind};

/// How long a store that was dropped tries to write the rest.
const LAST_EFFORT: Duration = Duration::from_secs(5);

pub(super) async fn run<E: Engine>(shared: Arc<StoreContext<E>>) {
    // Deltas that come after a pause are written at once. Those that follow wait until the window after that commit is over.
    let mut window_ends = tokio::time::Instant::now();
    loop {
        wait_for_work(&shared, window_ends).await;
        // The first of many runs that a commit has woken wakes this task. The others have their turn now, or they would
        // all miss this commit, and every second one would be as small as this.
        tokio::task::yield_now().await;
        let taken = shared.state().take();
        match taken {
            Some(taken) => commit(&shared, taken).await,
            None if shared.is_closing() => return,
            None => {}
        }
        window_ends = tokio::time::Instant::now() + shared.options.delta_window;
    }
}

/// Waits until a commit should begin, or the store was dropped.
async fn wait_for_work<E: Engine>(shared: &StoreContext<E>, window_ends: tokio::time::Instant) {
    loop {
        let woken = shared.work.notified();
        let (some, urgent) = shared.state().work();
        if some && urgent || shared.is_closing() {
            return;
        }
        if some {
            tokio::select! {
                () = woken => {}
                () = tokio::time::sleep_until(window_ends) => return,
            }
        } else {
            woken.await;
        }
    }
}

/// Writes a batch, as often as it takes. The engine recognises what it has written already.
async fn commit<E: Engine>(shared: &StoreContext<E>, taken: CommitBatch) {
    let begun = Instant::now();
    let mut backoff = Backoff::new();
    let mut reported = false;
    loop {
        let fault = match shared.engine.commit(&taken.appends).await {
            Ok((verdicts, now)) => {
                shared.time.observe(now);
                if reported {
                    tracing::info!(
                        seconds = begun.elapsed().as_secs(),
                        "the store's engine takes writes again"
                    );
                }
                shared.state().settle(taken, &verdicts, &shared.options);
                return;
            }
            Err(fault) => fault,
        };
        let patience = if shared.is_closing() { LAST_EFFORT } else { shared.options.give_up_after };
        let given_up = begun.elapsed() >= patience;
        if let EngineFault::Refused(error) = &fault {
            tracing::error!(code = error.code(), %error, "the store's engine refuses to write");
            return shared.state().stop(error.clone());
        }
        let error = fault.error();
        if given_up {
            let message = format!("nothing could be written for {} s: {error}", begun.elapsed().as_secs());
            return shared.state().stop(Error::new(ErrorKind::Unavailable, message));
        }
        if !std::mem::replace(&mut reported, true) {
            tracing::warn!(code = error.code(), %error, "the store's engine takes no writes: trying again");
        }
        backoff.pause().await;
    }
}
