//! Reads a request in its dialect.

use std::collections::HashSet;

use axum::{extract::Request, http::StatusCode};
use headwater_dialects::{Action, ChatRequest, Dialect, RawRequest};
use headwater_protocol::{Message, MessageId, is_positional_id};
use headwater_runtime::fresh_id;
use serde_json::{Map, Value};

use super::{ChatContext, branch};
use crate::{
    ApiError, Principal, Server,
    audit::{self, Subject},
    dialect, extract, idempotency,
    limits::ids,
    telemetry,
};

/// Reads a request in its dialect.
pub(crate) async fn read(
    server: Server,
    principal: Principal,
    wire: &'static dyn Dialect,
    agent: Option<&str>,
    request: Request,
) -> Result<ChatContext, ApiError> {
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
    let target = wire.target(&raw);
    let raw = RawRequest { target: &target, ..raw };
    let mut chat = wire.parse_request(&raw)?;
    ids::check_chat(&chat)?;
    let has_key = chat.idempotency_key.is_some() || raw.header("idempotency-key").is_some();
    let fingerprint = if has_key { idempotency::fingerprint(&body) } else { String::new() };
    if chat.messages.len() > limits.messages {
        let message =
            format!("{} messages are too many: send at most {}", chat.messages.len(), limits.messages);
        return Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "messages.too-many", message));
    }
    if chat.session.as_ref().is_some_and(|id| is_positional_id(id.as_str())) {
        // Every visitor of the page sends this id, so it does not identify the conversation.
        chat.session = match chat.action {
            Action::Chat | Action::Regenerate | Action::Answer => None,
            // There is no stream to reconnect to.
            _ => Some(fresh_id("session")?.into()),
        };
    }
    let unnamed = name_all(&mut chat.messages);
    let agent = agent.map(str::to_owned).or_else(|| raw.query("agent"));
    let agent = agent.or_else(|| chat.agent.take()).or_else(|| named_agent(&chat.context));
    ids::check_all([("agent", agent.as_deref())])?;
    let served = match (&agent, chat.answer.as_ref().or(chat.previous.as_ref())) {
        // An answer implies its agent.
        (None, Some(answer)) => match server.agents().of_run(&answer.run).await {
            Err(error) if error.code() == "run.unknown" && chat.previous.is_some() => {
                return Err(branch::unknown());
            }
            found => found?.0,
        },
        _ => server.agents().find(agent.as_deref())?,
    };
    let principal = acting_for_run(&server, principal, &chat).await?;
    if let Some(previous) = &chat.previous {
        server.agents().takes_turns(&served.agent)?;
        chat.session = Some(branch::session_of(&served, &principal, previous).await?);
    }
    served.client.admit(&mut chat.messages);
    served.client.check_workflow(&served.agent, chat.workflow.as_deref())?;
    let named = raw.query("profile").map(|name| dialect::profile(wire, &name)).transpose()?;
    let profile = named.or(chat.profile).unwrap_or_else(|| wire.chat_profile(served.agent.asks()));
    let framing = dialect::framing(wire, profile, &parts.headers, raw.query("framing").as_deref())?;
    let request_id = match raw.header("x-request-id").filter(|id| !id.is_empty()) {
        Some(id) => id.to_owned(),
        None => fresh_id("req")?,
    };
    telemetry::note("headwater.dialect", wire.name());
    telemetry::note("gen_ai.agent.name", &served.name);
    Ok(ChatContext {
        server,
        principal,
        dialect: wire,
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

/// The owner of the run in an operator's request, on whose behalf the operator acts; otherwise the caller.
async fn acting_for_run(
    server: &Server,
    principal: Principal,
    chat: &ChatRequest,
) -> Result<Principal, ApiError> {
    if !principal.is_operator() {
        return Ok(principal);
    }
    let answer = chat.answer.as_ref().or(chat.previous.as_ref()).map(|answer| &answer.run);
    let Some(run) = answer.or(chat.run.as_ref()) else { return Ok(principal) };
    match server.agents().of_run(run).await {
        Ok((_, summary)) => {
            let owner = summary.owner.as_deref();
            audit::access(&principal, owner, Subject { run: Some(run.as_str()), session: None });
            Ok(principal.acting_for(owner))
        }
        // An alias of the page, or a run that does not exist yet.
        Err(error) if error.code() == "run.unknown" => Ok(principal),
        Err(error) => Err(error),
    }
}

/// Generates ids for messages without one, and returns these ids.
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

/// The agent named in the page's own fields.
fn named_agent(context: &Map<String, Value>) -> Option<String> {
    let inner = ["forwardedProps", "data"].into_iter().filter_map(|key| context.get(key)?.get("agent"));
    let mut named = context.get("agent").into_iter().chain(inner);
    named.find_map(Value::as_str).map(str::to_owned)
}
