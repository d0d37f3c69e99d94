//! The stream of a session: updates for other pages of the same conversation.
//!
//! A reader gets the current session, and again after each change: a run that starts, waits or ends, a
//! message in the queue, a rollback. There is no cursor, because a reader that reconnects gets the current
//! state first and so misses nothing relevant.

use std::time::Duration;

use axum::{Extension, extract::State, response::IntoResponse as _};
use bytes::Bytes;
use futures_util::stream::{self, Stream};
use headwater_dialects::{KeepAlive, axum::stream_headers};
use headwater_protocol::{FrameWriter, Framing};
use headwater_runtime::{ErrorKind, Session};

use super::{OwnSession, documents::SessionResource};
use crate::{
    ApiError, Principal, Server,
    follow::{FrameSource, OpenStream, body},
    operation::SessionStream,
};

/// A notification is a hint that may be lost between processes, so the session is read again after this time.
const POLL: Duration = Duration::from_secs(5);

/// `GET /v1/sessions/{session}/events`.
pub(crate) async fn events(
    State(server): State<Server>,
    Extension(principal): Extension<Principal>,
    OwnSession(session, _): OwnSession,
) -> Result<SessionStream, ApiError> {
    let framing = Framing::Sse;
    let permit = server.may_read(&principal)?;
    let stream = OpenStream::new("session", framing, permit, None, None);
    let source = FrameSource::Frames(Box::pin(frames(session)));
    let body = body(server.options(), server.streams(), source, KeepAlive::Comment, framing, stream)?;
    let headers = stream_headers(headwater_dialects::NATIVE, framing);
    Ok(SessionStream((headers, body).into_response()))
}

/// The states of a session, one frame for each, until it is deleted.
fn frames(session: Session) -> impl Stream<Item = Result<Bytes, ApiError>> + Send {
    let watch = session.watch();
    stream::try_unfold((session, watch, None), |(session, mut watch, mut sent)| async move {
        loop {
            let info = match session.info().await {
                Ok(info) => info,
                Err(error) if error.kind() == ErrorKind::UnknownSession => return Ok(None),
                Err(error) => return Err(error.into()),
            };
            if sent.as_ref() != Some(&info) {
                let mut frame = FrameWriter::new(Framing::Sse);
                frame
                    .frame(Some("session"), &SessionResource::from(info.clone()))
                    .map_err(|error| ApiError::internal("internal", &error))?;
                sent = Some(info);
                return Ok(Some((frame.take().into(), (session, watch, sent))));
            }
            // After a change and after the timeout alike, the session is read again.
            let _ = tokio::time::timeout(POLL, watch.changed()).await;
        }
    })
}
