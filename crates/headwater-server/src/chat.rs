//! The dialects' own routes: requests and responses in the client's protocol.
//!
//! `request` reads it, `turn` finds or starts the run that answers it, `respond` streams that run.

mod aliases;
mod answers;
mod branch;
mod context;
mod documents;
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
use headwater_dialects::{Action, Dialect, Route};
use serde::Deserialize;

use self::context::ChatContext;
use crate::{ApiError, Principal, Server, dialect, extract::PathParams};

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
    PathParams(path): PathParams<RoutePath>,
    request: Request,
) -> Result<Response, ApiError> {
    let dialect = dialect::find(&path.dialect)?;
    if !dialect.routes().contains(&route) {
        let message = format!("the dialect `{}` has no route `{}`", dialect.name(), route.path);
        return Err(ApiError::not_found("route.unknown", message));
    }
    // An agent named `chat` takes precedence on this path.
    let named = path.rest.is_some_and(|rest| rest == "chat" || rest.starts_with("chat/"));
    let chat = || Some("chat").filter(|name| named && state.agents().find(Some(name)).is_ok());
    ask(state.clone(), principal, dialect, path.agent.as_deref().or_else(chat), request).await
}

/// Answers a request of a dialect's client. The agent is taken from the path, or else from the request.
pub(crate) async fn ask(
    State(server): State<Server>,
    Extension(principal): Extension<Principal>,
    dialect: &'static dyn Dialect,
    agent: Option<&str>,
    request: Request,
) -> Result<Response, ApiError> {
    dialect::check_served(server.options(), dialect)?;
    let context = request::read(server, principal, dialect, agent, request).await?;
    // Before anything is started that could not be streamed then.
    let permit = || match context.streams_answers() {
        true => context.server.may_read(&context.principal).map(Some),
        false => Ok(None),
    };
    // Large futures are boxed, since a thread's stack must hold all futures that are polled within each
    // other.
    match &context.chat.action {
        Action::Chat | Action::Answer | Action::Regenerate => {
            let permit = permit()?;
            match Box::pin(turn::place(&context)).await {
                // Its client displays errors only if they are in a stream.
                Err(error) if error.code() == "approval.undecided" => Ok(respond::failed(&context, &error)),
                attachment => Box::pin(respond::respond(&context, attachment?, permit)).await,
            }
        }
        Action::Resume => {
            let permit = permit()?;
            match Box::pin(resume::place(&context)).await? {
                Some(attachment) => Box::pin(respond::respond(&context, attachment, permit)).await,
                None if context.dialect.resumes_with_a_stream() => Ok(respond::nothing(&context)),
                None => Ok(StatusCode::NO_CONTENT.into_response()),
            }
        }
        Action::Stop => Box::pin(resume::stop(&context)).await,
        Action::Hydrate => Box::pin(documents::conversation(&context)).await,
        Action::ListAgents => Ok(documents::agents(&context)),
        Action::ListSessions => documents::conversations(&context).await,
        Action::ChangeSession { label, archived } => {
            threads::change(&context, label.as_deref(), *archived).await
        }
        Action::DeleteSession => threads::delete(&context).await,
        Action::Checkpoint(action) => Box::pin(documents::checkpoint(&context, action)).await,
        _ => Err(ApiError::bad("request.invalid", "unknown request: this route cannot handle it")),
    }
}
