//! Carries out actions with the client.

use headwater_client::{Answer, Client, PendingRequest, Result, RunHandle, SessionFilter};
use headwater_protocol::Role;

use super::{
    action::{ChatAction, ChatFailure, ChatReply},
    app::ChatTarget,
};

/// Carries out an action; one that the terminal does itself has no reply.
pub(super) async fn execute(
    client: Client,
    target: ChatTarget,
    run: Option<RunHandle>,
    action: ChatAction,
) -> Option<ChatReply> {
    match reply(&client, &target, run, &action).await {
        Ok(reply) => reply,
        Err(error) => Some(ChatReply::Failed(Box::new(ChatFailure { action, error }))),
    }
}

async fn reply(
    client: &Client,
    target: &ChatTarget,
    run: Option<RunHandle>,
    action: &ChatAction,
) -> Result<Option<ChatReply>> {
    let session = || client.session(target.session.clone().unwrap_or_default());
    let reply = match action {
        ChatAction::Send(text) => {
            let (run, session) = send(client, target, text).await?;
            ChatReply::Run { run, session: Some(session), attached: false }
        }
        ChatAction::Stop => {
            if let Some(run) = run {
                run.stop().await?;
            }
            ChatReply::Stopped
        }
        ChatAction::Answer(answered) => {
            let (request, answer) = &**answered;
            if let Some(run) = run {
                self::answer(&run, request, answer).await?;
            }
            ChatReply::Answered
        }
        ChatAction::Attach(id) => {
            let run = client.run(id.as_str());
            match run.show().await?.run.session {
                Some(session) => attach(client, run, session).await?,
                None => ChatReply::Run { run, session: None, attached: true },
            }
        }
        ChatAction::Undo => {
            let session = session();
            let messages = session.messages().await?;
            let last = messages.iter().rfind(|message| message.role == Role::User);
            let text = last.map(headwater_protocol::Message::plain_text);
            session.undo().await?;
            ChatReply::Undone(text)
        }
        ChatAction::Retry => {
            let run = session().regenerate("latest").await?;
            ChatReply::Run { run, session: None, attached: false }
        }
        ChatAction::Fork => ChatReply::Forked(Box::new(session().fork("latest").await?)),
        ChatAction::ListSessions => {
            let filter = SessionFilter { agent: target.agent.clone(), ..SessionFilter::default() };
            ChatReply::Sessions(client.sessions(&filter).await?.sessions)
        }
        ChatAction::Open(id) => open(client, id).await?,
        ChatAction::ListAgents => ChatReply::Agents(client.agents().await?),
        ChatAction::Detach | ChatAction::Redraw | ChatAction::Quit => return Ok(None),
    };
    Ok(Some(reply))
}

/// Sends a message to the session, which is created if it does not exist. Gives the session too.
pub(super) async fn send(client: &Client, target: &ChatTarget, text: &str) -> Result<(RunHandle, String)> {
    let session = match &target.session {
        Some(session) => session.clone(),
        None => client.create_session(target.agent.as_deref()).await?.id,
    };
    let mut message = client.session(&session).send(text);
    if let Some(agent) = &target.agent {
        message = message.agent(agent);
    }
    Ok((message.await?, session))
}

/// Answers a request of the run.
pub(super) async fn answer(run: &RunHandle, request: &PendingRequest, answer: &Answer) -> Result<()> {
    match request {
        PendingRequest::ClientTool { call, .. } => run.answer_call(call, answer).await,
        other => run.answer(other.request(), answer).await,
    }
}

/// The session of a run, with the messages that the run answers if it is the newest one.
async fn attach(client: &Client, run: RunHandle, session: String) -> Result<ChatReply> {
    let summary = client.session(&session).show().await?;
    let is_newest = [&summary.active_run, &summary.waiting_run, &summary.last_run]
        .into_iter()
        .find_map(Option::as_deref)
        .is_some_and(|newest| run.id().as_str() == newest);
    if !is_newest {
        return Ok(ChatReply::Run { run, session: Some(session), attached: true });
    }
    let mut messages = client.session(&session).messages().await?;
    let last = messages.iter().rposition(|message| message.role == Role::User);
    messages.truncate(last.map_or(0, |last| last + 1));
    let messages = messages.split_off(messages.len().saturating_sub(1));
    Ok(ChatReply::Opened { session, messages, run: Some(run) })
}

/// A session with its messages up to the run that is active.
pub(super) async fn open(client: &Client, id: &str) -> Result<ChatReply> {
    let session = client.session(id);
    let summary = match session.show().await {
        // Its first message creates it.
        Err(error) if error.code() == "session.unknown" => {
            return Ok(ChatReply::Opened { session: id.to_owned(), messages: Vec::new(), run: None });
        }
        summary => summary?,
    };
    let run = summary.active_run.or(summary.waiting_run).map(|run| client.run(run));
    let mut messages = session.messages().await?;
    if run.is_some() {
        // The stream of the run has its answer.
        let last = messages.iter().rposition(|message| message.role == Role::User);
        messages.truncate(last.map_or(0, |last| last + 1));
    }
    Ok(ChatReply::Opened { session: summary.id, messages, run })
}
