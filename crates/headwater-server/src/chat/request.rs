//! Reading a request.

use std::collections::HashSet;

use axum::{
    extract::Request,
    http::{HeaderMap, StatusCode, header, request::Parts},
};
use headwater_dialects::{Action, ChatRequest, Dialect, Profile, RawRequest};
use headwater_protocol::{Framing, Message, MessageId, Role, RunId, is_positional_id};
use headwater_runtime::{RawJson, Session, WhenBusy};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::branch;
use crate::{ApiError, Principal, Server, agents::Served, extract, idempotency, limits::ids, seeing};

/// A request that was read.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) server: Server,
    pub(crate) principal: Principal,
    pub(crate) dialect: &'static dyn Dialect,
    pub(crate) served: Served,
    pub(crate) chat: ChatRequest,
    pub(crate) parts: Parts,
    /// The request by the name that its sender gave it, or a fresh one.
    pub(crate) request_id: String,
    pub(crate) profile: &'static Profile,
    pub(crate) framing: Framing,
    /// The names that messages were given which came without one: they say nothing about them.
    unnamed: HashSet<MessageId>,
    /// Fingerprint of the body.
    fingerprint: String,
}

impl Asked {
    /// Reads a request in its dialect.
    pub(crate) async fn read(
        server: Server,
        principal: Principal,
        dialect: &'static dyn Dialect,
        agent: Option<&str>,
        request: Request,
    ) -> Result<Self, ApiError> {
        let (parts, body) = request.into_parts();
        let limits = &server.options().limits;
        let body = extract::whole(body).await?;
        let target = parts.uri.path_and_query().map_or("/", |target| target.as_str());
        let headers: Vec<_> = parts
            .headers
            .iter()
            .filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)))
            .collect();
        let raw = RawRequest { method: parts.method.as_str(), target, headers: &headers, body: &body };
        let target = dialect.target(&raw);
        let raw = RawRequest { target: &target, ..raw };
        let mut chat = dialect.parse_request(&raw)?;
        ids::check_chat(&chat)?;
        let has_key = chat.idempotency_key.is_some() || raw.header("idempotency-key").is_some();
        let fingerprint = if has_key { idempotency::fingerprint(&body) } else { String::new() };
        if chat.messages.len() > limits.messages {
            let message =
                format!("{} messages are too many: send at most {}", chat.messages.len(), limits.messages);
            return Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "messages.too-many", message));
        }
        if chat.session.as_ref().is_some_and(|id| is_positional_id(id.as_str())) {
            // Every visitor of the page sends this one: the conversation has no name.
            chat.session = match chat.action {
                Action::Chat | Action::Regenerate | Action::Answer => None,
                // There is nothing to come back to.
                _ => Some(fresh("session")?.into()),
            };
        }
        let unnamed = name_all(&mut chat.messages);
        let agent = agent.map(str::to_owned).or_else(|| raw.query("agent"));
        let agent = agent.or_else(|| chat.agent.take()).or_else(|| named_agent(&chat.context));
        ids::check_all([("agent", agent.as_deref())])?;
        let served = match (&agent, chat.answer.as_ref().or(chat.previous.as_ref())) {
            // An answer names its agent.
            (None, Some(answer)) => match server.agents().of_run(&answer.run).await {
                Err(error) if error.code() == "run.unknown" && chat.previous.is_some() => {
                    return Err(branch::unknown());
                }
                found => found?.0,
            },
            _ => server.agents().find(agent.as_deref())?,
        };
        if let Some(previous) = &chat.previous {
            server.agents().takes_turns(&served.agent)?;
            chat.session = Some(branch::session_of(&served, &principal, previous).await?);
        }
        served.client.admit(&mut chat.messages);
        served.client.check_workflow(&served.agent, chat.workflow.as_deref())?;
        let named = raw.query("profile").map(|name| super::profile(dialect, &name)).transpose()?;
        let profile = named.or(chat.profile).unwrap_or_else(|| dialect.chat_profile(served.agent.asks()));
        let framing = framing(dialect, profile, &parts.headers, raw.query("framing").as_deref())?;
        let request_id = match raw.header("x-request-id").filter(|id| !id.is_empty()) {
            Some(id) => id.to_owned(),
            None => fresh("req")?,
        };
        seeing::note("headwater.dialect", dialect.name());
        seeing::note("gen_ai.agent.name", &served.name);
        Ok(Self {
            server,
            principal,
            dialect,
            served,
            chat,
            parts,
            request_id,
            profile,
            framing,
            unnamed,
            fingerprint,
        })
    }

    /// Whose request it is.
    pub(crate) fn owner(&self) -> &str {
        self.principal.id()
    }

    /// A session of the agent, by its name.
    pub(crate) fn session(&self, id: &str) -> Session {
        self.served.agent.session(id, Some(self.owner()))
    }

    /// Whether the page has a name for a message.
    pub(crate) fn names(&self, message: &Message) -> bool {
        !self.unnamed.contains(&message.id)
    }

    /// The messages before the newest one, as the page shows them, if it sent them all. Those without a name have an empty one.
    pub(crate) fn shown(&self, prior: &[Message]) -> Option<Vec<Message>> {
        let mut shown = self.served.client.shown(prior);
        for message in shown.iter_mut().filter(|message| self.unnamed.contains(&message.id)) {
            message.id = MessageId::default();
        }
        // A page that may bring nothing along may send its newest message alone.
        (self.chat.complete && (self.served.client.seed || !shown.is_empty())).then_some(shown)
    }

    /// What happens to a run that is going when another message comes.
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

    /// Whether the page names a run, and wants it for a message of the person rather than for an answer to a question.
    pub(crate) fn asks_for_another_run(&self) -> bool {
        let ChatRequest { answers, approvals, tool_results, .. } = &self.chat;
        let answered = !answers.is_empty() || !approvals.is_empty() || !tool_results.is_empty();
        let spoke = self.chat.messages.last().is_some_and(|message| message.role == Role::User);
        spoke && !answered && self.run_name().is_some()
    }

    /// What the page calls the run.
    pub(crate) fn run_name(&self) -> Option<&str> {
        let header = || self.parts.headers.get("x-run-id")?.to_str().ok();
        self.chat.run.as_ref().map(RunId::as_str).or_else(header).filter(|name| !name.is_empty())
    }

    /// By what the same request is known again, whatever it says.
    pub(crate) fn request_keys(&self) -> Vec<String> {
        let idempotency = self.chat.idempotency_key.as_ref().map(|key| format!("key:{key}"));
        let idempotency = idempotency.or_else(|| idempotency_key(&self.parts.headers));
        idempotency.into_iter().chain(self.run_name().map(|run| format!("run:{run}"))).collect()
    }

    /// Refuses a request whose idempotency key came before with another body.
    pub(crate) async fn check_key(&self) -> Result<(), ApiError> {
        let keys = self.request_keys();
        let key = keys.iter().find(|key| key.starts_with("key:")).map(String::as_str);
        let place = [self.dialect.name(), self.chat.session.as_ref().map_or("", |session| session.as_str())];
        idempotency::check(&self.served.agent, self.owner(), place, key, &self.fingerprint).await
    }

    /// By what the same request is known again, and the message that it says.
    pub(crate) fn keys(&self) -> Vec<String> {
        let mut keys = self.request_keys();
        let message = self.chat.messages.iter().rev().find(|message| message.role == Role::User);
        let message = message.filter(|message| self.names(message));
        keys.extend(message.map(|message| format!("message:{}", message.id)));
        keys
    }

    /// What the client says about itself, as text.
    pub(crate) fn client_context(&self) -> RawJson {
        let context = &self.chat.context;
        let state = self.chat.state.as_ref().filter(|_| !context.contains_key("state"));
        if context.is_empty() && state.is_none() {
            return RawJson::default();
        }
        // All keys are strings, so this cannot fail.
        RawJson::write(&ClientContext { context, state }).unwrap_or_default()
    }

    /// What the route approves of.
    pub(crate) async fn runtime_context(&self) -> Result<Value, ApiError> {
        self.server.runtime_context(&self.principal, self.parts.clone(), || self.chat.context.clone()).await
    }
}

/// What the client says about itself, with the state that it shares: written without a copy of either.
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

/// The key by which a request is known again.
pub(crate) fn idempotency_key(headers: &HeaderMap) -> Option<String> {
    let key = headers.get("idempotency-key")?.to_str().ok().filter(|key| !key.is_empty())?;
    Some(format!("key:{key}"))
}

/// Names the messages that came without a name, and gives those names.
fn name_all(messages: &mut [Message]) -> HashSet<MessageId> {
    let mut unnamed = HashSet::new();
    let taken: HashSet<_> = messages.iter().map(|message| message.id.clone()).collect();
    let mut names = (1_usize..).map(|number| MessageId::from(format!("message-{number}")));
    for message in messages.iter_mut().filter(|message| message.id == "") {
        if let Some(name) = names.find(|name| !taken.contains(name)) {
            unnamed.insert(name.clone());
            message.id = name;
        }
    }
    unnamed
}

/// The agent that a page names in its own fields.
fn named_agent(context: &Map<String, Value>) -> Option<String> {
    let inner = ["forwardedProps", "data"].into_iter().filter_map(|key| context.get(key)?.get("agent"));
    let mut named = context.get("agent").into_iter().chain(inner);
    named.find_map(Value::as_str).map(str::to_owned)
}

/// The framing that a client wants: by name, or by `Accept`, or the default of its dialect.
pub(crate) fn framing(
    dialect: &'static dyn Dialect,
    profile: &Profile,
    headers: &HeaderMap,
    named: Option<&str>,
) -> Result<Framing, ApiError> {
    let offered = profile.framings;
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    let wanted = match named {
        Some(name) => Some(name.parse().map_err(|_| {
            ApiError::bad(
                "framing.unknown",
                format!("there is no framing `{name}`: there are `sse` and `ndjson`"),
            )
        })?),
        None if accept.contains("ndjson") || accept.contains("jsonl") => Some(Framing::Ndjson),
        None => None,
    };
    match wanted {
        Some(wanted) if offered.contains(&wanted) => Ok(wanted),
        Some(wanted) => {
            let message =
                format!("the dialect `{}` has no {wanted}: its clients do not read it", dialect.name());
            Err(ApiError::new(StatusCode::NOT_ACCEPTABLE, "framing.unsupported", message))
        }
        None => Ok(offered.first().copied().unwrap_or(Framing::Sse)),
    }
}

/// A fresh name.
pub(crate) fn fresh(prefix: &str) -> Result<String, ApiError> {
    Ok(headwater_runtime::fresh_id(prefix)?)
}
