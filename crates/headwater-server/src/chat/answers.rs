//! Answers in a request: decisions about tool calls, answers to questions, outputs of client tools.

use std::time::Duration;

use headwater_dialects::{Action, AnswerFlow, Reentry};
use headwater_protocol::{Message, Role, RunId, SessionId, ToolCallId};
use headwater_runtime::{Answer, AnswerValue, ErrorKind, OpenQuestion, Run, SessionView};
use headwater_store::Watch;
use tokio::time::Instant;

use super::{
    ChatContext,
    aliases::{self, ResponseAlias},
};
use crate::{ApiError, follow::ReadFrom, stream_response::Attachment};

/// How long an output of a page's tool waits for the run to ask for it. Other tools of the same step, or a slow disk, may
/// come first.
const EARLY: Duration = Duration::from_secs(30);

/// How long a request waits for a decision that comes in another one.
const DECISION: Duration = Duration::from_secs(5);

/// How long a request waits for a change of the questions before it looks again: a store may notify late or not at all.
const POLL: Duration = Duration::from_secs(1);

/// How soon it looks again after a change: a question is written shortly before the record that the run waits for it.
const SOON: Duration = Duration::from_millis(10);

/// Maximum number of a principal's open questions searched for a call.
const LOOKED_AT: usize = 1_000;

/// Applies the answers in a request to their questions, and returns where the response starts.
pub(super) async fn apply(
    context: &ChatContext,
    session: Option<&SessionView>,
) -> Result<Option<Attachment>, ApiError> {
    let chat = &context.chat;
    let has_message = has_new_message(context);
    let has_answers = !chat.approvals.is_empty() || !chat.answers.is_empty() || !chat.tool_results.is_empty();
    let pending = pending_calls(context);
    if !has_answers && (has_message || pending.is_empty()) {
        return Ok(None);
    }
    let mut open = awaited_questions(context, session, &pending).await?;
    if session.is_none() && chat.action != Action::Answer {
        retain_conversation(context, &mut open).await?;
    }
    let mut given: Vec<(&OpenQuestion, Answer)> = Vec::new();
    for question in &open {
        if let Some(answer) = answer_to(context, question) {
            given.push((question, answer.by(Some(context.owner().to_owned()))));
        }
    }
    if let Some((first, _)) = given.first() {
        // The newest waiting run: several runs may have a call of the same name.
        let run = first.run.clone();
        given.retain(|(question, _)| question.run == run);
        return respond_to(context, session, &run, given).await.map(Some);
    }
    if let Some(known) = answered_before(context, session, &pending).await?
        && (session.is_some() || is_conversation(context, &known.run).await?)
    {
        let run = context.served.agent.run(known.run);
        return Ok(Some(Attachment::at(run, repeat_response(context, known.since))));
    }
    let waiting = open.iter().find(|question| call_of(question).is_some_and(|call| pending.contains(call)));
    match waiting.filter(|_| !has_message) {
        Some(question) => undecided(context, session, question).await.map(Some),
        None => Ok(None),
    }
}

/// Handles a page that continues before its decision has arrived. The decision may be in another request that
/// is still on its way; if it does not arrive, the response repeats the open question and ends, or explains
/// how to send the decision.
async fn undecided(
    context: &ChatContext,
    session: Option<&SessionView>,
    question: &OpenQuestion,
) -> Result<Attachment, ApiError> {
    let agent = &context.served.agent;
    let since = end_of_last_response(context, session, &question.run).await?;
    let deadline = Instant::now() + DECISION;
    let mut changes = QuestionChanges::new(context, deadline);
    loop {
        let run = agent.run(question.run.clone());
        let open = agent.open_questions(&question.run).await?;
        if !open.iter().any(|open| open.request == question.request) {
            return Ok(Attachment::at(run, ReadFrom::Response(since)));
        }
        if Instant::now() >= deadline {
            return match context.dialect.decision_hint() {
                Some(how) => Err(ApiError::conflict("approval.undecided", how)),
                None => Ok(Attachment::at(run, repeat_response(context, 0))),
            };
        }
        changes.next().await;
    }
}

/// Waits for changes of the questions of a principal.
struct QuestionChanges {
    watch: Watch,
    /// When the request waits no longer.
    deadline: Instant,
    /// When to look again without a change.
    pause: Duration,
}

impl QuestionChanges {
    /// To be made before the questions are read, so that no change is missed in between.
    fn new(context: &ChatContext, deadline: Instant) -> Self {
        let watch = context.served.agent.watch_questions(Some(context.owner()));
        Self { watch, deadline, pause: SOON }
    }

    /// Waits until questions have changed, or it is time to look again.
    async fn next(&mut self) {
        let until = self.deadline.min(Instant::now() + self.pause);
        self.pause = match tokio::time::timeout_at(until, self.watch.changed()).await {
            Ok(()) => SOON,
            Err(_) => (self.pause * 2).min(POLL),
        };
    }
}

/// Where a repeated response starts. A client that may have a part of it and cannot handle repeated chunks
/// gets a snapshot.
pub(super) fn repeat_response(context: &ChatContext, since: u64) -> ReadFrom {
    if context.dialect.answers() == AnswerFlow::NewResponse {
        return ReadFrom::response(since);
    }
    if since == 0 || reenters_by_snapshot(context) { ReadFrom::Reentry } else { ReadFrom::Response(since) }
}

/// Whether a client that reconnects gets the conversation as a snapshot.
pub(super) fn reenters_by_snapshot(context: &ChatContext) -> bool {
    context.profile.reentry == Reentry::Snapshot
}

/// Applies answers to a run, and returns where the response starts.
async fn respond_to(
    context: &ChatContext,
    session: Option<&SessionView>,
    run: &RunId,
    given: Vec<(&OpenQuestion, Answer)>,
) -> Result<Attachment, ApiError> {
    let agent = &context.served.agent;
    let known = ResponseAlias { run: run.clone(), since: end_of_last_response(context, session, run).await? };
    let mut names: Vec<String> = Vec::new();
    if !context.streams_answers() {
        names.push(unstreamed_alias(run));
    }
    names.extend(context.chat.run.iter().map(|run| format!("run:{run}")));
    for (question, _) in &given {
        names.push(format!("request:{}", question.request));
        // The next answer may or may not name the conversation.
        if let Some(call) = call_of(question) {
            names.push(call_name(question.session.as_ref(), call));
            names.push(call_name(None, call));
        }
    }
    let answers: Vec<_> = given.into_iter().map(|(_, answer)| answer).collect();
    let mut earlier = Vec::with_capacity(names.len());
    for name in names {
        let known = aliases::find(agent, context.owner(), &name).await?;
        earlier.push((name, known));
    }
    let before =
        earlier.iter().find_map(|(name, known)| known.clone().filter(|_| name.starts_with("request:")));
    // Stored first: the same request may be repeated before this one is answered.
    if before.is_none() {
        let names: Vec<_> = earlier.iter().map(|(name, _)| name.clone()).collect();
        aliases::note(agent, context.owner(), &names, &known).await?;
    }
    match (agent.answer_all(answers).await, &before) {
        (Ok(_), None) => Ok(Attachment::at(agent.run(known.run), ReadFrom::Response(known.since))),
        // A repeated request gets the result of the first one.
        (Ok(_), Some(before)) => {
            Ok(Attachment::at(agent.run(before.run.clone()), repeat_response(context, before.since)))
        }
        (Err(error), Some(before)) if error.kind() == ErrorKind::Answered => {
            Ok(Attachment::at(agent.run(before.run.clone()), repeat_response(context, before.since)))
        }
        (Err(error), _) => {
            if before.is_none() {
                restore_aliases(context, earlier).await?;
            }
            Err(error.into())
        }
    }
}

/// Restores the aliases after answers were rejected.
async fn restore_aliases(
    context: &ChatContext,
    earlier: Vec<(String, Option<ResponseAlias>)>,
) -> Result<(), ApiError> {
    let agent = &context.served.agent;
    for (name, known) in earlier {
        match known {
            Some(known) => aliases::note(agent, context.owner(), &[name], &known).await?,
            None => aliases::forget(agent, context.owner(), &name).await?,
        }
    }
    Ok(())
}

/// The alias of a call, with its session: models reuse ids across conversations.
fn call_name(session: Option<&SessionId>, call: &ToolCallId) -> String {
    match session {
        Some(session) => format!("call:{session}/{call}"),
        None => format!("call:{call}"),
    }
}

/// The alias of the last response's end, for answers without a response so far.
pub(super) fn unstreamed_alias(run: &RunId) -> String {
    format!("unstreamed:{run}")
}

/// The last record of the previous response, which ended because the run waited. The run may have continued since,
/// with another answer.
async fn end_of_last_response(
    context: &ChatContext,
    session: Option<&SessionView>,
    run: &RunId,
) -> Result<u64, ApiError> {
    let agent = &context.served.agent;
    if let Some(known) = aliases::find(agent, context.owner(), &unstreamed_alias(run)).await? {
        return Ok(known.since);
    }
    if session.is_some_and(|session| session.info().going.as_ref() == Some(run)) {
        return last_wait(&agent.run(run.clone())).await;
    }
    let info = agent.store().info(&run.as_str().into()).await?;
    Ok(info.map_or(0, |info| info.tail.last))
}

/// The last `RunWaiting` record of a run, or 0.
pub(super) async fn last_wait(run: &Run) -> Result<u64, ApiError> {
    Ok(run.last_wait().await?.unwrap_or(0))
}

/// Whether the request has a new message. Some pages send an answer as a user message.
fn has_new_message(context: &ChatContext) -> bool {
    let last = context.chat.messages.last();
    context.chat.action != Action::Answer && last.is_some_and(|message| message.role == Role::User)
}

/// The questions that the request may answer. A page that executes a tool as soon as it sees the call may be
/// faster than the run, which does not wait for the output yet.
async fn awaited_questions(
    context: &ChatContext,
    session: Option<&SessionView>,
    pending: &[ToolCallId],
) -> Result<Vec<OpenQuestion>, ApiError> {
    let deadline = Instant::now() + EARLY;
    let mut changes = QuestionChanges::new(context, deadline);
    let mut seen = session.cloned();
    loop {
        let session = seen.as_ref();
        // Read first: a run that begins to wait in between then has its question among the open ones.
        let awaited = awaits_results(context, session).await?;
        let open = open_questions(context, session).await?;
        let early = awaited
            && !open.iter().any(|question| answer_to(context, question).is_some())
            && answered_before(context, session, pending).await?.is_none();
        if !early || Instant::now() >= deadline {
            return Ok(open);
        }
        changes.next().await;
        if let Some(session) = &mut seen {
            *session = session.session().view().await?;
        }
    }
}

/// Whether a run waits for one of the results in the request, or is about to: a run that is driven here, or the active run of
/// the session, which another server may drive.
async fn awaits_results(context: &ChatContext, session: Option<&SessionView>) -> Result<bool, ApiError> {
    let agent = &context.served.agent;
    let calls: Vec<_> = context.chat.tool_results.iter().map(|result| result.call.as_str()).collect();
    if calls.is_empty() || calls.iter().any(|call| agent.awaits(context.owner(), call)) {
        return Ok(!calls.is_empty());
    }
    let Some(session) = session else { return Ok(false) };
    let Some(run) = session.info().going else { return Ok(false) };
    Ok(agent.run(run).awaits_elsewhere(&calls).await?)
}

async fn open_questions(
    context: &ChatContext,
    session: Option<&SessionView>,
) -> Result<Vec<OpenQuestion>, ApiError> {
    let agent = &context.served.agent;
    if let Some(session) = session
        && let info = session.info()
        && let Some(run) = info.waiting.or(info.going)
    {
        return Ok(agent.open_questions(&run).await?);
    }
    if session.is_some() && context.chat.action != Action::Answer {
        return Ok(Vec::new());
    }
    let mut open = agent.questions_of(Some(context.owner()), None, LOOKED_AT).await?.questions;
    open.sort_by_key(|question| std::cmp::Reverse(question.asked));
    Ok(open)
}

/// Keeps only questions of the request's conversation, since models reuse call ids across conversations.
async fn retain_conversation(context: &ChatContext, open: &mut Vec<OpenQuestion>) -> Result<(), ApiError> {
    let mut kept = Vec::new();
    for question in open.drain(..) {
        let named = answer_to(context, &question).is_some()
            || call_of(&question)
                .is_some_and(|call| context.chat.messages.iter().any(|m| m.tool(call.as_str()).is_some()));
        if named && is_conversation(context, &question.run).await? {
            kept.push(question);
        }
    }
    *open = kept;
    Ok(())
}

/// Whether the conversation of a run contains the user message of the request.
async fn is_conversation(context: &ChatContext, run: &RunId) -> Result<bool, ApiError> {
    if context.chat.action == Action::Answer {
        return Ok(true);
    }
    let conversation = match context.served.agent.conversation_before(run).await {
        Err(error) if error.kind() == ErrorKind::UnknownRun => return Ok(false),
        conversation => conversation?,
    };
    let user_texts = |messages: &[Message]| -> Vec<String> {
        messages.iter().filter(|m| m.role == Role::User).map(Message::plain_text).collect()
    };
    Ok(user_texts(&conversation) == user_texts(&context.chat.messages))
}

/// The answer to a question, if the request contains one.
fn answer_to(context: &ChatContext, question: &OpenQuestion) -> Option<Answer> {
    let chat = &context.chat;
    let request = &question.request;
    if let Some((tool, _)) = question.approval() {
        let decided = chat.approvals.iter().find(|decision| {
            decision.approval.as_str() == request.as_str()
                || decision.approval.as_str() == tool.call.as_str()
                || decision.call.as_ref() == Some(&tool.call)
        });
        if let Some(decision) = decided {
            let answer = AnswerValue::Approval {
                approved: decision.approved,
                reason: decision.reason.clone(),
                input: decision.input.clone(),
            };
            let answered = Answer::new(request.clone(), answer);
            return Some(match &decision.signature {
                Some(signature) => answered.token(signature),
                None => answered,
            });
        }
        let given = chat.answers.iter().find(|given| given.request == *request)?;
        return given.cancelled.then(|| Answer::denied(request.clone(), None));
    }
    if let Some((tool, _)) = question.client_tool() {
        if let Some(result) = chat.tool_results.iter().find(|result| result.call == tool.call) {
            let answer = match &result.error {
                Some(error) => AnswerValue::OutputError(error.clone()),
                None => AnswerValue::Output(result.output.clone().unwrap_or_default()),
            };
            return Some(Answer::new(request.clone(), answer));
        }
        let named =
            |id: &str| id == request.as_str() || id.strip_prefix("client_tool_") == Some(tool.call.as_str());
        let given = chat.answers.iter().find(|given| named(given.request.as_str()))?;
        let answer = match (&given.answer, given.cancelled) {
            (Some(output), false) => AnswerValue::Output(output.clone()),
            _ => AnswerValue::OutputError("the page did not execute the tool".to_owned()),
        };
        return Some(Answer::new(request.clone(), answer));
    }
    if let Some(given) = chat.answers.iter().find(|given| given.request == *request) {
        let answered = match (&given.answer, given.cancelled) {
            (Some(answer), false) => Answer::given(request.clone(), answer.clone()),
            _ => Answer::declined(request.clone()),
        };
        return Some(match &given.token {
            Some(token) => answered.token(token),
            None => answered,
        });
    }
    // A page that receives questions as tool calls answers with the tool's output.
    let result = chat.tool_results.iter().find(|result| result.call.as_str() == request.as_str())?;
    Some(match &result.output {
        Some(output) if result.error.is_none() => Answer::given(request.clone(), output.clone()),
        _ => Answer::declined(request.clone()),
    })
}

/// The tool call of a question.
fn call_of(question: &OpenQuestion) -> Option<&ToolCallId> {
    question.approval().or_else(|| question.client_tool()).map(|(tool, _)| &tool.call)
}

/// The calls of the newest message without an output.
fn pending_calls(context: &ChatContext) -> Vec<ToolCallId> {
    let Some(last) = context.chat.messages.last().filter(|message| message.role == Role::Assistant) else {
        return Vec::new();
    };
    let tools = last.parts.iter().filter_map(|part| match part {
        headwater_protocol::Part::Tool(tool) if tool.output.is_none() && tool.error.is_none() => Some(tool),
        _ => None,
    });
    tools.map(|tool| tool.call.clone()).collect()
}

/// The earlier response to the same answers, if any.
async fn answered_before(
    context: &ChatContext,
    session: Option<&SessionView>,
    pending: &[ToolCallId],
) -> Result<Option<ResponseAlias>, ApiError> {
    let chat = &context.chat;
    if has_new_message(context) {
        return Ok(None);
    }
    let session = chat.session.as_ref().or(session.map(|session| session.session().id()));
    let mut names: Vec<String> = chat.run.iter().map(|run| format!("run:{run}")).collect();
    names.extend(chat.answers.iter().map(|given| format!("request:{}", given.request)));
    for decision in &chat.approvals {
        names.push(format!("request:{}", decision.approval));
        names.extend(decision.call.iter().map(|call| call_name(session, call)));
    }
    names.extend(chat.tool_results.iter().map(|result| call_name(session, &result.call)));
    // A page that receives a question as a tool call answers with the output of that call.
    names.extend(chat.tool_results.iter().map(|result| format!("request:{}", result.call)));
    names.extend(pending.iter().map(|call| call_name(session, call)));
    for name in names {
        if let Some(known) = aliases::find(&context.served.agent, context.owner(), &name).await? {
            return Ok(Some(known));
        }
    }
    Ok(None)
}
