//! Tools that the page runs: the run waits until the page sends the result.

use headwater_protocol::{Executor, ToolSpec};
use serde_json::Value;

use crate::{Approval, Tool, ToolContext, ToolError, ToolFuture, UnfinishedPolicy};

/// A tool that the page runs, to read the selection, ask for the position or open a dialog.
///
/// ```
/// use headwater_protocol::{Executor, ToolSpec};
/// use headwater_tools::{ClientTool, Tool};
/// use serde_json::json;
///
/// let tool = ClientTool::new(ToolSpec::new("position", json!({ "type": "object" })));
/// assert_eq!(tool.executor(), Executor::Client);
/// ```
#[derive(Debug, Clone)]
pub struct ClientTool {
    spec: ToolSpec,
    approval: Approval,
    editable: bool,
}

impl ClientTool {
    /// A tool of the page.
    #[must_use]
    pub fn new(spec: ToolSpec) -> Self {
        Self { spec, approval: Approval::NotNeeded, editable: false }
    }

    /// Sets whether the user must approve a call before the page gets it.
    #[must_use]
    pub fn approval(mut self, approval: Approval) -> Self {
        self.approval = approval;
        self
    }

    /// Allows the user to change the input when approving a call.
    #[must_use]
    pub fn editable(mut self) -> Self {
        self.editable = true;
        self
    }
}

impl Tool for ClientTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn origin(&self) -> String {
        "the page".to_owned()
    }

    fn executor(&self) -> Executor {
        Executor::Client
    }

    fn approval(&self, _: &Value) -> Approval {
        self.approval
    }

    fn editable(&self) -> bool {
        self.editable
    }

    // The page can safely be asked again: it knows the call by its id.
    fn unfinished(&self) -> UnfinishedPolicy {
        UnfinishedPolicy::Repeat
    }

    fn call(&self, _: Value, _: ToolContext) -> ToolFuture<'_> {
        let name = &self.spec.name;
        let error = ToolError::new(format!("the tool \"{name}\" is executed by the page, not by the server"));
        Box::pin(std::future::ready(Err(error)))
    }
}

#[cfg(test)]
mod tests {
    use headwater_protocol::ToolCallId;
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn client_tool_is_never_run_by_the_server() {
        let tool: &dyn Tool =
            &ClientTool::new(ToolSpec::new("position", json!({}))).approval(Approval::Needed);
        assert_eq!(tool.approval(&json!({})), Approval::Needed);
        let error = tool.call(json!({}), ToolContext::new(ToolCallId::from("c1"), "k")).await.unwrap_err();
        assert_eq!(error.message(), "the tool \"position\" is executed by the page, not by the server");
    }
}
