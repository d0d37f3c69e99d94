//! The response that follows a run.

use std::time::Duration;

use axum::{
    http::HeaderValue,
    response::{IntoResponse as _, Response},
};
use headwater_dialects::{AnswerFlow, Profile, ReaderNames, Reentry, axum::stream_headers};
use headwater_protocol::Message;
use headwater_runtime::{Agent, Run, TurnHandle};
use tokio::time::timeout;

use crate::{
    ApiError, Server,
    follow::{
        FrameSource, OpenStream, Opening, ReadFrom, ReaderView, StreamEnd, body,
        reader_presence::ReaderPresence,
    },
    limits::Permit,
    telemetry,
};

/// How long a reader may search for its position before the response starts: until then an error has its own
/// status.
const PATIENCE: Duration = Duration::from_secs(2);

/// The run that answers a request, and where its reader starts.
#[derive(Debug)]
pub(crate) struct Attachment {
    pub(crate) run: Run,
    pub(crate) from: ReadFrom,
    /// The turn, if it may still be queued.
    pub(crate) sent: Option<TurnHandle>,
    /// The page's own ids.
    pub(crate) names: ReaderNames,
}

impl Attachment {
    pub(crate) fn at(run: Run, from: ReadFrom) -> Self {
        Self { run, from, sent: None, names: ReaderNames::default() }
    }
}

/// A response that follows a run.
pub(crate) async fn follow(
    server: &Server,
    agent: &Agent,
    attachment: Attachment,
    mut view: ReaderView,
    ending: Option<StreamEnd>,
    permit: Permit,
) -> Result<Response, ApiError> {
    let Attachment { run, from, sent, .. } = attachment;
    let (dialect, framing) = (view.dialect, view.framing);
    let stays = dialect.answers() == AnswerFlow::OpenStream;
    let ending = ending.unwrap_or(if stays { StreamEnd::AtEnd } else { StreamEnd::AtWait });
    let profile = view.profile;
    view.waits = ending == StreamEnd::AtWait || !profile.wait_is_end;
    view.ends_at_wait = ending == StreamEnd::AtWait && dialect.answers() == AnswerFlow::NewResponse;
    let mut headers = stream_headers(dialect, framing);
    if let Ok(id) = HeaderValue::from_str(run.id().as_str()) {
        headers.insert("x-run-id", id);
    }
    telemetry::note("headwater.run", run.id().as_str());
    let streams = server.streams().clone();
    let attached = streams.attach(run.id());
    let announced = dialect.stops_by_leaving() && server.announces_readers(agent);
    let presence =
        announced.then(|| ReaderPresence::announce(run.store().clone(), run.id().clone(), streams.clone()));
    let stream = OpenStream::new(dialect.name(), framing, permit, Some(attached), presence);
    let mut opening: Opening = Box::pin(async move {
        if let Some(sent) = sent {
            sent.begun().await?;
        }
        streams.reader(run, view, from, ending).await
    });
    let source = match timeout(PATIENCE, &mut opening).await {
        Ok(reader) => FrameSource::Reading(reader?),
        Err(_) => FrameSource::Opening(opening),
    };
    let body = body(server.options(), server.streams(), source, profile.keep_alive, framing, stream)?;
    Ok((headers, body).into_response())
}

/// The conversation before a run, if the dialect may have to repeat it. Reading it takes longer than
/// everything else a reader needs to start.
pub(crate) async fn conversation_before(
    agent: &Agent,
    profile: &Profile,
    run: &Run,
) -> Result<Vec<Message>, ApiError> {
    if profile.reentry == Reentry::Snapshot {
        Ok(agent.conversation_before(run.id()).await?)
    } else {
        Ok(Vec::new())
    }
}
