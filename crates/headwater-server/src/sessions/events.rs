//! The stream of a session: what another page of the same conversation must know.
//!
//! A reader gets the session as it is, and again after each change: a run that begins, waits or ends, a message in the
//! queue, a rollback. There is no cursor, because a reader that reconnects gets the current state first and so misses
//! nothing that still matters.

use std::time::Duration;

use axum::{Extension, extract::State, response::IntoResponse as _};
use bytes::Bytes;
use headwater_dialects::KeepAlive;
use headwater_protocol::{FrameWriter, Framing};
use headwater_runtime::{ErrorKind, Session, SessionInfo};
use headwater_store::Watch;

use super::{Mine, documents::SessionDocument};
use crate::{
    ApiError, Principal, Server,
    api::describe::SessionStream,
    chat,
    follow::{Source, body},
    seeing::OpenStream,
};

/// A notification is a hint that may be lost between processes, so the session is read again after this time.
const POLL: Duration = Duration::from_secs(5);

/// `GET /v1/sessions/{session}/events`.
pub(crate) async fn events(
    State(server): State<Server>,
    Extension(principal): Extension<Principal>,
    Mine(session, _): Mine,
) -> Result<SessionStream, ApiError> {
    let framing = Framing::Sse;
    let permit = server.may_read(&principal)?;
    let stream = OpenStream::new("session", framing, permit, None, None);
    let source = Source::Session(Box::new(SessionFeed::new(session)));
    let body = body(&server, source, KeepAlive::Comment, framing, stream)?;
    let headers = chat::stream_headers(headwater_dialects::NATIVE, framing);
    Ok(SessionStream((headers, body).into_response()))
}

/// The states of a session, one frame for each.
#[derive(Debug)]
pub(crate) struct SessionFeed {
    session: Session,
    watch: Watch,
    /// What the reader was sent last.
    sent: Option<SessionInfo>,
}

impl SessionFeed {
    fn new(session: Session) -> Self {
        Self { watch: session.watch(), session, sent: None }
    }

    /// The next state, as soon as there is one; nothing once the session is deleted. May be dropped while it waits.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, ApiError> {
        loop {
            let info = match self.session.info().await {
                Ok(info) => info,
                Err(error) if error.kind() == ErrorKind::UnknownSession => return Ok(None),
                Err(error) => return Err(error.into()),
            };
            if self.sent.as_ref() != Some(&info) {
                let mut frame = FrameWriter::new(Framing::Sse);
                frame
                    .frame(Some("session"), &SessionDocument::from(info.clone()))
                    .map_err(|error| ApiError::internal("internal", &error))?;
                self.sent = Some(info);
                return Ok(Some(frame.take().into()));
            }
            // Whether it was woken or the time is over: it looks again.
            let _ = tokio::time::timeout(POLL, self.watch.changed()).await;
        }
    }
}
