//! The node of the agent: forwards the turn, and asks here what the server behind asks.

use std::{pin::Pin, sync::Arc};

use futures_util::future::try_join_all;
use headwater_client::{DialectChat, PendingRequest};
use headwater_protocol::{Executor, Interrupt, RequestId, ToolCall};
use headwater_runtime::{CallDecision, Cx, Next, NodeResult, Question, Relay, Result};
use serde_json::Value;

use super::{
    answer::{self, AnswerState},
    failure::failed,
    upstream::Upstream,
};

/// Forwards the turn. Each answer that waits for something is followed by a request with the answers.
pub(super) async fn forward(cx: Cx, upstream: Arc<Upstream>) -> NodeResult {
    let mut chat = upstream.chat(&cx)?.messages(cx.messages().to_vec());
    let message = cx.user_message();
    upstream.check_takes_files(&message)?;
    chat.send_message(message);
    let mut denied = Vec::new();
    loop {
        let (behind, calls) = (upstream.clone(), std::mem::take(&mut denied));
        let work = |relay: Relay| async move { answer::read(&behind, relay, chat, &calls).await };
        let state = cx.relay(upstream.name.clone()).repeatable(upstream.repeat).run(work).await?;
        if state.messages.is_empty() && state.questions.is_empty() {
            return Ok(Next::go());
        }
        chat = continued(&cx, &upstream, state)?;
        let asked = chat.pending().into_iter().map(|request| ask(&cx, request));
        // In a row, so that the keys of the hooks are fixed in this order.
        let asked: Vec<_> = asked.collect();
        for given in try_join_all(asked).await? {
            if let GivenReply::Decision { call, decision: CallDecision { approved: false, .. }, .. } = &given
            {
                denied.push(call.clone());
            }
            let request_error = |error: headwater_client::Error| {
                failed(&upstream.name, "upstream.request", &error.to_string())
            };
            apply(&mut chat, given).map_err(request_error)?;
        }
    }
}

/// The conversation with the answer that waits.
fn continued(cx: &Cx, upstream: &Upstream, state: AnswerState) -> Result<DialectChat> {
    let mut messages = cx.messages().to_vec();
    messages.push(cx.user_message());
    messages.extend(state.messages);
    Ok(upstream.chat(cx)?.messages(messages).questions(state.questions))
}

/// The answer to a request of the server behind, in its names.
enum GivenReply {
    Decision { request: String, call: String, decision: CallDecision },
    Output { call: String, output: std::result::Result<Value, String> },
    Answer { request: RequestId, answer: Option<Value> },
    Nothing,
}

fn ask(cx: &Cx, request: PendingRequest) -> Pin<Box<dyn Future<Output = Result<GivenReply>> + Send>> {
    match request {
        PendingRequest::Approval { request, call, name, input } => {
            let asked = cx.approve_call(ToolCall::new(&*call, name), input.unwrap_or_default());
            Box::pin(async { asked.await.map(|decision| GivenReply::Decision { request, call, decision }) })
        }
        PendingRequest::ClientTool { call, name, input } => {
            let tool = ToolCall::new(&*call, name).by(Executor::Client);
            let asked = cx.call_client(tool, input.unwrap_or_default());
            Box::pin(async { asked.await.map(|output| GivenReply::Output { call, output }) })
        }
        PendingRequest::Question(interrupt) => {
            let request = interrupt.request.clone();
            let asked = cx.interrupt(UpstreamQuestion(*interrupt)).id(request.as_str()).declinable();
            let asked = asked.into_future();
            Box::pin(async { asked.await.map(|answer| GivenReply::Answer { request, answer }) })
        }
        _ => Box::pin(std::future::ready(Ok(GivenReply::Nothing))),
    }
}

fn apply(chat: &mut DialectChat, given: GivenReply) -> headwater_client::Result<()> {
    match given {
        GivenReply::Decision { request, decision, .. } => {
            chat.approve(&request, decision.approved, decision.reason.as_deref())
        }
        GivenReply::Output { call, output } => chat.add_tool_output(&call, output),
        GivenReply::Answer { request, answer } => chat.answer(request.as_str(), answer),
        GivenReply::Nothing => Ok(()),
    }
}

/// A question of the server behind.
struct UpstreamQuestion(Interrupt);

impl Question for UpstreamQuestion {
    type Answer = Value;

    fn interrupt(&self, request: RequestId) -> Interrupt {
        // Its request and its token are for the server behind alone.
        Interrupt { request, token: None, expires_at: None, ..self.0.clone() }
    }

    fn read(&self, answer: Value) -> Result<Value> {
        Ok(answer)
    }
}
