//! Finding or starting the run that answers a request.
//!
//! The intent of a request is determined first; only an intent that starts a run needs permission to start one.

use headwater_dialects::{Action, ReaderNames, ServerNames};
use headwater_protocol::{CheckpointId, Message, Role, RunId};
use headwater_runtime::{ErrorKind, Session, SessionView, Start, Turn, TurnHandle, WhenBusy, fresh_id};

use super::{
    ChatContext,
    aliases::{self, ResponseAlias},
    answers, branch,
};
use crate::{ApiError, ClientPolicy, follow::ReadFrom, stream_response::Attachment};

/// The run that answers a request, and where its reader starts.
pub(super) async fn place(context: &ChatContext) -> Result<Attachment, ApiError> {
    let session = existing(context).await?;
    let mut attachment = match answers::apply(context, session.as_ref()).await? {
        Some(attachment) => attachment,
        None if context.chat.action == Action::Answer => {
            let message =
                "no open question for this answer: it was answered before, has expired, or never existed";
            return Err(ApiError::conflict("request.not-open", message));
        }
        None => match repeat_last_response(context, session.as_ref()).await? {
            Some(attachment) => attachment,
            None => send_turn(context, session).await?,
        },
    };
    attachment.names = names(context, &attachment);
    Ok(attachment)
}

/// A request without a new message whose question is no longer open gets the response to its last answer.
async fn repeat_last_response(
    context: &ChatContext,
    session: Option<&SessionView>,
) -> Result<Option<Attachment>, ApiError> {
    let answered = context.chat.messages.last().is_some_and(|message| message.role == Role::Assistant);
    let (Some(session), Action::Chat, true) = (session, &context.chat.action, answered) else {
        return Ok(None);
    };
    let Some(run) = session.info().last_run else { return Ok(None) };
    let run = context.served.agent.run(run);
    let since = answers::last_wait(&run).await?;
    Ok(Some(Attachment::at(run, answers::repeat_response(context, since))))
}

/// The page's names for its run.
pub(super) fn names(context: &ChatContext, attachment: &Attachment) -> ReaderNames {
    let server = ServerNames {
        request: &context.request_id,
        path: context.parts.uri.path(),
        agent: &context.served.name,
        run: attachment.run.id(),
        since: attachment.from.since(),
    };
    context.dialect.reader_names(&context.chat, server)
}

/// The session that the request names as it is now, if there is one. All that the request asks about it goes by this.
async fn existing(context: &ChatContext) -> Result<Option<SessionView>, ApiError> {
    let id = match &context.chat.session {
        Some(id) => id.as_str().to_owned(),
        None => match context.derived_session_id().await? {
            Some(id) => id,
            None => return Ok(None),
        },
    };
    match context.session(&id).view().await {
        Ok(session) => Ok(Some(session)),
        Err(error) if error.kind() == ErrorKind::UnknownSession => Ok(None),
        // Answers never create a session, so a session of another principal counts as unknown.
        Err(error) if error.kind() == ErrorKind::Foreign && context.chat.action == Action::Answer => Ok(None),
        // Session ids are per principal, so this session belongs to the caller.
        Err(error) if error.kind() == ErrorKind::Foreign => {
            let message = format!(
                "conversation `{id}` was started with another agent than `{}`: continue with that agent, or start a new conversation",
                context.served.name
            );
            Err(ApiError::conflict("session.other-agent", message))
        }
        Err(error) => Err(error.into()),
    }
}

/// The intent of a request with a user message.
enum TurnIntent {
    /// A repeated request.
    Repeated(Box<TurnHandle>),
    /// An existing turn, with another message.
    Edit(CheckpointId),
    /// An existing turn, repeated.
    Regenerate(CheckpointId),
    /// A new turn.
    New,
}

/// A new turn, or one that is done again.
async fn send_turn(context: &ChatContext, session: Option<SessionView>) -> Result<Attachment, ApiError> {
    context.check_key().await?;
    let session = match (&context.chat.previous, session) {
        (Some(previous), Some(session)) => Some(branch::at(context, session, previous).await?),
        (_, session) => session,
    };
    let position = context.chat.messages.iter().rposition(|message| message.role == Role::User);
    let message = position.and_then(|at| context.chat.messages.get(at));
    let prior = context.chat.messages.get(..position.unwrap_or_default()).unwrap_or_default();
    let shown = context.shown(prior);
    let intent = match &session {
        Some(session) => Box::pin(turn_intent(context, session, message, shown.as_deref())).await?,
        None => TurnIntent::New,
    };
    // A request that starts nothing needs no permit.
    let _permit = match intent {
        TurnIntent::Repeated(sent) => return attachment(context, *sent).await,
        _ => context.server.may_begin(&context.principal).await?,
    };
    let turn = turn(context, message).await?;
    let sent = match (intent, session) {
        (TurnIntent::Edit(of), Some(session)) => session.edit(&of, keyed(turn, context.keys())).await?,
        (TurnIntent::Regenerate(of), Some(session)) => {
            session.regenerate_as(&of, keyed(turn, context.request_keys())).await?
        }
        (_, session) => {
            context.served.agent.check_turn(&turn)?;
            let mut turn = keyed(turn, context.keys());
            if let Some(run) = context.run_name() {
                let key = aliases::key(&context.served.agent, context.owner(), &format!("run:{run}"));
                turn = turn.run_name(key, aliases::KEPT);
            }
            match session {
                Some(session) if let Some(previous) = &context.chat.previous => {
                    branch::send(context, session, previous, turn).await?
                }
                Some(session) => {
                    let turn = after_shown(context, &session, turn, shown).await?;
                    session.send(turn).await?
                }
                None => begin(context, &context.served.client.history(prior), turn).await?,
            }
        }
    };
    attachment(context, sent).await
}

/// Sends a turn in an existing session, after the messages that the page shows.
async fn after_shown(
    context: &ChatContext,
    session: &SessionView,
    turn: Turn,
    shown: Option<Vec<Message>>,
) -> Result<Turn, ApiError> {
    let going = session.info().going;
    let turn = turn.when_busy(context.when_busy(going.as_ref()).await?);
    Ok(match shown {
        Some(shown) if context.served.client.seed => turn.after(shown),
        Some(shown) => turn.after_known(shown),
        None => turn,
    })
}

/// Adds the idempotency keys of the request to a turn.
fn keyed(turn: Turn, keys: Vec<String>) -> Turn {
    keys.into_iter().fold(turn, |turn, key| match key.starts_with("message:") {
        true => turn.key(key),
        false => turn.request_key(key),
    })
}

/// The intent of a request in an existing session.
async fn turn_intent(
    context: &ChatContext,
    session: &SessionView,
    message: Option<&Message>,
    shown: Option<&[Message]>,
) -> Result<TurnIntent, ApiError> {
    if let Some(sent) = session.sent_before(&context.request_keys()).await? {
        Box::pin(refuse_other_message(context, &sent, message)).await?;
        return Ok(TurnIntent::Repeated(Box::new(sent)));
    }
    // A page that shows the whole conversation sends a new message.
    if let Some(shown) = shown
        && session.is_at(shown).await?
    {
        return Ok(TurnIntent::New);
    }
    let regenerates = context.chat.action == Action::Regenerate;
    let found = match message.filter(|message| context.names(message)) {
        Some(message) => session.turn_of(message).await?,
        None => None,
    };
    let Some(found) = found else {
        return if regenerates { last(context, session).await } else { Ok(TurnIntent::New) };
    };
    let anew = regenerates || context.asks_for_another_run();
    let checkpoint = found.turn.checkpoint.clone();
    Ok(match (found.over, found.same) {
        (true, false) => TurnIntent::Edit(checkpoint),
        (true, true) if anew => TurnIntent::Regenerate(checkpoint),
        (true, true) => match session.sent_before(&context.keys()).await? {
            Some(last) => TurnIntent::Repeated(Box::new(last)),
            // Not a late copy of the request that sent the message: the page rolls back to it.
            None if context.chat.message.as_ref() == message.map(|message| &message.id) => {
                TurnIntent::Regenerate(checkpoint)
            }
            None => match context.served.agent.run(found.turn.run.clone()).summary().await {
                Ok(_) => TurnIntent::Repeated(Box::new(found.turn)),
                Err(error) if error.kind() == ErrorKind::UnknownRun => TurnIntent::New,
                Err(error) => return Err(error.into()),
            },
        },
        // The turn is active.
        (false, true) if !anew => TurnIntent::Repeated(Box::new(found.turn)),
        (false, same) => {
            if !stops(context, &found.turn.run).await? {
                return if same {
                    Ok(TurnIntent::Repeated(Box::new(found.turn)))
                } else {
                    Err(busy(session.session()))
                };
            }
            let session = session.session();
            session.make_room().await?;
            match session.checkpoint(&checkpoint).await {
                Ok(_) if same => TurnIntent::Regenerate(checkpoint),
                Ok(_) => TurnIntent::Edit(checkpoint),
                // It never started.
                Err(error) if error.kind() == ErrorKind::UnknownCheckpoint => TurnIntent::New,
                Err(error) => return Err(error.into()),
            }
        }
    })
}

/// Refuses a run id that the page has used for another message: the new message would be lost.
async fn refuse_other_message(
    context: &ChatContext,
    sent: &TurnHandle,
    message: Option<&Message>,
) -> Result<(), ApiError> {
    let (Some(name), Some(message)) = (context.run_name(), message) else { return Ok(()) };
    let answered = match context.served.agent.conversation_before(&sent.run).await {
        Ok(mut conversation) => conversation.pop(),
        // It is queued.
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

/// The last turn again, where the page does not name the turn.
async fn last(context: &ChatContext, session: &SessionView) -> Result<TurnIntent, ApiError> {
    let (mut info, session) = (session.info(), session.session());
    // While a turn is active, the session head is the turn before it.
    if let Some(going) = &info.going {
        if !stops(context, going).await? {
            return Err(busy(session));
        }
        session.make_room().await?;
        info = session.info().await?;
    }
    Ok(info.checkpoint.map_or(TurnIntent::New, TurnIntent::Regenerate))
}

/// Whether the page no longer reads the active run.
async fn stops(context: &ChatContext, going: &RunId) -> Result<bool, ApiError> {
    Ok(context.when_busy(Some(going)).await? == WhenBusy::Stop)
}

fn busy(session: &Session) -> ApiError {
    let message = format!("session {} has an active run: wait for it, or stop it", session.id());
    ApiError::conflict("session.busy", message)
}

async fn attachment(context: &ChatContext, sent: TurnHandle) -> Result<Attachment, ApiError> {
    let agent = &context.served.agent;
    if let Some(run) = context.run_name().filter(|_| !sent.named) {
        let known = ResponseAlias { run: sent.run.clone(), since: 0 };
        aliases::note(agent, context.owner(), &[format!("run:{run}")], &known).await?;
    }
    // A client that repeats a request may have a part of the answer: only a re-entry is correct for all.
    let from = if sent.repeated { answers::repeat_response(context, 0) } else { ReadFrom::Start };
    Ok(Attachment { sent: Some(sent.clone()), ..Attachment::at(agent.run(sent.run), from) })
}

/// Creates a session with its first turn, after the conversation that the page sent.
async fn begin(context: &ChatContext, prior: &[Message], turn: Turn) -> Result<TurnHandle, ApiError> {
    let agent = &context.served.agent;
    let owner = Some(context.owner());
    let id = match &context.chat.session {
        Some(id) => Some(id.as_str().to_owned()),
        None => context.derived_session_id().await?,
    };
    if prior.is_empty() {
        return Ok(agent.begin_session(id.as_deref(), owner, turn).await?);
    }
    let session = match agent.seed_session(id.as_deref(), owner, prior.to_vec()).await {
        // Created by a concurrent copy of the request.
        Err(error) if error.kind() == ErrorKind::SessionExists => {
            context.session(id.as_deref().unwrap_or_default())
        }
        begun => begun?,
    };
    Ok(session.send(turn).await?)
}

/// A turn with its user message and the other inputs of the run.
async fn turn(context: &ChatContext, message: Option<&Message>) -> Result<Turn, ApiError> {
    let chat = &context.chat;
    let text = message.map(Message::plain_text).unwrap_or_default();
    let mut start = Start::new(text)
        .owner(context.owner())
        .request(&context.request_id)
        .runtime_context(context.runtime_context().await?)
        .client_tools(chat.tools.clone());
    start = start.client_context(context.client_context());
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
    if !context.names(&message) {
        message.id = fresh_id("msg_user")?.into();
    }
    Ok(turn.message(message))
}
