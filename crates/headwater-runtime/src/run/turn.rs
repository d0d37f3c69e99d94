//! What the run layer asks of the session layer. A run knows the session that it belongs to, and nothing of what a session is.

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

/// What a session does when its runs are answered, wait or end. The session layer implements it.
pub(crate) trait TurnHost: fmt::Debug + Send + Sync {
    /// Begins the turn of answers that are about to be sent to a run.
    fn before_answers<'a>(
        &'a self,
        session: &'a SessionKey,
        run: &'a RunId,
        answers: &'a [(RequestId, AnswerValue)],
    ) -> BoxFuture<'a, Result<()>>;

    /// The event by which readers learn which checkpoint the turn of a run will leave, before it ends or waits.
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

/// A turn that this process has begun. Its end is known without reading anything back.
pub(crate) trait BegunTurn: fmt::Debug + Send + Sync {
    /// As [`TurnHost::checkpoint_event`].
    fn checkpoint_event(&self) -> Option<Event>;

    /// What ends the turn, to be written together with the end of its run; `None` where that is not known here.
    fn end_writes<'a>(&'a self, run: &'a ActiveRun) -> BoxFuture<'a, Result<Option<Vec<WriteOp>>>>;
}
