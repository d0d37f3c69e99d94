//! Finding or beginning the run that answers a request.

use headwater_protocol::{Action, CheckpointId, Message, Role};
use headwater_runtime::{ErrorKind, Sent, Session, Start, Turn, TurnInput};

use super::{
    Asked, Placed, answers,
    known::{self, Known},
    request::{fresh, is_made_up},
};
use crate::{ApiError, follow::From, follow::Names};

/// How many turns back a message is looked for that is edited or answered again.
const TURNS_BACK: usize = 200;

/// The run that answers a request, and where its reader begins.
pub(super) async fn place(asked: &Asked) -> Result<Placed, ApiError> {
    let session = existing(asked).await?;
    let mut placed = match answers::give(asked, session.as_ref()).await? {
        Some(placed) => placed,
        None if asked.chat.action == Action::Answer => {
            let message =
                "nothing waits for this answer: it was given before, has expired, or never was asked";
            return Err(ApiError::conflict("request.not-open", message));
        }
        None => match unsaid(asked, session.as_ref()).await? {
            Some(placed) => placed,
            None => say(asked, session).await?,
        },
    };
    placed.names = names(asked);
    Ok(placed)
}

/// Where a page says nothing new, and what it answers is no longer open: it is told what came of its last answer.
async fn unsaid(asked: &Asked, session: Option<&Session>) -> Result<Option<Placed>, ApiError> {
    let answered = asked.chat.messages.last().is_some_and(|message| message.role == Role::Assistant);
    let (Some(session), Action::Chat, true) = (session, &asked.chat.action, answered) else {
        return Ok(None);
    };
    let Some(run) = session.info().await?.last_run else { return Ok(None) };
    let run = asked.served.agent.run(run);
    let since = answers::last_wait(&run).await?;
    Ok(Some(Placed::at(run, answers::told_again(asked, since))))
}

/// What the page calls things.
pub(super) fn names(asked: &Asked) -> Names {
    let habits = asked.dialect.habits();
    let run = asked.chat.run.as_ref().filter(|_| habits.names_runs);
    Names {
        run: run.map(|run| run.as_str().to_owned()),
        request: habits.wants_request.then(|| asked.request_id.clone()),
        endpoint: habits.wants_request.then(|| asked.parts.uri.path().to_owned()),
    }
}

/// The session that the request names, if there is one.
async fn existing(asked: &Asked) -> Result<Option<Session>, ApiError> {
    let id = match &asked.chat.session {
        Some(id) => id.as_str().to_owned(),
        None => match derived(asked).await? {
            Some(id) => id,
            None => return Ok(None),
        },
    };
    let session = asked.session(&id);
    match session.info().await {
        Ok(_) => Ok(Some(session)),
        Err(error) if error.kind() == ErrorKind::UnknownSession => Ok(None),
        // An answer begins no session: to whoever gives it another's is as none.
        Err(error) if error.kind() == ErrorKind::Foreign && asked.chat.action == Action::Answer => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The name of a fresh session, where the request can come again: the same key is the same session.
async fn derived(asked: &Asked) -> Result<Option<String>, ApiError> {
    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
    let Some(key) = asked.keys().into_iter().find(|key| !key.starts_with("message:")) else {
        return Ok(None);
    };
    let secret = asked.served.agent.secret().await?;
    let tag =
        secret.sign(&[b"session", asked.served.name.as_bytes(), asked.owner().as_bytes(), key.as_bytes()]);
    Ok(Some(format!("session_{}", URL_SAFE_NO_PAD.encode(tag.get(..12).unwrap_or_default()))))
}

/// A new turn, or one that is done again.
async fn say(asked: &Asked, session: Option<Session>) -> Result<Placed, ApiError> {
    let said = asked.chat.messages.iter().rposition(|message| message.role == Role::User);
    let keys = asked.keys();
    let _permit = asked.server.may_begin_unless_sent(&asked.principal, session.as_ref(), &keys).await?;
    if let Some(session) = &session
        && let Some(sent) = again(asked, session, said.and_then(|at| asked.chat.messages.get(at))).await?
    {
        return placed(asked, sent).await;
    }
    let prior = asked.chat.messages.get(..said.unwrap_or_default()).unwrap_or_default();
    let session = match session {
        Some(session) => session,
        None => begin(asked, prior).await?,
    };
    let message = said.and_then(|at| asked.chat.messages.get(at));
    let turn = turn(asked, message).await?;
    placed(asked, session.send(turn).await?).await
}

async fn placed(asked: &Asked, sent: Sent) -> Result<Placed, ApiError> {
    let agent = &asked.served.agent;
    if let Some(run) = &asked.chat.run {
        let known = Known { run: sent.run.clone(), since: 0 };
        known::note(agent, asked.owner(), &[format!("run:{run}")], &known).await?;
    }
    // Who asks again may hold a part of the answer: only a re-entry is right for all.
    let from = if sent.repeated { From::Reentry } else { From::Start };
    Ok(Placed { sent: Some(sent.clone()), ..Placed::at(agent.run(sent.run), from) })
}

/// Begins a session, with what the page has of the conversation.
async fn begin(asked: &Asked, prior: &[Message]) -> Result<Session, ApiError> {
    let agent = &asked.served.agent;
    let owner = Some(asked.owner());
    let id = match &asked.chat.session {
        Some(id) => Some(id.as_str().to_owned()),
        None => derived(asked).await?,
    };
    if prior.is_empty() {
        return Ok(match id {
            Some(id) => agent.open_session(id, owner).await?,
            None => agent.new_session(owner).await?,
        });
    }
    match agent.seed_session(id.as_deref(), owner, prior.to_vec()).await {
        Ok(session) => Ok(session),
        // Begun by the same request at the same time.
        Err(error) if error.kind() == ErrorKind::SessionExists => {
            Ok(asked.session(id.as_deref().unwrap_or_default()))
        }
        Err(error) => Err(error.into()),
    }
}

/// What a person says, and all that the run needs beside it.
async fn turn(asked: &Asked, message: Option<&Message>) -> Result<Turn, ApiError> {
    let chat = &asked.chat;
    let text = message.map(Message::plain_text).unwrap_or_default();
    let mut start = Start::new(text)
        .owner(asked.owner())
        .runtime_context(asked.runtime_context().await?)
        .client_tools(chat.tools.clone());
    let mut context = chat.context.clone();
    if let Some(state) = &chat.state {
        context.entry("state").or_insert_with(|| state.clone());
    }
    start = start.client_context(context);
    if let Some(workflow) = &chat.workflow {
        start = start.workflow(workflow);
    }
    if let Some(choice) = &chat.tool_choice {
        start = start.tool_choice(choice.clone());
    }
    let mut turn = Turn::from(start);
    if let Some(message) = message {
        let mut message = message.clone();
        if is_made_up(message.id.as_str()) {
            message.id = fresh("msg_user")?.into();
        }
        turn = turn.message(message);
    }
    Ok(asked.keys().into_iter().fold(turn, Turn::key))
}

/// Does a turn again that the session has: regenerated, or with another text.
async fn again(
    asked: &Asked,
    session: &Session,
    message: Option<&Message>,
) -> Result<Option<Sent>, ApiError> {
    let regenerate = asked.chat.action == Action::Regenerate;
    let named = message.filter(|message| !is_made_up(message.id.as_str()));
    let turn = match named {
        Some(message) => turn_of(session, message).await?,
        None => None,
    };
    match (turn, named) {
        (Some((turn, text)), Some(message)) => {
            let now = message.plain_text();
            if text != now {
                return Ok(Some(session.edit(&turn, now).await?));
            }
            if regenerate {
                return Ok(Some(session.regenerate(&turn).await?));
            }
            // The same request again, if it is the last turn: the session knows it by its key.
            Ok(None)
        }
        _ if regenerate => match session.info().await?.checkpoint {
            Some(last) => Ok(Some(session.regenerate(&last).await?)),
            None => Ok(None),
        },
        _ => Ok(None),
    }
}

/// The turn that a message began, and its text.
async fn turn_of(session: &Session, message: &Message) -> Result<Option<(CheckpointId, String)>, ApiError> {
    for checkpoint in session.checkpoints(None, TURNS_BACK).await? {
        if let TurnInput::Message(said) = session.input(&checkpoint.id).await?
            && said.id == message.id
        {
            return Ok(Some((checkpoint.id, said.plain_text())));
        }
    }
    Ok(None)
}
