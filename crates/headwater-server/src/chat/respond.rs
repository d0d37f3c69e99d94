//! The response: a stream that follows a run, or one document.

use axum::{
    Json,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use futures_util::StreamExt as _;
use headwater_protocol::{Action, CursorSupport, Dialect, Framing, Message, Role, dialects::kortyx};
use headwater_runtime::Run;
use serde_json::json;

use super::{Asked, Placed, answers, known};
use crate::{
    ApiError, Principal, Server,
    follow::{Ending, From, View, body},
    seeing::{self, OpenStream},
};

/// Answers a request with the run that was found for it.
pub(super) async fn respond(asked: &Asked, placed: Placed) -> Result<Response, ApiError> {
    if let Some(sent) = &placed.sent {
        sent.begun().await?;
    }
    if !streams_answers(asked) {
        let since = if let From::Response(since) = placed.from { since } else { 0 };
        let told = json!({ "run": placed.run.id(), "since": since });
        return Ok((StatusCode::ACCEPTED, Json(told)).into_response());
    }
    // What is followed now is told, whichever page the answers came from.
    if decides_apart(asked) || placed.sent.is_none() {
        known::forget(&asked.served.agent, asked.owner(), &answers::untold(placed.run.id())).await?;
    }
    if !asked.chat.stream {
        let _permit = asked.server.may_read(&asked.principal)?;
        return buffered(asked, &placed).await;
    }
    let view = View {
        dialect: asked.dialect,
        profile: asked.profile(),
        framing: asked.framing,
        names: placed.names,
        messages: held(asked, &placed.run).await?,
        shows: asked.served.shows,
        seam: asked.server.options().seam.clone(),
        hold: asked.server.options().hold,
        waits: true,
    };
    let mut response =
        follow(&asked.server, &asked.principal, placed.run.clone(), view, placed.from, None).await?;
    let headers = response.headers_mut();
    if let Ok(id) = HeaderValue::from_str(&asked.request_id) {
        headers.insert("x-request-id", id);
    }
    if let Ok(meta) = placed.run.meta().await
        && let Some(session) = meta.session
        && let Ok(session) = HeaderValue::from_str(session.as_str())
    {
        seeing::note("gen_ai.conversation.id", session.to_str().unwrap_or_default());
        headers.insert("x-session-id", session);
    }
    Ok(response)
}

/// A response that follows a run.
pub(crate) async fn follow(
    server: &Server,
    principal: &Principal,
    run: Run,
    mut view: View,
    from: From,
    ending: Option<Ending>,
) -> Result<Response, ApiError> {
    // MUI's client is told about an answer in the stream that asked for it.
    let stays = view.dialect.name() == "mui";
    let ending = ending.unwrap_or(if stays { Ending::AtEnd } else { Ending::AtWait });
    let profile = view.dialect.profile(view.profile.as_deref());
    view.waits = ending == Ending::AtWait || !profile.wait_is_end;
    let mut headers = stream_headers(view.dialect, view.framing);
    if let Ok(id) = HeaderValue::from_str(run.id().as_str()) {
        headers.insert("x-run-id", id);
    }
    let options = server.options();
    seeing::note("headwater.run", run.id().as_str());
    let stream = OpenStream::new(view.dialect.name(), view.framing, server.may_read(principal)?);
    let reader = server.streams().reader(run, view, from, ending).await?;
    let body = body(server.streams(), reader, options.heartbeat, options.padding, stream);
    Ok((headers, body).into_response())
}

/// The headers of a stream, which keep proxies from holding it back.
fn stream_headers(dialect: &dyn Dialect, framing: Framing) -> HeaderMap {
    let kind = match framing {
        Framing::Sse => "text/event-stream",
        Framing::Ndjson => "application/x-ndjson",
    };
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    if dialect.name() == "ai-sdk" {
        headers.insert("x-vercel-ai-ui-message-stream", HeaderValue::from_static("v1"));
    }
    headers
}

/// Whether the run goes on in the response to this request.
pub(super) fn streams_answers(asked: &Asked) -> bool {
    let accept = asked.parts.headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    let wants = accept.is_some_and(|accept| accept.contains("event-stream") || accept.contains("ndjson"));
    wants || asked.chat.action != Action::Answer || !decides_apart(asked)
}

/// Whether answers go to an endpoint of their own, and the stream is another request.
fn decides_apart(asked: &Asked) -> bool {
    matches!(asked.dialect.name(), "tanstack" | "mui")
}

/// One document instead of a stream.
async fn buffered(asked: &Asked, placed: &Placed) -> Result<Response, ApiError> {
    let since = if let From::Response(since) = placed.from { since } else { 0 };
    let mut records = Vec::new();
    let mut events = std::pin::pin!(placed.run.events(since));
    let mut closing = asked.server.streams().closing();
    loop {
        tokio::select! {
            biased;
            record = events.next() => match record {
                Some(record) => records.extend(asked.served.shows.filter(record?)),
                None => break,
            },
            _ = closing.wait_for(|closing| *closing) => {
                let message = "the server is about to stop: the run goes on, ask for it again";
                let code = "server.leaving";
                return Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, code, message).retry_after(1));
            }
        }
    }
    Ok(Json(kortyx::Buffered::new(&records)).into_response())
}

/// The conversation that the client holds, where the dialect may have to say it again.
async fn held(asked: &Asked, run: &Run) -> Result<Vec<Message>, ApiError> {
    let profile = asked.dialect.profile(asked.chat.profile.as_deref());
    if profile.cursor != CursorSupport::LastEventId || !tells_again(asked.dialect) {
        return Ok(Vec::new());
    }
    let messages = &asked.chat.messages;
    if let Some(said) = messages.iter().rposition(|message| message.role == Role::User) {
        return Ok(messages.get(..=said).unwrap_or_default().to_vec());
    }
    Ok(asked.served.shown(run.conversation().await?))
}

/// The conversation before a run, where the dialect may have to say it again. To look for it takes longer than all else
/// that a reader needs to begin.
pub(crate) async fn told_again(dialect: &dyn Dialect, run: &Run) -> Result<Vec<Message>, ApiError> {
    if tells_again(dialect) { Ok(run.conversation().await?) } else { Ok(Vec::new()) }
}

/// Whether the dialect has snapshots that replace the whole conversation.
fn tells_again(dialect: &dyn Dialect) -> bool {
    dialect.name() == "ag-ui"
}

impl Asked {
    /// The profile of the client: what its request shows, or what is asked for by name.
    pub(crate) fn profile(&self) -> Option<String> {
        let query = self.parts.uri.query().unwrap_or_default();
        let named = query.split('&').find_map(|pair| pair.strip_prefix("profile=")).map(str::to_owned);
        // A page of TanStack's does not say whether it has tools of its own, and one that has would wait for ever beside
        // a call of the server's that it is shown too early.
        let safe = || (self.dialect.name() == "tanstack").then(|| "client-tools".to_owned());
        named.or_else(|| self.chat.profile.clone()).or_else(safe)
    }
}
