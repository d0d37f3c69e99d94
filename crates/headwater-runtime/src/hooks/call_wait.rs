//! Waiting for a person or the page about a tool call that another server made.

use std::{future::Future, sync::Arc};

use headwater_protocol::{Event, ToolCall, ToolOutput, ToolOutputError};
use serde_json::Value;

use super::interrupt::wait_for;
use crate::{
    Result,
    journal::{AnswerValue, WaitKind},
    node::NodeVisit,
    question::{client_request, request_id},
};

/// A person's decision about a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallDecision {
    /// Whether the call is approved.
    pub approved: bool,
    /// The reason for the decision.
    pub reason: Option<String>,
}

/// Asks a person to approve a call. The hook key is fixed when this is called.
pub(crate) fn approve(
    node: Arc<NodeVisit>,
    tool: ToolCall,
    input: Value,
) -> impl Future<Output = Result<CallDecision>> + Send {
    let key = node.key("approval", Some(&format!("approve.{}", tool.call)));
    async move {
        let key = key?;
        let request = request_id(&node.run.id, &key.text);
        let kind = WaitKind::Approval {
            tool: Box::new(tool),
            input,
            signature: String::new(),
            schema: Value::Bool(true),
            editable: false,
        };
        match wait_for(&node, &key.text, key.kind, request, kind, None).await? {
            AnswerValue::Approval { approved, reason, .. } => Ok(CallDecision { approved, reason }),
            AnswerValue::Expired => {
                Ok(CallDecision { approved: false, reason: Some("no decision came in time".to_owned()) })
            }
            other => Err(node.diverged(&format!("`{}` was answered with {other:?}", key.text))),
        }
    }
}

/// Waits for the output of a call made by the page, and emits it. The hook key is fixed when this is called.
pub(crate) fn call_client(
    node: Arc<NodeVisit>,
    tool: ToolCall,
    input: Value,
) -> impl Future<Output = Result<Result<Value, String>>> + Send {
    let key = node.key("client-tool", Some(&format!("call.{}", tool.call)));
    async move {
        let key = key?;
        let request = client_request(&node.run.id, &tool.call);
        let kind = WaitKind::ClientTool { tool: Box::new(tool.clone()), input };
        let output = match wait_for(&node, &key.text, key.kind, request, kind, None).await? {
            AnswerValue::Output(output) => Ok(output),
            AnswerValue::OutputError(error) => Err(error),
            AnswerValue::Expired => Err("the page gave nothing in time".to_owned()),
            other => return Err(node.diverged(&format!("`{}` was answered with {other:?}", key.text))),
        };
        show_output(&node, tool, &output)?;
        Ok(output)
    }
}

/// Emits the output of a call, unless an earlier execution did.
fn show_output(node: &NodeVisit, tool: ToolCall, output: &Result<Value, String>) -> Result<()> {
    if is_settled(node, tool.call.as_str()) {
        return Ok(());
    }
    let (call, name) = (tool.call, Some(tool.name));
    let event: Event = match output.clone() {
        Ok(output) => ToolOutput { name, ..ToolOutput::new(call, output) }.into(),
        Err(error) => ToolOutputError { call, name, error, ..Default::default() }.into(),
    };
    node.keep(node.run.journal.fact(&node.origin(), event)).map(drop)
}

/// Whether readers already have the result of a call.
pub(super) fn is_settled(node: &NodeVisit, call: &str) -> bool {
    node.run.journal.with_state(|state| {
        let mut tools = state.messages().iter().rev().filter_map(|message| message.tool(call));
        tools.next().is_some_and(|tool| tool.state.is_settled() && !tool.preliminary)
    })
}
