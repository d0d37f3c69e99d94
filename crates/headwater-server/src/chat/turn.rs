//! Finding or beginning the run that answers a request.
//!
//! What a request means is decided before anything is begun: only what begins something needs leave to begin.

use headwater_dialects::{Action, ReaderNames, ServerNames};
use headwater_protocol::{CheckpointId, Message, Role, RunId};
use headwater_runtime::{ErrorKind, Sent, Session, Start, Turn, WhenBusy};

use super::{
    Asked, Placed, answers, branch,
    known::{self, Known},
    request::fresh,
};
use crate::{ApiError, ClientPolicy, Principal, agents::Served, follow::From};

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
    placed.names = names(asked, &placed);
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
    Ok(Some(Placed::at(run, answers::begin_again(asked, since))))
}

/// The names by which the page knows its run.
pub(super) fn names(asked: &Asked, placed: &Placed) -> ReaderNames {
    let server = ServerNames {
        request: &asked.request_id,
        path: asked.parts.uri.path(),
        agent: &asked.served.name,
        run: placed.run.id(),
        since: placed.from.since(),
    };
    asked.dialect.reader_names(&asked.chat, server)
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
        // Each owner has names of their own, so this is a session of the same person.
        Err(error) if error.kind() == ErrorKind::Foreign => {
            let message = format!(
                "conversation `{id}` was begun with another agent than `{}`: go on with that one, or begin a new conversation",
                asked.served.name
            );
            Err(ApiError::conflict("session.other-agent", message))
        }
        Err(error) => Err(error.into()),
    }
}

/// The name of a fresh session, where the request can come again: the same key is the same session.
pub(super) async fn derived(asked: &Asked) -> Result<Option<String>, ApiError> {
    match asked.request_keys().first() {
        Some(key) => Ok(Some(name_of(&asked.served, &asked.principal, "session", key).await?)),
        None => Ok(None),
    }
}

/// A name that the same key of the same principal always gives, and that nobody can guess.
pub(crate) async fn name_of(
    served: &Served,
    principal: &Principal,
    kind: &str,
    key: &str,
) -> Result<String, ApiError> {
    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
    let secret = served.agent.secret().await?;
    let tag =
        secret.sign(&[kind.as_bytes(), served.name.as_bytes(), principal.id().as_bytes(), key.as_bytes()]);
    Ok(format!("{kind}_{}", URL_SAFE_NO_PAD.encode(tag.get(..12).unwrap_or_default())))
}

/// What a request with something that a person said asks for.
enum Meant {
    /// What was asked for before.
    Repeated(Box<Sent>),
    /// A turn that is there, with another message.
    Edit(CheckpointId),
    /// A turn that is there, once more.
    Regenerate(CheckpointId),
    /// A turn of its own.
    New,
}

/// A new turn, or one that is done again.
async fn say(asked: &Asked, session: Option<Session>) -> Result<Placed, ApiError> {
    asked.check_key().await?;
    let session = match (&asked.chat.previous, session) {
        (Some(previous), Some(session)) => Some(branch::at(asked, session, previous).await?),
        (_, session) => session,
    };
    let said = asked.chat.messages.iter().rposition(|message| message.role == Role::User);
    let message = said.and_then(|at| asked.chat.messages.get(at));
    let prior = asked.chat.messages.get(..said.unwrap_or_default()).unwrap_or_default();
    let shown = asked.shown(prior);
    let meant = match &session {
        Some(session) => Box::pin(meant(asked, session, message, shown.as_deref())).await?,
        None => Meant::New,
    };
    // What begins nothing needs no leave to begin.
    let _permit = match meant {
        Meant::Repeated(sent) => return placed(asked, *sent).await,
        _ => asked.server.may_begin(&asked.principal).await?,
    };
    let turn = turn(asked, message).await?;
    let sent = match (meant, session) {
        (Meant::Edit(of), Some(session)) => session.edit(&of, keyed(turn, asked.keys())).await?,
        (Meant::Regenerate(of), Some(session)) => {
            session.regenerate_as(&of, keyed(turn, asked.request_keys())).await?
        }
        (_, session) => {
            asked.served.agent.check_turn(&turn)?;
            let turn = keyed(turn, asked.keys());
            match session {
                Some(session) if let Some(previous) = &asked.chat.previous => {
                    branch::send(asked, session, previous, turn).await?
                }
                Some(session) => session.send(standing(asked, &session, turn, shown).await?).await?,
                None => begin(asked, &asked.served.client.history(prior), turn).await?,
            }
        }
    };
    placed(asked, sent).await
}

/// A turn of a session that is there, after what its page shows.
async fn standing(
    asked: &Asked,
    session: &Session,
    turn: Turn,
    shown: Option<Vec<Message>>,
) -> Result<Turn, ApiError> {
    let going = session.info().await?.going;
    let turn = turn.when_busy(asked.when_busy(going.as_ref()).await?);
    Ok(match shown {
        Some(shown) if asked.served.client.seed => turn.after(shown),
        Some(shown) => turn.after_known(shown),
        None => turn,
    })
}

/// A turn that is known again by its request, and by its message where that is one of the keys.
fn keyed(turn: Turn, keys: Vec<String>) -> Turn {
    keys.into_iter().fold(turn, |turn, key| match key.starts_with("message:") {
        true => turn.key(key),
        false => turn.request_key(key),
    })
}

/// What the request asks for in a session that is there.
async fn meant(
    asked: &Asked,
    session: &Session,
    message: Option<&Message>,
    shown: Option<&[Message]>,
) -> Result<Meant, ApiError> {
    if let Some(sent) = session.sent_before(&asked.request_keys()).await? {
        Box::pin(refuse_other_message(asked, &sent, message)).await?;
        return Ok(Meant::Repeated(Box::new(sent)));
    }
    // A page that shows all that was said says something new.
    if let Some(shown) = shown
        && session.is_at(shown).await?
    {
        return Ok(Meant::New);
    }
    let regenerates = asked.chat.action == Action::Regenerate;
    let found = match message.filter(|message| asked.names(message)) {
        Some(message) => session.turn_of(message).await?,
        None => None,
    };
    let Some(found) = found else {
        return if regenerates { last(asked, session).await } else { Ok(Meant::New) };
    };
    let anew = regenerates || asked.asks_for_another_run();
    let checkpoint = found.turn.checkpoint.clone();
    Ok(match (found.over, found.same) {
        (true, false) => Meant::Edit(checkpoint),
        (true, true) if anew => Meant::Regenerate(checkpoint),
        (true, true) => match session.sent_before(&asked.keys()).await? {
            Some(last) => Meant::Repeated(Box::new(last)),
            // Not a late copy of the request that said it: the page goes back to it.
            None if asked.chat.message.as_ref() == message.map(|message| &message.id) => {
                Meant::Regenerate(checkpoint)
            }
            None => match asked.served.agent.run(found.turn.run.clone()).summary().await {
                Ok(_) => Meant::Repeated(Box::new(found.turn)),
                Err(error) if error.kind() == ErrorKind::UnknownRun => Meant::New,
                Err(error) => return Err(error.into()),
            },
        },
        // It is being answered.
        (false, true) if !anew => Meant::Repeated(Box::new(found.turn)),
        (false, same) => {
            if !stops(asked, &found.turn.run).await? {
                return if same { Ok(Meant::Repeated(Box::new(found.turn))) } else { Err(busy(session)) };
            }
            session.make_room().await?;
            match session.checkpoint(&checkpoint).await {
                Ok(_) if same => Meant::Regenerate(checkpoint),
                Ok(_) => Meant::Edit(checkpoint),
                // It never began.
                Err(error) if error.kind() == ErrorKind::UnknownCheckpoint => Meant::New,
                Err(error) => return Err(error.into()),
            }
        }
    })
}

/// Refuses the page's name of a run for another message than the one that the run answers: the message would be lost.
async fn refuse_other_message(asked: &Asked, sent: &Sent, message: Option<&Message>) -> Result<(), ApiError> {
    let (Some(name), Some(message)) = (asked.run_name(), message) else { return Ok(()) };
    let answered = match asked.served.agent.run(sent.run.clone()).conversation().await {
        Ok(mut conversation) => conversation.pop(),
        // It waits for its turn.
        Err(error) if error.kind() == ErrorKind::UnknownRun => None,
        Err(error) => return Err(error.into()),
    };
    let answered = answered.filter(|answered| answered.role == Role::User && answered.id != message.id);
    if answered.is_some_and(|answered| answered.plain_text() != message.plain_text()) {
        let text = format!(
            "run id `{name}` is in use for another message: send a run id of its own with each message"
        );
        return Err(ApiError::conflict("run.in-use", text));
    }
    Ok(())
}

/// The last turn once more, where the page does not say which one it means.
async fn last(asked: &Asked, session: &Session) -> Result<Meant, ApiError> {
    let mut info = session.info().await?;
    // While a turn is going the session stands at the one before it.
    if let Some(going) = &info.going {
        if !stops(asked, going).await? {
            return Err(busy(session));
        }
        session.make_room().await?;
        info = session.info().await?;
    }
    Ok(info.checkpoint.map_or(Meant::New, Meant::Regenerate))
}

/// Whether the page has done with what is going.
async fn stops(asked: &Asked, going: &RunId) -> Result<bool, ApiError> {
    Ok(asked.when_busy(Some(going)).await? == WhenBusy::Stop)
}

fn busy(session: &Session) -> ApiError {
    let message = format!("a run of session {} is going: wait for it, or stop it", session.id());
    ApiError::conflict("session.busy", message)
}

async fn placed(asked: &Asked, sent: Sent) -> Result<Placed, ApiError> {
    let agent = &asked.served.agent;
    if let Some(run) = asked.run_name() {
        let known = Known { run: sent.run.clone(), since: 0 };
        known::note(agent, asked.owner(), &[format!("run:{run}")], &known).await?;
    }
    // Who asks again may hold a part of the answer: only a re-entry is right for all.
    let from = if sent.repeated { answers::begin_again(asked, 0) } else { From::Start };
    Ok(Placed { sent: Some(sent.clone()), ..Placed::at(agent.run(sent.run), from) })
}

/// Begins a session with its first turn, after what the page has of the conversation.
async fn begin(asked: &Asked, prior: &[Message], turn: Turn) -> Result<Sent, ApiError> {
    let agent = &asked.served.agent;
    let owner = Some(asked.owner());
    let id = match &asked.chat.session {
        Some(id) => Some(id.as_str().to_owned()),
        None => derived(asked).await?,
    };
    if prior.is_empty() {
        return Ok(agent.send_to(id.as_deref(), owner, turn).await?);
    }
    let session = match agent.seed_session(id.as_deref(), owner, prior.to_vec()).await {
        // Begun by the same request at the same time.
        Err(error) if error.kind() == ErrorKind::SessionExists => {
            asked.session(id.as_deref().unwrap_or_default())
        }
        begun => begun?,
    };
    Ok(session.send(turn).await?)
}

/// What a person says, and all that the run needs beside it.
async fn turn(asked: &Asked, message: Option<&Message>) -> Result<Turn, ApiError> {
    let chat = &asked.chat;
    let text = message.map(Message::plain_text).unwrap_or_default();
    let mut start = Start::new(text)
        .owner(asked.owner())
        .request(&asked.request_id)
        .runtime_context(asked.runtime_context().await?)
        .client_tools(chat.tools.clone());
    start = start.client_context(asked.client_context());
    if let Some(workflow) = &chat.workflow {
        start = start.workflow(workflow);
    }
    if let Some(choice) = &chat.tool_choice {
        start = start.tool_choice(choice.clone());
    }
    if let Some(format) = &chat.answer_format {
        start = start.answer_format(format.clone());
    }
    let turn = Turn::from(start);
    let Some(message) = message else { return Ok(turn) };
    let mut message = ClientPolicy::newest(message);
    if !asked.names(&message) {
        message.id = fresh("msg_user")?.into();
    }
    Ok(turn.message(message))
}
