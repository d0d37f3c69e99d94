//! The response: a stream that follows a run, or one document.

use axum::{
    Json,
    http::{HeaderValue, StatusCode},
    response::{IntoResponse as _, Response},
};
use futures_util::StreamExt as _;
use headwater_dialects::{AnswerFlow, EncodeOptions, Encoder, Reentry, WholeAnswer, axum::stream_headers};
use headwater_protocol::{ErrorEvent, ErrorInfo, EventKind, Message, Record, Role};
use headwater_runtime::{ErrorKind, RecordReader, Run, VisibleRecord};
use headwater_store::ReadLimit;
use serde_json::json;

use super::{ChatContext, aliases, answers};
use crate::{
    ApiError,
    follow::ReaderView,
    limits::Permit,
    stream_response::{Attachment, follow},
    telemetry,
};

/// Answers a request with its run; with `permit` as a stream, or as a document, which is as slow.
pub(super) async fn respond(
    context: &ChatContext,
    attachment: Attachment,
    permit: Option<Permit>,
) -> Result<Response, ApiError> {
    let Some(permit) = permit else { return accepted(&attachment).await };
    // A response follows now, so the alias is no longer needed.
    if context.dialect.answers() != AnswerFlow::SameResponse || attachment.sent.is_none() {
        aliases::forget(
            &context.served.agent,
            context.owner(),
            &answers::unstreamed_alias(attachment.run.id()),
        )
        .await?;
    }
    if !context.chat.stream {
        return buffered(context, &attachment).await;
    }
    let view = view(context, &attachment, held(context, &attachment.run).await?);
    let run = attachment.run.clone();
    let mut response = follow(&context.server, &context.served.agent, attachment, view, None, permit).await?;
    let headers = response.headers_mut();
    if let Ok(id) = HeaderValue::from_str(&context.request_id) {
        headers.insert("x-request-id", id);
    }
    if let Ok(summary) = run.summary().await
        && let Some(session) = summary.session
        && let Ok(session) = HeaderValue::from_str(session.as_str())
    {
        telemetry::note("gen_ai.conversation.id", session.to_str().unwrap_or_default());
        headers.insert("x-session-id", session);
    }
    Ok(response)
}

/// An empty stream.
pub(super) fn nothing(context: &ChatContext) -> Response {
    (stream_headers(context.dialect, context.framing), "").into_response()
}

/// A stream that reports an error in the request.
pub(super) fn failed(context: &ChatContext, error: &ApiError) -> Response {
    let mut options = EncodeOptions::profile(context.profile);
    options.framing = Some(context.framing);
    let mut encoder = Encoder::new(context.dialect, &options);
    let info = ErrorInfo { message: error.message().to_owned(), ..ErrorInfo::default() };
    encoder.record(&Record::new(0, ErrorEvent { error: info, terminal: true, ..ErrorEvent::default() }));
    encoder.finish();
    (stream_headers(context.dialect, context.framing), encoder.take()).into_response()
}

/// Confirms an accepted answer; the run continues in another response.
async fn accepted(attachment: &Attachment) -> Result<Response, ApiError> {
    if let Some(sent) = &attachment.sent {
        sent.begun().await?;
    }
    let since = attachment.from.since();
    let answer = json!({ "run": attachment.run.id(), "since": since });
    Ok((StatusCode::ACCEPTED, Json(answer)).into_response())
}

/// One document instead of a stream.
async fn buffered(context: &ChatContext, attachment: &Attachment) -> Result<Response, ApiError> {
    if !context.chat.wait {
        return document(context, attachment).await;
    }
    let ends_at_wait = context.dialect.answers() == AnswerFlow::NewResponse;
    let since = attachment.from.since();
    let document = async {
        if let Some(sent) = &attachment.sent {
            sent.begun().await?;
        }
        let mut records = Vec::new();
        let mut events = std::pin::pin!(attachment.run.events(if ends_at_wait { 0 } else { since }));
        while let Some(record) = events.next().await {
            let record = record?;
            let over = ends_at_wait && ends_answer(&record, since);
            records.push(record);
            if over {
                break;
            }
        }
        Ok(whole(context, attachment, records, 0))
    };
    let mut closing = context.server.streams().closing();
    tokio::select! {
        biased;
        document = document => document,
        _ = closing.wait_for(|closing| *closing) => {
            let message = "the server is about to stop: the run continues, reconnect to it";
            Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "server.leaving", message).retry_after(1))
        }
    }
}

/// The document of an answer so far. An answer in the queue has no records yet.
pub(super) async fn document(context: &ChatContext, attachment: &Attachment) -> Result<Response, ApiError> {
    let records = so_far(attachment).await?;
    let created = match attachment.run.summary().await {
        Ok(summary) => summary.created,
        Err(error) if error.kind() == ErrorKind::UnknownRun => now(),
        Err(error) => return Err(error.into()),
    };
    Ok(whole(context, attachment, records, created))
}

/// Whether an answer has all of its records.
pub(super) async fn is_complete(attachment: &Attachment) -> Result<bool, ApiError> {
    match attachment.run.last_stop().await {
        Ok(last) => Ok(last.is_some_and(|last| last > attachment.from.since())),
        Err(error) if error.kind() == ErrorKind::UnknownRun => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// The records of a run up to the end of an answer, or all so far. Records before the answer are replaced by
/// a snapshot, if there is one.
async fn so_far(attachment: &Attachment) -> Result<Vec<Record>, ApiError> {
    let journal = attachment.run.id().as_str().into();
    let store = attachment.run.store();
    let since = attachment.from.since();
    if store.info(&journal).await?.is_none() {
        return Ok(Vec::new());
    }
    let snapshot = if since > 0 { attachment.run.snapshot().await? } else { None };
    let (mut after, mut records) = match snapshot {
        Some((seq, state)) if seq <= since => (seq, state.replay()),
        _ => (0, Vec::new()),
    };
    let mut reader = RecordReader::default();
    loop {
        let page = store.read(&journal, after, ReadLimit::default()).await?;
        for stored in &page.records {
            after = stored.seq;
            match reader.read(stored)? {
                VisibleRecord::Event(record) => records.push(*record),
                // Text continues only after its first delta, and a snapshot starts with new ones.
                VisibleRecord::Continuation(text) => match records.last_mut() {
                    Some(last) => last.grow(text, stored.seq, stored.time.0),
                    None => continue,
                },
                VisibleRecord::Answered | VisibleRecord::Hidden => continue,
            }
            if records.last().is_some_and(|last| ends_answer(last, since)) {
                return Ok(records);
            }
        }
        if after >= page.tail.last {
            return Ok(records);
        }
    }
}

/// Whether a record ends the answer that starts after `since`.
fn ends_answer(record: &Record, since: u64) -> bool {
    let kind = record.event.kind();
    record.seq > since && (kind == EventKind::RunWaiting || kind.ends_run())
}

fn whole(context: &ChatContext, attachment: &Attachment, records: Vec<Record>, created: u64) -> Response {
    let view = view(context, attachment, Vec::new());
    let records: Vec<_> = records.into_iter().filter_map(|record| view.see(record)).collect();
    let answer =
        WholeAnswer { records: &records, since: attachment.from.since(), names: &attachment.names, created };
    Json(context.dialect.whole_answer(&answer)).into_response()
}

fn now() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |now| u64::try_from(now.as_millis()).unwrap_or(u64::MAX))
}

/// The view of a run for the reader of a request.
fn view(context: &ChatContext, attachment: &Attachment, messages: Vec<Message>) -> ReaderView {
    ReaderView {
        dialect: context.dialect,
        profile: context.profile,
        framing: context.framing,
        content: context.chat.content,
        names: attachment.names.clone(),
        messages,
        thought: held_thought(context),
        visibility: context.served.visibility,
        seam: context.server.options().seam.clone(),
        hold: context.server.options().hold,
        waits: true,
        ends_at_wait: false,
    }
}

/// The client's copy of the conversation, if the dialect may have to repeat it.
async fn held(context: &ChatContext, run: &Run) -> Result<Vec<Message>, ApiError> {
    if context.profile.reentry != Reentry::Snapshot {
        return Ok(Vec::new());
    }
    let messages = &context.chat.messages;
    if let Some(said) = messages.iter().rposition(|message| message.role == Role::User) {
        return Ok(messages.get(..=said).unwrap_or_default().to_vec());
    }
    Ok(context.served.shown(context.served.agent.conversation_before(run.id()).await?))
}

/// A reasoning message that the client has received since the last user message.
fn held_thought(context: &ChatContext) -> Option<String> {
    let since = context.chat.messages.iter().rev().take_while(|message| message.role != Role::User);
    since.filter(|message| message.role == Role::Reasoning).map(|message| message.id.to_string()).last()
}
