//! What a request answers: decisions about tool calls, answers to questions, outputs of the page's own tools.

use std::time::Duration;

use headwater_dialects::{Action, AnswerFlow, Reentry};
use headwater_protocol::{Message, Role, RunId, SessionId, ToolCallId};
use headwater_runtime::{Answer, Answered, ErrorKind, OpenQuestion, Run, Session};

use super::{
    Asked, Placed,
    known::{self, Known},
    respond::streams_answers,
};
use crate::{ApiError, follow::From};

/// How long an output of a page's tool waits for the run to ask for it, and how often that is looked at. Other tools of the
/// same step, or a slow disk, may come first.
const EARLY: Duration = Duration::from_secs(30);
const EARLY_CHECK: Duration = Duration::from_millis(10);

/// How long a request waits for a decision that comes in another one, and how often that is looked at.
const DECISION: Duration = Duration::from_secs(5);
const DECISION_CHECK: Duration = Duration::from_millis(100);

/// How many open questions of one person are looked at to find one by its call.
const LOOKED_AT: usize = 1_000;

/// Gives the answers that stand in a request, if anything waits for them, and says where its response begins.
pub(super) async fn give(asked: &Asked, session: Option<&Session>) -> Result<Option<Placed>, ApiError> {
    let chat = &asked.chat;
    let spoke = spoke(asked);
    let owed = !chat.approvals.is_empty() || !chat.answers.is_empty() || !chat.tool_results.is_empty();
    let pending = pending_calls(asked);
    if !owed && (spoke || pending.is_empty()) {
        return Ok(None);
    }
    let mut open = awaited_questions(asked, session, &pending).await?;
    if session.is_none() && chat.action != Action::Answer {
        retain_conversation(asked, &mut open).await?;
    }
    let mut given: Vec<(&OpenQuestion, Answered)> = Vec::new();
    for question in &open {
        if let Some(answer) = answer_to(asked, question) {
            given.push((question, answer.by(Some(asked.owner().to_owned()))));
        }
    }
    if let Some((first, _)) = given.first() {
        // The newest run that waits for it: a call may have the same name in several.
        let run = first.run.clone();
        given.retain(|(question, _)| question.run == run);
        return respond_to(asked, session, &run, given).await.map(Some);
    }
    if let Some(known) = answered_before(asked, session, &pending).await?
        && (session.is_some() || is_conversation(asked, &known.run).await?)
    {
        let run = asked.served.agent.run(known.run);
        return Ok(Some(Placed::at(run, begin_again(asked, known.since))));
    }
    let waiting = open.iter().find(|question| call_of(question).is_some_and(|call| pending.contains(call)));
    match waiting.filter(|_| !spoke) {
        Some(question) => undecided(asked, session, question).await.map(Some),
        None => Ok(None),
    }
}

/// A page asks to go on before its decision has arrived. The decision may be on its way in another request; if it does not
/// come, the response says once more what the run waits for, and ends; or it says how to send the decision.
async fn undecided(
    asked: &Asked,
    session: Option<&Session>,
    question: &OpenQuestion,
) -> Result<Placed, ApiError> {
    let agent = &asked.served.agent;
    let since = told(asked, session, &question.run).await?;
    let deadline = tokio::time::Instant::now() + DECISION;
    loop {
        let run = agent.run(question.run.clone());
        let open = agent.open_questions(&question.run).await?;
        if !open.iter().any(|open| open.request == question.request) {
            return Ok(Placed::at(run, From::Response(since)));
        }
        if tokio::time::Instant::now() >= deadline {
            return match asked.dialect.how_to_decide() {
                Some(how) => Err(ApiError::conflict("approval.undecided", how)),
                None => Ok(Placed::at(run, begin_again(asked, 0))),
            };
        }
        tokio::time::sleep(DECISION_CHECK).await;
    }
}

/// Where a response begins that is sent again. A client that may hold a part of it and cannot be sent the same chunks twice
/// gets a snapshot.
pub(super) fn begin_again(asked: &Asked, since: u64) -> From {
    if asked.dialect.answers() == AnswerFlow::NewResponse {
        return From::response(since);
    }
    if since == 0 || tells_by_snapshot(asked) { From::Reentry } else { From::Response(since) }
}

/// Whether a client that comes back is told the conversation by a snapshot.
pub(super) fn tells_by_snapshot(asked: &Asked) -> bool {
    asked.profile.reentry == Reentry::Snapshot
}

/// Gives answers to a run, and says where the response to them begins.
async fn respond_to(
    asked: &Asked,
    session: Option<&Session>,
    run: &RunId,
    given: Vec<(&OpenQuestion, Answered)>,
) -> Result<Placed, ApiError> {
    let agent = &asked.served.agent;
    let known = Known { run: run.clone(), since: told(asked, session, run).await? };
    let mut names: Vec<String> = Vec::new();
    if !streams_answers(asked) {
        names.push(untold(run));
    }
    names.extend(asked.chat.run.iter().map(|run| format!("run:{run}")));
    for (question, _) in &given {
        names.push(format!("request:{}", question.request));
        // Who gives the next answer may name the conversation or not.
        if let Some(call) = call_of(question) {
            names.push(call_name(question.session.as_ref(), call));
            names.push(call_name(None, call));
        }
    }
    let answers: Vec<_> = given.into_iter().map(|(_, answer)| answer).collect();
    let mut meant = Vec::with_capacity(names.len());
    for name in names {
        let known = known::find(agent, asked.owner(), &name).await?;
        meant.push((name, known));
    }
    let before =
        meant.iter().find_map(|(name, known)| known.clone().filter(|_| name.starts_with("request:")));
    // Noted first: the same request may come again before this one is answered.
    if before.is_none() {
        let names: Vec<_> = meant.iter().map(|(name, _)| name.clone()).collect();
        known::note(agent, asked.owner(), &names, &known).await?;
    }
    match (agent.answer_all(answers).await, &before) {
        (Ok(_), None) => Ok(Placed::at(agent.run(known.run), From::Response(known.since))),
        // The same request again: it is told what came of the first one.
        (Ok(_), Some(before)) => {
            Ok(Placed::at(agent.run(before.run.clone()), begin_again(asked, before.since)))
        }
        (Err(error), Some(before)) if error.kind() == ErrorKind::Answered => {
            Ok(Placed::at(agent.run(before.run.clone()), begin_again(asked, before.since)))
        }
        (Err(error), _) => {
            if before.is_none() {
                mean_again(asked, meant).await?;
            }
            Err(error.into())
        }
    }
}

/// Lets names mean what they meant before answers that were refused.
async fn mean_again(asked: &Asked, meant: Vec<(String, Option<Known>)>) -> Result<(), ApiError> {
    let agent = &asked.served.agent;
    for (name, known) in meant {
        match known {
            Some(known) => known::note(agent, asked.owner(), &[name], &known).await?,
            None => known::forget(agent, asked.owner(), &name).await?,
        }
    }
    Ok(())
}

/// How a call is noted: models give the same ids in many conversations.
fn call_name(session: Option<&SessionId>, call: &ToolCallId) -> String {
    match session {
        Some(session) => format!("call:{session}/{call}"),
        None => format!("call:{call}"),
    }
}

/// By what is noted where the response stopped after which answers were given that no response has followed yet.
pub(super) fn untold(run: &RunId) -> String {
    format!("untold:{run}")
}

/// The last record that the response before has told, which ended because the run waited. The run may have gone on since,
/// with another answer.
async fn told(asked: &Asked, session: Option<&Session>, run: &RunId) -> Result<u64, ApiError> {
    let agent = &asked.served.agent;
    if let Some(known) = known::find(agent, asked.owner(), &untold(run)).await? {
        return Ok(known.since);
    }
    let going = match session {
        Some(session) => session.info().await?.going.as_ref() == Some(run),
        None => false,
    };
    if going {
        return last_wait(&agent.run(run.clone())).await;
    }
    let info = agent.store().info(&run.as_str().into()).await?;
    Ok(info.map_or(0, |info| info.tail.last))
}

/// The record by which a run last said that it waits, or 0.
pub(super) async fn last_wait(run: &Run) -> Result<u64, ApiError> {
    Ok(run.last_wait().await?.unwrap_or(0))
}

/// Whether the person says something new. Some pages send an answer as a message of the person.
fn spoke(asked: &Asked) -> bool {
    let last = asked.chat.messages.last();
    asked.chat.action != Action::Answer && last.is_some_and(|message| message.role == Role::User)
}

/// The questions that the request may answer. A page that executes a tool as soon as it sees the call may be quicker than
/// the run, which has yet to come to wait for it.
async fn awaited_questions(
    asked: &Asked,
    session: Option<&Session>,
    pending: &[ToolCallId],
) -> Result<Vec<OpenQuestion>, ApiError> {
    let deadline = tokio::time::Instant::now() + EARLY;
    loop {
        // Looked at first: a run that begins to wait in between has its question among the open ones.
        let awaited = awaits_results(asked, session).await?;
        let open = open_questions(asked, session).await?;
        let early = awaited
            && !open.iter().any(|question| answer_to(asked, question).is_some())
            && answered_before(asked, session, pending).await?.is_none();
        if !early || tokio::time::Instant::now() >= deadline {
            return Ok(open);
        }
        tokio::time::sleep(EARLY_CHECK).await;
    }
}

/// Whether a run waits for one of the results in the request, or is about to: a run that is driven here, or the active run of
/// the session, which another server may drive.
async fn awaits_results(asked: &Asked, session: Option<&Session>) -> Result<bool, ApiError> {
    let agent = &asked.served.agent;
    let calls: Vec<_> = asked.chat.tool_results.iter().map(|result| result.call.as_str()).collect();
    if calls.is_empty() || calls.iter().any(|call| agent.awaits(asked.owner(), call)) {
        return Ok(!calls.is_empty());
    }
    let Some(session) = session else { return Ok(false) };
    let Some(run) = session.info().await?.going else { return Ok(false) };
    Ok(agent.run(run).awaits_elsewhere(&calls).await?)
}

/// The questions that are open.
async fn open_questions(asked: &Asked, session: Option<&Session>) -> Result<Vec<OpenQuestion>, ApiError> {
    let agent = &asked.served.agent;
    if let Some(session) = session
        && let info = session.info().await?
        && let Some(run) = info.waiting.or(info.going)
    {
        return Ok(agent.open_questions(&run).await?);
    }
    if session.is_some() && asked.chat.action != Action::Answer {
        return Ok(Vec::new());
    }
    let mut open = agent.questions_of(Some(asked.owner()), None, LOOKED_AT).await?.questions;
    open.sort_by_key(|question| std::cmp::Reverse(question.asked));
    Ok(open)
}

/// Keeps the questions of the conversation in the request. Model-made call ids repeat across conversations, so match by the
/// conversation in the request.
async fn retain_conversation(asked: &Asked, open: &mut Vec<OpenQuestion>) -> Result<(), ApiError> {
    let mut kept = Vec::new();
    for question in open.drain(..) {
        let named = answer_to(asked, &question).is_some()
            || call_of(&question)
                .is_some_and(|call| asked.chat.messages.iter().any(|m| m.tool(call.as_str()).is_some()));
        if named && is_conversation(asked, &question.run).await? {
            kept.push(question);
        }
    }
    *open = kept;
    Ok(())
}

/// Whether the person said in the conversation of a run what the person said in the request.
async fn is_conversation(asked: &Asked, run: &RunId) -> Result<bool, ApiError> {
    if asked.chat.action == Action::Answer {
        return Ok(true);
    }
    let conversation = match asked.served.agent.run(run.clone()).conversation().await {
        Err(error) if error.kind() == ErrorKind::UnknownRun => return Ok(false),
        conversation => conversation?,
    };
    let said = |messages: &[Message]| -> Vec<String> {
        messages.iter().filter(|m| m.role == Role::User).map(Message::plain_text).collect()
    };
    Ok(said(&conversation) == said(&asked.chat.messages))
}

/// The answer to a question, if the request has one.
fn answer_to(asked: &Asked, question: &OpenQuestion) -> Option<Answered> {
    let chat = &asked.chat;
    let request = &question.request;
    if let Some((tool, _)) = question.approval() {
        let decided = chat.approvals.iter().find(|decision| {
            decision.approval.as_str() == request.as_str()
                || decision.approval.as_str() == tool.call.as_str()
                || decision.call.as_ref() == Some(&tool.call)
        });
        if let Some(decision) = decided {
            let answer = Answer::Approval {
                approved: decision.approved,
                reason: decision.reason.clone(),
                input: decision.input.clone(),
            };
            let answered = Answered::new(request.clone(), answer);
            return Some(match &decision.signature {
                Some(signature) => answered.token(signature),
                None => answered,
            });
        }
        let given = chat.answers.iter().find(|given| given.request == *request)?;
        return given.cancelled.then(|| Answered::denied(request.clone(), None));
    }
    if let Some((tool, _)) = question.client_tool() {
        if let Some(result) = chat.tool_results.iter().find(|result| result.call == tool.call) {
            let answer = match &result.error {
                Some(error) => Answer::OutputError(error.clone()),
                None => Answer::Output(result.output.clone().unwrap_or_default()),
            };
            return Some(Answered::new(request.clone(), answer));
        }
        let named =
            |id: &str| id == request.as_str() || id.strip_prefix("client_tool_") == Some(tool.call.as_str());
        let given = chat.answers.iter().find(|given| named(given.request.as_str()))?;
        let answer = match (&given.answer, given.cancelled) {
            (Some(output), false) => Answer::Output(output.clone()),
            _ => Answer::OutputError("the page did not execute the tool".to_owned()),
        };
        return Some(Answered::new(request.clone(), answer));
    }
    if let Some(given) = chat.answers.iter().find(|given| given.request == *request) {
        let answered = match (&given.answer, given.cancelled) {
            (Some(answer), false) => Answered::given(request.clone(), answer.clone()),
            _ => Answered::declined(request.clone()),
        };
        return Some(match &given.token {
            Some(token) => answered.token(token),
            None => answered,
        });
    }
    // A page that knows questions as calls of a tool answers with the tool's output.
    let result = chat.tool_results.iter().find(|result| result.call.as_str() == request.as_str())?;
    Some(match &result.output {
        Some(output) if result.error.is_none() => Answered::given(request.clone(), output.clone()),
        _ => Answered::declined(request.clone()),
    })
}

/// The call that a question is about.
fn call_of(question: &OpenQuestion) -> Option<&ToolCallId> {
    question.approval().or_else(|| question.client_tool()).map(|(tool, _)| &tool.call)
}

/// The calls of the newest message that have no output yet.
fn pending_calls(asked: &Asked) -> Vec<ToolCallId> {
    let Some(last) = asked.chat.messages.last().filter(|message| message.role == Role::Assistant) else {
        return Vec::new();
    };
    let tools = last.parts.iter().filter_map(|part| match part {
        headwater_protocol::Part::Tool(tool) if tool.output.is_none() && tool.error.is_none() => Some(tool),
        _ => None,
    });
    tools.map(|tool| tool.call.clone()).collect()
}

/// The response to the same answers, if they were given before.
async fn answered_before(
    asked: &Asked,
    session: Option<&Session>,
    pending: &[ToolCallId],
) -> Result<Option<Known>, ApiError> {
    let chat = &asked.chat;
    if spoke(asked) {
        return Ok(None);
    }
    let session = chat.session.as_ref().or(session.map(Session::id));
    let mut names: Vec<String> = chat.run.iter().map(|run| format!("run:{run}")).collect();
    names.extend(chat.answers.iter().map(|given| format!("request:{}", given.request)));
    for decision in &chat.approvals {
        names.push(format!("request:{}", decision.approval));
        names.extend(decision.call.iter().map(|call| call_name(session, call)));
    }
    names.extend(chat.tool_results.iter().map(|result| call_name(session, &result.call)));
    // A page that knows a question as a call answers it with the output of the call.
    names.extend(chat.tool_results.iter().map(|result| format!("request:{}", result.call)));
    names.extend(pending.iter().map(|call| call_name(session, call)));
    for name in names {
        if let Some(known) = known::find(&asked.served.agent, asked.owner(), &name).await? {
            return Ok(Some(known));
        }
    }
    Ok(None)
}
