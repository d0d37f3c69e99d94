//! Chat routes in an axum application, for programs that have their own model calls and no runs to store.
//!
//! [`Chat`] is an extractor that parses the request of a chat UI; its methods turn a stream of tokens, or of
//! [`Event`]s, into the response that the UI expects. This serves `useChat` of the AI SDK:
//!
//! ```
//! use std::convert::Infallible;
//!
//! use axum::{Router, response::Response, routing::post};
//! use futures_util::{Stream, stream};
//! use headwater_dialects::{ai_sdk::AiSdk, axum::Chat};
//!
//! // Here one would ask a model.
//! fn tokens(prompt: &str) -> impl Stream<Item = Result<String, Infallible>> + use<> {
//!     stream::iter(["You said: ".to_owned(), prompt.to_owned()].map(Ok))
//! }
//!
//! async fn chat(chat: Chat<AiSdk>) -> Response {
//!     let tokens = tokens(&chat.prompt());
//!     chat.reply_with_text(tokens)
//! }
//!
//! fn application() -> Router {
//!     Router::new().route("/api/chat", post(chat)) // new DefaultChatTransport({ api: '/api/chat' })
//! }
//! # let _ = application();
//! ```
//!
//! Another type than [`AiSdk`](crate::ai_sdk::AiSdk) serves another UI: [`AgUi`](crate::ag_ui::AgUi) for
//! CopilotKit and TanStack AI, [`Mui`](crate::mui::Mui), [`Kortyx`](crate::kortyx::Kortyx),
//! [`Responses`](crate::responses::Responses) for OpenAI's SDK.
//!
//! Nothing is stored: a page that reloads cannot reconnect to its answer, and questions to people need a
//! second request. The crate `headwater` has both.

mod body;

use std::fmt;

use axum_core::{
    body::Body,
    extract::{FromRequest, Request},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures_core::Stream;
use headwater_json::InputLimits;
use headwater_protocol::{Event, Framing, Role, RunStarted};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

use self::body::{EventBody, TextEvents};
use crate::{Action, ChatRequest, Dialect, EncodeOptions, Encoder, RawRequest, ServerNames};

/// The headers of a stream in this dialect, which keep proxies from buffering it.
///
/// ```
/// use headwater_dialects::{ai_sdk::AiSdk, axum::stream_headers};
/// use headwater_protocol::Framing;
///
/// let headers = stream_headers(&AiSdk, Framing::Sse);
/// assert_eq!(headers["content-type"], "text/event-stream");
/// assert_eq!(headers["x-vercel-ai-ui-message-stream"], "v1");
/// ```
#[must_use]
pub fn stream_headers(dialect: &dyn Dialect, framing: Framing) -> HeaderMap {
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

/// A chat request of the clients of dialect `D`, to be answered by a stream.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Chat<D> {
    /// The request: messages, tools of the page, and what else the dialect's clients send.
    pub request: ChatRequest,
    dialect: D,
    path: String,
}

impl<D: Dialect + Default + 'static> Chat<D> {
    /// Parses a request.
    ///
    /// # Errors
    /// If the body exceeds the [`InputLimits`], or is not a chat request of this dialect.
    pub fn parse(request: &RawRequest<'_>) -> Result<Self, ChatRejection> {
        let dialect = D::default();
        let limits = InputLimits::default().check(request.body);
        limits.map_err(|exceeded| ChatRejection::new(StatusCode::PAYLOAD_TOO_LARGE, exceeded))?;
        let path = request.path().to_owned();
        let request = dialect
            .parse_request(request)
            .map_err(|error| ChatRejection::new(StatusCode::BAD_REQUEST, error))?;
        match request.action {
            Action::Chat | Action::Regenerate => Ok(Self { request, dialect, path }),
            _ => {
                let message = "only new answers are served here: nothing is stored to resume or change";
                Err(ChatRejection::new(StatusCode::NOT_FOUND, message))
            }
        }
    }

    /// The text of the user's newest message.
    #[must_use]
    pub fn prompt(&self) -> String {
        let newest = self.request.messages.iter().rfind(|message| message.role == Role::User);
        newest.map_or_else(String::new, headwater_protocol::Message::plain_text)
    }

    /// Answers with a text that arrives in pieces. An error ends the answer, and its text is shown on the page.
    pub fn reply_with_text<S, T, E>(self, tokens: S) -> Response
    where
        S: Stream<Item = Result<T, E>> + Send + 'static,
        T: Into<String>,
        E: fmt::Display,
    {
        self.reply(TextEvents::new(tokens))
    }

    /// Answers with events. The start of the run and of its message come first, and the end of the run last,
    /// unless the events have an end of their own.
    pub fn reply<S: Stream<Item = Event> + Send + 'static>(self, events: S) -> Response {
        let Self { request, dialect, path } = self;
        let run = request.run.clone().unwrap_or_else(|| fresh_id("run").into());
        let names =
            ServerNames { request: &fresh_id("req"), path: &path, agent: "chat", run: &run, since: 0 };
        let names = dialect.reader_names(&request, names);
        let start = RunStarted {
            run: Some(names.run.map_or(run, Into::into)),
            session: Some(request.session.clone().unwrap_or_else(|| fresh_id("session").into())),
            model: names.model,
            request: names.request,
            endpoint: names.endpoint,
            ..RunStarted::default()
        };
        let profile = request.profile.unwrap_or_else(|| dialect.chat_profile(false));
        let options = EncodeOptions {
            content: request.content,
            messages: request.messages,
            ..EncodeOptions::profile(profile)
        };
        let encoder = Encoder::new(&dialect, &options);
        let headers = stream_headers(&dialect, encoder.framing());
        let body = EventBody::new(Box::pin(events), encoder, start, fresh_id("msg"));
        (headers, Body::from_stream(body)).into_response()
    }
}

/// A name that no other run has.
fn fresh_id(kind: &str) -> String {
    let random = getrandom::u64().unwrap_or_default();
    format!("{kind}_{random:016x}")
}

impl<D: Dialect + Default + 'static, S: Send + Sync> FromRequest<S> for Chat<D> {
    type Rejection = Response;

    async fn from_request(request: Request, state: &S) -> Result<Self, Response> {
        let (method, uri, headers) =
            (request.method().clone(), request.uri().clone(), request.headers().clone());
        let body = Bytes::from_request(request, state).await.map_err(IntoResponse::into_response)?;
        let headers: Vec<_> =
            headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?))).collect();
        let target = uri.path_and_query().map_or(uri.path(), |target| target.as_str());
        let request = RawRequest { method: method.as_str(), target, headers: &headers, body: &body };
        Self::parse(&request).map_err(IntoResponse::into_response)
    }
}

/// A request that is not a chat request of the dialect. As a response it is `{"error": …}` with a status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatRejection {
    status: StatusCode,
    message: String,
}

impl ChatRejection {
    fn new(status: StatusCode, message: impl fmt::Display) -> Self {
        Self { status, message: message.to_string() }
    }

    /// The status of the response.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.status
    }
}

impl fmt::Display for ChatRejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ChatRejection {}

impl IntoResponse for ChatRejection {
    fn into_response(self) -> Response {
        let body = serde_json::json!({ "error": self.message }).to_string();
        let json = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
        (self.status, json, body).into_response()
    }
}
