//! Readers of runs: a cursor on the journal, and an encoder that says what comes after it in the reader's dialect.
//!
//! A reader that is slow or gone costs nobody anything: it holds a place, and what it has not read stays in the
//! store. What is encoded for one reader is shared with those who read the same run in the same way.

mod body;
mod pace;
mod pen;
pub(crate) mod presence;
mod reader;
mod shared;
mod view;

pub(crate) use body::{Ending, Opening, Source, body};
pub(crate) use shared::{Attached, Streams};
pub(crate) use view::View;

use headwater_dialects::RequestCursor;
use headwater_runtime::Run;
use headwater_store::{Cursor, CursorFault, Place, ReadLimit};

use crate::ApiError;

/// How much of a journal is encoded at once for a reader: what it has not taken yet stays in the store. One record may be larger.
const PAGE: ReadLimit = ReadLimit { records: 256, bytes: 32 << 10 };

/// Where a reader begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum From {
    /// At the beginning of the run.
    Start,
    /// After what an earlier response has told, which ended because the run waited.
    Response(u64),
    /// With what there is so far, in the fewest frames.
    Reentry,
    /// After so many frames of a record; 0 is all of them.
    After {
        /// The record.
        seq: u64,
        /// The frames of it that were read.
        frame: u32,
    },
    /// After this record, of a reader that was told more by a process that died before it was kept.
    Lost(u64),
    /// After a record that another server has told its readers and not yet written.
    Ahead(Cursor),
    /// After the frame of this number.
    Sequence {
        /// What the responses before it have told, as in [`From::Response`]; 0 for the first.
        since: u64,
        /// The number.
        number: u64,
    },
}

impl From {
    /// Where a response begins that is sent in the same frames to every reader.
    pub(crate) fn response(since: u64) -> Self {
        if since == 0 { Self::Start } else { Self::Response(since) }
    }

    /// What the responses before it have told; 0 for the first.
    pub(crate) fn since(&self) -> u64 {
        match *self {
            Self::Response(since) | Self::Sequence { since, .. } => since,
            _ => 0,
        }
    }

    /// Where a reader goes on that says where it was, in the response that begins after `since`. The run must have been taken up: what a dead process told and did
    /// not keep would be taken for the future.
    pub(crate) async fn cursor(run: &Run, cursor: &RequestCursor, since: u64) -> Result<Self, ApiError> {
        run.agent().resumed(run.id()).await;
        let text = match cursor {
            RequestCursor::Start => return Ok(Self::Start),
            RequestCursor::Sequence(number) => return Ok(Self::Sequence { since, number: *number }),
            RequestCursor::EventId(text) => text,
            _ => return Ok(Self::Reentry),
        };
        let store = run.agent().store();
        let journal = run.id().as_str().into();
        let cursor = Cursor::open(text, run.agent().secret().await?)?;
        let info = store.info(&journal).await?.ok_or_else(|| {
            ApiError::not_found("run.unknown", format!("there is no run {}: it is no longer kept", run.id()))
        })?;
        Ok(match cursor.place(&journal, &info) {
            Ok(Place::After(seq)) => Self::After { seq, frame: cursor.frame },
            Ok(Place::Moved(seq)) => Self::Lost(seq),
            Err(error) if is_future(&error) && !info.tail.closed => Self::Ahead(cursor),
            Err(error) => return Err(error.into()),
        })
    }
}

/// Whether a cursor points at a record that is not there yet.
fn is_future(error: &headwater_store::Error) -> bool {
    matches!(error.kind(), headwater_store::ErrorKind::Cursor(CursorFault::Future))
}

/// The run that a cursor belongs to.
pub(crate) async fn run_of_cursor(agent: &headwater_runtime::Agent, text: &str) -> Result<String, ApiError> {
    let cursor = Cursor::open(text, agent.secret().await?)?;
    Ok(cursor.journal.as_str().to_owned())
}

/// A reader that says it has more than there is.
pub(crate) fn from_the_future(what: u64) -> ApiError {
    let message =
        format!("nothing of number {what} was sent yet: come back with a number that you were given");
    let code = headwater_store::ErrorKind::Cursor(CursorFault::Future);
    ApiError::conflict(code.code(), message)
}
