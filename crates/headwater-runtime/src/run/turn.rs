//! The interface from the run layer to the session layer. A run knows its session's key, and nothing else
//! about sessions.

use std::fmt;

use futures_util::future::BoxFuture;
use headwater_protocol::{Event, RequestId, RunId};
use headwater_store::WriteOp;

use crate::{Result, journal::AnswerValue, keys::SessionKey, node::ActiveRun};

/// Callbacks for a session whose runs are answered, wait or end. The session layer implements it.
pub(crate) trait TurnHost: fmt::Debug + Send + Sync {
    /// Starts the turn for answers that are about to be sent to a run.
    fn before_answers<'a>(
        &'a self,
        session: &'a SessionKey,
        run: &'a RunId,
        answers: &'a [(RequestId, AnswerValue)],
    ) -> BoxFuture<'a, Result<()>>;

    /// The event that announces the checkpoint of a run's turn to readers, before the run ends or waits.
    fn checkpoint_event<'a>(
        &'a self,
        session: &'a SessionKey,
        run: &'a RunId,
    ) -> BoxFuture<'a, Result<Option<Event>>>;

    /// Called when a run has ended or waits: ends its turn, and starts the next one.
    fn turn_over<'a>(&'a self, session: SessionKey, run: &'a ActiveRun) -> BoxFuture<'a, Result<()>>;
}

/// A turn started by this process. It can be ended without reading anything back.
pub(crate) trait BegunTurn: fmt::Debug + Send + Sync {
    /// As [`TurnHost::checkpoint_event`].
    fn checkpoint_event(&self) -> Option<Event>;

    /// The writes that end the turn, to be done together with the end of its run; `None` if this process
    /// lacks the data.
    fn end_writes<'a>(&'a self, run: &'a ActiveRun) -> BoxFuture<'a, Result<Option<Vec<WriteOp>>>>;
}
