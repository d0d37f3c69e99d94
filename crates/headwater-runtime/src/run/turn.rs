//! The interface from the run layer to the session layer. A run knows its session's key, and nothing else
//! about sessions.

use std::fmt;

use futures_util::future::BoxFuture;
use headwater_protocol::{Event, Message, RequestId, RunId};
use headwater_store::WriteOp;

use crate::{
    Result,
    journal::{AnswerValue, HistoryRange},
    keys::SessionKey,
    node::ActiveRun,
};

/// The code of an error about a run whose session no longer has the conversation before it.
pub(crate) const HISTORY_GONE: &str = "run.history-gone";

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

    /// The messages that a run got of the conversation before it.
    ///
    /// # Errors
    /// `run.history-gone` when the session no longer has them.
    fn messages_of<'a>(&'a self, history: &'a HistoryRange) -> BoxFuture<'a, Result<Vec<Message>>>;

    /// A run has ended or waits: ends its turn, and begins the next one.
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
