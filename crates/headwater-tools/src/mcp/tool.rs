//! One tool of a server.

use std::{future::Future, pin::Pin, sync::Arc};

use headwater_protocol::ToolSpec;
use rmcp::model::Tool as RemoteTool;
use serde_json::Value;

use super::{output::output, reconnect::ConnectionSlot};
use crate::{
    Approval, Result, Schema, Tool, ToolContext, ToolError, ToolFuture, ToolOutput, UnfinishedPolicy,
};

/// Settings for all tools of a server.
#[derive(Debug, Clone, Copy)]
pub(super) struct ToolPolicy {
    pub(super) approval: Approval,
    /// Whether the user may change the input when approving.
    pub(super) editable: bool,
    pub(super) unfinished: UnfinishedPolicy,
    /// Whether the server's hints are trusted.
    pub(super) hints: bool,
    /// Whether the connection is closed at the end of the reason call.
    pub(super) closes: bool,
}

/// A tool of an MCP server.
#[derive(Debug)]
pub(super) struct McpTool {
    slot: Arc<ConnectionSlot>,
    /// Its name at the server, which may differ from its name for the model.
    remote: String,
    spec: ToolSpec,
    output: Option<Schema>,
    approval: Approval,
    editable: bool,
    unfinished: UnfinishedPolicy,
    closes: bool,
}

impl McpTool {
    pub(super) fn new(
        slot: Arc<ConnectionSlot>,
        offered: &RemoteTool,
        prefix: &str,
        policy: ToolPolicy,
    ) -> Result<Self> {
        let remote = offered.name.to_string();
        let hints = offered.annotations.as_ref();
        let mut spec =
            ToolSpec::new(format!("{prefix}{remote}"), Value::Object((*offered.input_schema).clone()));
        spec.title = offered.title.clone().or_else(|| hints.and_then(|hints| hints.title.clone()));
        spec.description = offered.description.as_deref().map(str::to_owned);
        spec.output_schema = offered.output_schema.as_deref().map(|schema| Value::Object(schema.clone()));
        let output = spec
            .output_schema
            .clone()
            .map(Schema::new)
            .transpose()
            .map_err(|error| error.of(&format!("the output schema of \"{remote}\" ({})", slot.name())))?;
        let believed = hints.filter(|_| policy.hints);
        let reads = believed.and_then(|hints| hints.read_only_hint).unwrap_or(false);
        let again = believed.and_then(|hints| hints.idempotent_hint).unwrap_or(false);
        let destroys = believed.is_some_and(|hints| !reads && hints.is_destructive());
        Ok(Self {
            slot,
            remote,
            spec,
            output,
            approval: if destroys { Approval::Needed } else { policy.approval },
            editable: policy.editable,
            unfinished: if reads || again { UnfinishedPolicy::Repeat } else { policy.unfinished },
            closes: policy.closes,
        })
    }

    /// Its name at the server.
    pub(super) fn remote(&self) -> &str {
        &self.remote
    }

    pub(super) fn with_unfinished(mut self, unfinished: UnfinishedPolicy) -> Self {
        self.unfinished = unfinished;
        self
    }

    async fn run(&self, input: Value, context: ToolContext) -> Result<ToolOutput, ToolError> {
        let arguments = match input {
            Value::Object(arguments) => Some(arguments),
            Value::Null => None,
            _ => return Err(ToolError::new(format!("the input of \"{}\" is not an object", self.spec.name))),
        };
        let cancel = context.cancel.clone();
        tokio::select! {
            biased;
            result = self.slot.call(&self.remote, arguments, context) => output(result?, self.output.as_ref()),
            () = cancel.cancelled() => Err(ToolError::new(format!("the call of \"{}\" was stopped", self.spec.name))),
        }
    }
}

impl Tool for McpTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn origin(&self) -> String {
        self.slot.name()
    }

    fn approval(&self, _: &Value) -> Approval {
        self.approval
    }

    fn editable(&self) -> bool {
        self.editable
    }

    fn unfinished(&self) -> UnfinishedPolicy {
        self.unfinished
    }

    fn call(&self, input: Value, context: ToolContext) -> ToolFuture<'_> {
        Box::pin(self.run(input, context))
    }

    fn close(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async {
            if self.closes {
                self.slot.close().await;
            }
        })
    }
}
