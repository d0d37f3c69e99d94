//! The response: a stream that follows a run, or one document.

use std::time::Duration;

use axum::{
    Json,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use futures_util::StreamExt as _;
use headwater_dialects::{
    Action, AnswerFlow, Dialect, EncodeOptions, Encoder, Profile, Reentry, WholeAnswer,
};
use headwater_protocol::{ErrorEvent, ErrorInfo, EventKind, Framing, Message, Record, Role};
use headwater_runtime::{ErrorKind, RecordReader, Run};
use headwater_store::ReadLimit;
use serde_json::json;
use tokio::time::timeout;

use super::{Asked, Placed, answers, known};
use crate::{
    ApiError, Server,
    follow::{Ending, Opening, Source, View, body, presence::Presence},
    limits::Permit,
    seeing::{self, OpenStream},
};

/// How long a reader may look for its place before it is told that something will come: until then what goes wrong has a
/// status of its own.
const PATIENCE: Duration = Duration::from_secs(2);

/// Answers a request with the run that was found for it; with `permit` as a stream, or as a document that is as long in
/// coming.
pub(super) async fn respond(
    asked: &Asked,
    placed: Placed,
    permit: Option<Permit>,
) -> Result<Response, ApiError> {
    let Some(permit) = permit else { return accepted(&placed).await };
    // What is followed now is told, whichever page the answers came from.
    if asked.dialect.answers() != AnswerFlow::SameResponse || placed.sent.is_none() {
        known::forget(&asked.served.agent, asked.owner(), &answers::untold(placed.run.id())).await?;
    }
    if !asked.chat.stream {
        return buffered(asked, &placed).await;
    }
    let view = view(asked, &placed, held(asked, &placed.run).await?);
    let run = placed.run.clone();
    let mut response = follow(&asked.server, placed, view, None, permit).await?;
    let headers = response.headers_mut();
    if let Ok(id) = HeaderValue::from_str(&asked.request_id) {
        headers.insert("x-request-id", id);
    }
    if let Ok(summary) = run.summary().await
        && let Some(session) = summary.session
        && let Ok(session) = HeaderValue::from_str(session.as_str())
    {
        seeing::note("gen_ai.conversation.id", session.to_str().unwrap_or_default());
        headers.insert("x-session-id", session);
    }
    Ok(response)
}

/// A stream of nothing.
pub(super) fn nothing(asked: &Asked) -> Response {
    (stream_headers(asked.dialect, asked.framing), "").into_response()
}

/// A stream that says what is wrong with the request.
pub(super) fn failed(asked: &Asked, error: &ApiError) -> Response {
    let mut options = EncodeOptions::profile(asked.profile);
    options.framing = Some(asked.framing);
    let mut encoder = Encoder::new(asked.dialect, &options);
    let info = ErrorInfo { message: error.message().to_owned(), ..ErrorInfo::default() };
    encoder.record(&Record::new(0, ErrorEvent { error: info, terminal: true, ..ErrorEvent::default() }));
    encoder.finish();
    (stream_headers(asked.dialect, asked.framing), encoder.take()).into_response()
}

/// An answer was taken; the run goes on in another response.
async fn accepted(placed: &Placed) -> Result<Response, ApiError> {
    if let Some(sent) = &placed.sent {
        sent.begun().await?;
    }
    let since = placed.from.since();
    let told = json!({ "run": placed.run.id(), "since": since });
    Ok((StatusCode::ACCEPTED, Json(told)).into_response())
}

/// A response that follows a run.
pub(crate) async fn follow(
    server: &Server,
    placed: Placed,
    mut view: View,
    ending: Option<Ending>,
    permit: Permit,
) -> Result<Response, ApiError> {
    let Placed { run, from, sent, .. } = placed;
    let (dialect, framing) = (view.dialect, view.framing);
    let stays = dialect.answers() == AnswerFlow::OpenStream;
    let ending = ending.unwrap_or(if stays { Ending::AtEnd } else { Ending::AtWait });
    let profile = view.profile;
    view.waits = ending == Ending::AtWait || !profile.wait_is_end;
    view.ends_at_wait = ending == Ending::AtWait && dialect.answers() == AnswerFlow::NewResponse;
    let mut headers = stream_headers(dialect, framing);
    if let Ok(id) = HeaderValue::from_str(run.id().as_str()) {
        headers.insert("x-run-id", id);
    }
    seeing::note("headwater.run", run.id().as_str());
    let streams = server.streams().clone();
    let attached = streams.attach(run.id());
    let announced = dialect.stops_by_leaving() && server.announces_readers(run.agent());
    let presence =
        announced.then(|| Presence::announce(run.agent().clone(), run.id().clone(), streams.clone()));
    let stream = OpenStream::new(dialect.name(), framing, permit, Some(attached), presence);
    let mut opening: Opening = Box::pin(async move {
        if let Some(sent) = sent {
            sent.begun().await?;
        }
        streams.reader(run, view, from, ending).await
    });
    let source = match timeout(PATIENCE, &mut opening).await {
        Ok(reader) => Source::Reading(reader?),
        Err(_) => Source::Opening(opening),
    };
    let body = body(server, source, profile.keep_alive, framing, stream)?;
    Ok((headers, body).into_response())
}

/// The headers of a stream, which keep proxies from holding it back.
pub(crate) fn stream_headers(dialect: &dyn Dialect, framing: Framing) -> HeaderMap {
    let kind = match framing {
        Framing::Sse => "text/event-stream",
        Framing::Ndjson => "application/x-ndjson",
    };
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    for &(name, value) in dialect.headers() {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers
}

/// Whether the run goes on in the response to this request.
pub(super) fn streams_answers(asked: &Asked) -> bool {
    let accept = asked.parts.headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    let wants = accept.is_some_and(|accept| accept.contains("event-stream") || accept.contains("ndjson"));
    let follows = matches!(asked.dialect.answers(), AnswerFlow::SameResponse | AnswerFlow::NewResponse);
    wants || asked.chat.action != Action::Answer || follows
}

/// One document instead of a stream.
async fn buffered(asked: &Asked, placed: &Placed) -> Result<Response, ApiError> {
    if !asked.chat.wait {
        return document(asked, placed).await;
    }
    let ends_at_wait = asked.dialect.answers() == AnswerFlow::NewResponse;
    let since = placed.from.since();
    let told = async {
        if let Some(sent) = &placed.sent {
            sent.begun().await?;
        }
        let mut records = Vec::new();
        let mut events = std::pin::pin!(placed.run.events(if ends_at_wait { 0 } else { since }));
        while let Some(record) = events.next().await {
            let record = record?;
            let over = ends_at_wait && ends_answer(&record, since);
            records.push(record);
            if over {
                break;
            }
        }
        Ok(whole(asked, placed, records, 0))
    };
    let mut closing = asked.server.streams().closing();
    tokio::select! {
        biased;
        told = told => told,
        _ = closing.wait_for(|closing| *closing) => {
            let message = "the server is about to stop: the run goes on, ask for it again";
            Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "server.leaving", message).retry_after(1))
        }
    }
}

/// The document of an answer as far as it is. One that waits for the turns before it has no records yet.
pub(super) async fn document(asked: &Asked, placed: &Placed) -> Result<Response, ApiError> {
    let records = so_far(placed).await?;
    let created = match placed.run.summary().await {
        Ok(summary) => summary.created,
        Err(error) if error.kind() == ErrorKind::UnknownRun => now(),
        Err(error) => return Err(error.into()),
    };
    Ok(whole(asked, placed, records, created))
}

/// Whether an answer has all of its records.
pub(super) async fn is_complete(placed: &Placed) -> Result<bool, ApiError> {
    Ok(so_far(placed).await?.last().is_some_and(|last| ends_answer(last, placed.from.since())))
}

/// The records of a run up to the end of an answer, or as many as there are.
async fn so_far(placed: &Placed) -> Result<Vec<Record>, ApiError> {
    let journal = placed.run.id().as_str().into();
    let store = placed.run.agent().store();
    let mut records: Vec<Record> = Vec::new();
    if store.info(&journal).await?.is_none() {
        return Ok(records);
    }
    let (mut after, mut reader) = (0, RecordReader::default());
    loop {
        let page = store.read(&journal, after, ReadLimit::default()).await?;
        for stored in &page.records {
            after = stored.seq;
            records.extend(reader.visible_event(stored)?.map(|record| *record));
            if records.last().is_some_and(|last| ends_answer(last, placed.from.since())) {
                return Ok(records);
            }
        }
        if after >= page.tail.last {
            return Ok(records);
        }
    }
}

/// Whether an answer that begins after `since` ends with a record.
fn ends_answer(record: &Record, since: u64) -> bool {
    let kind = record.event.kind();
    record.seq > since && (kind == EventKind::RunWaiting || kind.ends_run())
}

fn whole(asked: &Asked, placed: &Placed, records: Vec<Record>, created: u64) -> Response {
    let view = view(asked, placed, Vec::new());
    let records: Vec<_> = records.into_iter().filter_map(|record| view.see(record)).collect();
    let answer = WholeAnswer { records: &records, since: placed.from.since(), names: &placed.names, created };
    Json(asked.dialect.whole_answer(&answer)).into_response()
}

fn now() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |now| u64::try_from(now.as_millis()).unwrap_or(u64::MAX))
}

/// How the reader of a request sees a run.
fn view(asked: &Asked, placed: &Placed, messages: Vec<Message>) -> View {
    View {
        dialect: asked.dialect,
        profile: asked.profile,
        framing: asked.framing,
        content: asked.chat.content,
        names: placed.names.clone(),
        messages,
        thought: held_thought(asked),
        visibility: asked.served.visibility,
        seam: asked.server.options().seam.clone(),
        hold: asked.server.options().hold,
        waits: true,
        ends_at_wait: false,
    }
}

/// The conversation that the client holds, where the dialect may have to say it again.
async fn held(asked: &Asked, run: &Run) -> Result<Vec<Message>, ApiError> {
    if asked.profile.reentry != Reentry::Snapshot {
        return Ok(Vec::new());
    }
    let messages = &asked.chat.messages;
    if let Some(said) = messages.iter().rposition(|message| message.role == Role::User) {
        return Ok(messages.get(..=said).unwrap_or_default().to_vec());
    }
    Ok(asked.served.shown(run.conversation().await?))
}

/// A thought that the client has heard since its person spoke.
fn held_thought(asked: &Asked) -> Option<String> {
    let since = asked.chat.messages.iter().rev().take_while(|message| message.role != Role::User);
    since.filter(|message| message.role == Role::Reasoning).map(|message| message.id.to_string()).last()
}

/// The conversation before a run, where the dialect may have to say it again. To look for it takes longer than all else
/// that a reader needs to begin.
pub(crate) async fn conversation_before(profile: &Profile, run: &Run) -> Result<Vec<Message>, ApiError> {
    if profile.reentry == Reentry::Snapshot { Ok(run.conversation().await?) } else { Ok(Vec::new()) }
}
