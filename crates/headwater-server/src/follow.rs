//! Follows runs: a reader is a cursor into the journal plus an encoder for the reader's dialect.
//!
//! A slow or disconnected reader costs nothing: unread records stay in the store. Readers of the same run in the same
//! dialect share encoded bytes.

mod body;
mod journal_reader;
mod open_stream;
mod pacing;
pub(crate) mod reader_presence;
mod reader_view;
mod shared_stream;
mod stream_encoder;
mod streams;

pub(crate) use body::{FrameSource, Opening, body};
pub(crate) use open_stream::OpenStream;
pub(crate) use reader_view::ReaderView;
pub(crate) use streams::OpenStreams;

use headwater_dialects::RequestCursor;
use headwater_runtime::Run;
use headwater_store::{Cursor, CursorFault, Place, ReadLimit};

use crate::ApiError;

/// Maximum amount encoded for a reader at once; the rest stays in the store. A single record may be larger.
const PAGE: ReadLimit = ReadLimit { records: 256, bytes: 32 << 10 };

/// When a stream ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamEnd {
    /// When the run has ended or waits for a person.
    AtWait,
    /// When the run has ended.
    AtEnd,
}

/// Where a reader starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReadFrom {
    /// At the start of the run.
    Start,
    /// After an earlier response, which ended because the run waited.
    Response(u64),
    /// With the current state, in the fewest frames.
    Reentry,
    /// After this many frames of a record; 0 means all of them.
    After {
        seq: u64,
        /// The frames of it that were read.
        frame: u32,
    },
    /// After this record: the reader received later deltas that were lost in a crash.
    Lost(u64),
    /// After a record that another server has sent to its readers but not yet written.
    Ahead(Cursor),
    /// After the frame of this number.
    Sequence {
        /// The last record of the previous responses, as in [`ReadFrom::Response`]; 0 for the first.
        since: u64,
        number: u64,
    },
}

impl ReadFrom {
    /// Where a response starts that has the same frames for every reader.
    pub(crate) fn response(since: u64) -> Self {
        if since == 0 { Self::Start } else { Self::Response(since) }
    }

    /// The last record of the previous responses; 0 for the first.
    pub(crate) fn since(&self) -> u64 {
        match *self {
            Self::Response(since) | Self::Sequence { since, .. } => since,
            _ => 0,
        }
    }

    /// The position of a reader that sends a cursor, in the response that starts after `since`. Requires that
    /// the run is driven: otherwise records that a dead process sent but did not store would be mistaken for
    /// future ones.
    pub(crate) async fn cursor(run: &Run, cursor: &RequestCursor, since: u64) -> Result<Self, ApiError> {
        run.resumed().await;
        let text = match cursor {
            RequestCursor::Start => return Ok(Self::Start),
            RequestCursor::Sequence(number) => return Ok(Self::Sequence { since, number: *number }),
            RequestCursor::EventId(text) => text,
            _ => return Ok(Self::Reentry),
        };
        let store = run.store();
        let journal = run.id().as_str().into();
        let cursor = Cursor::open(text, run.secret().await?)?;
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

/// Whether a cursor points at a record that does not exist yet.
fn is_future(error: &headwater_store::Error) -> bool {
    matches!(error.kind(), headwater_store::ErrorKind::Cursor(CursorFault::Future))
}

/// The run that a cursor belongs to.
pub(crate) async fn run_of_cursor(agent: &headwater_runtime::Agent, text: &str) -> Result<String, ApiError> {
    let cursor = Cursor::open(text, agent.secret().await?)?;
    Ok(cursor.journal.as_str().to_owned())
}

/// The error for a position beyond the end of the journal.
pub(crate) fn from_the_future(what: u64) -> ApiError {
    let message =
        format!("no frame {what} was sent yet: reconnect with the number of a frame that you received");
    let code = headwater_store::ErrorKind::Cursor(CursorFault::Future);
    ApiError::conflict(code.code(), message)
}
