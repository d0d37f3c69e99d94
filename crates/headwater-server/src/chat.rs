//! The dialects' own routes: a request in the words of its client, answered in the same words.
//!
//! `request` reads it, `turn` finds or begins the run that answers it, `respond` follows that run.

mod answers;
mod branch;
mod documents;
mod known;
mod request;
mod respond;
mod resume;
mod threads;
mod turn;

use axum::{
    Extension,
    extract::{Request, State},
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use headwater_dialects::{Action, Dialect, Profile, ReaderNames, Route};
use headwater_runtime::{Run, Sent};
use serde::Deserialize;

pub(crate) use documents::add_unanswered;
pub(crate) use request::{Asked, framing, fresh, idempotency_key};
pub(crate) use respond::{conversation_before, follow, stream_headers};
pub(crate) use turn::name_of;

use crate::{ApiError, Principal, Server, extract::Path, follow::From};

/// The run that answers a request, and where its reader begins.
#[derive(Debug)]
pub(crate) struct Placed {
    pub(crate) run: Run,
    pub(crate) from: From,
    /// The turn, where it may still wait for the turns before it.
    pub(crate) sent: Option<Sent>,
    /// What the page calls things.
    pub(crate) names: ReaderNames,
}

impl Placed {
    pub(crate) fn at(run: Run, from: From) -> Self {
        Self { run, from, sent: None, names: ReaderNames::default() }
    }
}

/// The path of a dialect's route.
#[derive(Debug, Deserialize)]
pub(crate) struct RoutePath {
    dialect: String,
    agent: Option<String>,
    rest: Option<String>,
}

/// `/v1/{dialect}/…` and `/v1/{dialect}/{agent}/…`.
pub(crate) async fn by_route(
    route: Route,
    state: State<Server>,
    principal: Extension<Principal>,
    Path(path): Path<RoutePath>,
    request: Request,
) -> Result<Response, ApiError> {
    let dialect = find(&path.dialect)?;
    if !dialect.routes().contains(&route) {
        let message = format!("the dialect `{}` has no route `{}`", dialect.name(), route.path);
        return Err(ApiError::not_found("route.unknown", message));
    }
    // The same path belongs to an agent of the name `chat`, if there is one.
    let named = path.rest.is_some_and(|rest| rest == "chat" || rest.starts_with("chat/"));
    let chat = || Some("chat").filter(|name| named && state.agents().find(Some(name)).is_ok());
    ask(state.clone(), principal, dialect, path.agent.as_deref().or_else(chat), request).await
}

/// A dialect with a chat route, by its name.
pub(crate) fn find(name: &str) -> Result<&'static dyn Dialect, ApiError> {
    find_among(headwater_dialects::CHAT, name)
}

/// A wire that a run can be read in, by its name.
pub(crate) fn find_wire(name: &str) -> Result<&'static dyn Dialect, ApiError> {
    find_among(&headwater_dialects::ALL, name)
}

fn find_among(dialects: &[&'static dyn Dialect], name: &str) -> Result<&'static dyn Dialect, ApiError> {
    dialects.iter().find(|dialect| dialect.name() == name).copied().ok_or_else(|| {
        let known: Vec<_> = dialects.iter().map(|dialect| dialect.name()).collect();
        let message = format!("there is no dialect `{name}`: there are {}", known.join(", "));
        ApiError::not_found("dialect.unknown", message).known(known)
    })
}

/// A profile of a dialect by its name.
pub(crate) fn profile(dialect: &'static dyn Dialect, name: &str) -> Result<&'static Profile, ApiError> {
    dialect.profile(name).ok_or_else(|| {
        let known: Vec<_> = dialect.profiles().iter().map(|profile| profile.name).collect();
        let message = format!(
            "the dialect `{}` has no profile `{name}`: it has `{}`",
            dialect.name(),
            known.join("`, `")
        );
        ApiError::bad("profile.unknown", message).known(known)
    })
}

/// Answers a request of a dialect's client. The agent is the one that the path names, or else the one that the request names.
pub(crate) async fn ask(
    State(server): State<Server>,
    Extension(principal): Extension<Principal>,
    dialect: &'static dyn Dialect,
    agent: Option<&str>,
    request: Request,
) -> Result<Response, ApiError> {
    let asked = Asked::read(server, principal, dialect, agent, request).await?;
    // Before anything is begun that could not be followed then.
    let permit = || match respond::streams_answers(&asked) {
        true => asked.server.may_read(&asked.principal).map(Some),
        false => Ok(None),
    };
    // Boxed where it is large: the stack of a thread must hold all futures that are polled within each other.
    match &asked.chat.action {
        Action::Chat | Action::Answer | Action::Regenerate => {
            let permit = permit()?;
            match Box::pin(turn::place(&asked)).await {
                // Its client shows nothing of an error that is not in a stream.
                Err(error) if error.code() == "approval.undecided" => Ok(respond::failed(&asked, &error)),
                placed => Box::pin(respond::respond(&asked, placed?, permit)).await,
            }
        }
        Action::Resume => {
            let permit = permit()?;
            match Box::pin(resume::place(&asked)).await? {
                Some(placed) => Box::pin(respond::respond(&asked, placed, permit)).await,
                None if asked.dialect.resumes_with_a_stream() => Ok(respond::nothing(&asked)),
                None => Ok(StatusCode::NO_CONTENT.into_response()),
            }
        }
        Action::Stop => Box::pin(resume::stop(&asked)).await,
        Action::Hydrate => Box::pin(documents::conversation(&asked)).await,
        Action::ListAgents => Ok(documents::agents(&asked)),
        Action::ListSessions => documents::conversations(&asked).await,
        Action::ChangeSession { label, archived } => {
            threads::change(&asked, label.as_deref(), *archived).await
        }
        Action::DeleteSession => threads::delete(&asked).await,
        Action::Checkpoint(action) => Box::pin(documents::checkpoint(&asked, action)).await,
        _ => Err(ApiError::bad("request.invalid", "the request asks for something that is not known here")),
    }
}
