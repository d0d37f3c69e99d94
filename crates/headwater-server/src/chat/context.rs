//! A parsed chat request with its context.

use std::collections::HashSet;

use axum::http::{header, request::Parts};
use headwater_dialects::{Action, AnswerFlow, ChatRequest, Dialect, Profile};
use headwater_protocol::{Framing, Message, MessageId, Role, RunId};
use headwater_runtime::{RawJson, Session, WhenBusy};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::{
    ApiError, Principal, Server,
    agents::ServedAgent,
    idempotency::{self, idempotency_key},
};

/// A parsed request.
#[derive(Debug)]
pub(crate) struct ChatContext {
    pub(crate) server: Server,
    pub(crate) principal: Principal,
    pub(crate) dialect: &'static dyn Dialect,
    pub(crate) served: ServedAgent,
    pub(crate) chat: ChatRequest,
    pub(crate) parts: Parts,
    /// The request id from its sender, or a fresh one.
    pub(crate) request_id: String,
    pub(crate) profile: &'static Profile,
    pub(crate) framing: Framing,
    /// Ids that were generated for messages without one; they identify nothing.
    pub(super) unnamed: HashSet<MessageId>,
    /// Fingerprint of the body.
    pub(super) fingerprint: String,
}

impl ChatContext {
    /// The principal of the request.
    pub(crate) fn owner(&self) -> &str {
        self.principal.id()
    }

    /// Whether the run continues in the response to this request.
    pub(crate) fn streams_answers(&self) -> bool {
        let accept = self.parts.headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
        let wants = accept.is_some_and(|accept| accept.contains("event-stream") || accept.contains("ndjson"));
        let follows = matches!(self.dialect.answers(), AnswerFlow::SameResponse | AnswerFlow::NewResponse);
        wants || self.chat.action != Action::Answer || follows
    }

    /// The id of a new session, if the request can be repeated: the same key gives the same id.
    pub(crate) async fn derived_session_id(&self) -> Result<Option<String>, ApiError> {
        match self.request_keys().first() {
            Some(key) => {
                Ok(Some(idempotency::derived_id(&self.served, &self.principal, "session", key).await?))
            }
            None => Ok(None),
        }
    }

    /// A session of the agent, by its name.
    pub(crate) fn session(&self, id: &str) -> Session {
        self.served.agent.session(id, Some(self.owner()))
    }

    /// Whether the page has an id for a message.
    pub(crate) fn names(&self, message: &Message) -> bool {
        !self.unnamed.contains(&message.id)
    }

    /// The messages before the newest one, as the page shows them, if it sent all of them. Messages without
    /// an id get an empty one.
    pub(crate) fn shown(&self, prior: &[Message]) -> Option<Vec<Message>> {
        let mut shown = self.served.client.shown(prior);
        for message in shown.iter_mut().filter(|message| self.unnamed.contains(&message.id)) {
            message.id = MessageId::default();
        }
        // A page without permission to seed a conversation may send its newest message alone.
        (self.chat.complete && (self.served.client.seed || !shown.is_empty())).then_some(shown)
    }

    /// The policy for an active run when another message arrives.
    pub(crate) async fn when_busy(&self, going: Option<&RunId>) -> Result<WhenBusy, ApiError> {
        let agent = &self.served.agent;
        let set = agent.when_busy().or(self.server.options().when_busy);
        Ok(match (set, self.dialect.stops_by_leaving(), going) {
            (None, true, _) => WhenBusy::Stop,
            (None, false, _) => WhenBusy::Queue,
            (Some(_), true, Some(run)) if self.server.was_left(agent, run).await? => WhenBusy::Stop,
            (Some(set), ..) => set,
        })
    }

    /// Whether the page names a run for a new message, rather than for an answer.
    pub(crate) fn asks_for_another_run(&self) -> bool {
        let ChatRequest { answers, approvals, tool_results, .. } = &self.chat;
        let answered = !answers.is_empty() || !approvals.is_empty() || !tool_results.is_empty();
        let has_message = self.chat.messages.last().is_some_and(|message| message.role == Role::User);
        has_message && !answered && self.run_name().is_some()
    }

    /// The page's id of the run.
    pub(crate) fn run_name(&self) -> Option<&str> {
        let header = || self.parts.headers.get("x-run-id")?.to_str().ok();
        self.chat.run.as_ref().map(RunId::as_str).or_else(header).filter(|name| !name.is_empty())
    }

    /// The idempotency key of the request, regardless of its content.
    pub(crate) fn request_keys(&self) -> Vec<String> {
        let idempotency = self.chat.idempotency_key.as_ref().map(|key| format!("key:{key}"));
        let idempotency = idempotency.or_else(|| idempotency_key(&self.parts.headers));
        idempotency.into_iter().chain(self.run_name().map(|run| format!("run:{run}"))).collect()
    }

    /// Refuses a request whose idempotency key was used with another body.
    pub(crate) async fn check_key(&self) -> Result<(), ApiError> {
        let keys = self.request_keys();
        let key = keys.iter().find(|key| key.starts_with("key:")).map(String::as_str);
        let place = [self.dialect.name(), self.chat.session.as_ref().map_or("", |session| session.as_str())];
        idempotency::check(&self.served.agent, self.owner(), place, key, &self.fingerprint).await
    }

    /// The idempotency key of the request, and its message.
    pub(crate) fn keys(&self) -> Vec<String> {
        let mut keys = self.request_keys();
        let message = self.chat.messages.iter().rev().find(|message| message.role == Role::User);
        let message = message.filter(|message| self.names(message));
        keys.extend(message.map(|message| format!("message:{}", message.id)));
        keys
    }

    /// The client's data about itself, as text.
    pub(crate) fn client_context(&self) -> RawJson {
        let context = &self.chat.context;
        let state = self.chat.state.as_ref().filter(|_| !context.contains_key("state"));
        if context.is_empty() && state.is_none() {
            return RawJson::default();
        }
        // All keys are strings, so this cannot fail.
        RawJson::write(&ClientContext { context, state }).unwrap_or_default()
    }

    /// The runtime context that the route approves.
    pub(crate) async fn runtime_context(&self) -> Result<Value, ApiError> {
        self.server.runtime_context(&self.principal, self.parts.clone(), || self.chat.context.clone()).await
    }
}

/// The client's data about itself and its shared state, written without copying either.
struct ClientContext<'a> {
    context: &'a Map<String, Value>,
    state: Option<&'a Value>,
}

impl Serialize for ClientContext<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let fields = self.context.iter().map(|(key, value)| (key.as_str(), value));
        serializer.collect_map(fields.chain(self.state.map(|state| ("state", state))))
    }
}
