//! The request to start a run.

use headwater_protocol::{AnswerFormat, ClientTool, Message, RunId, SessionId};
use headwater_tools::Schema;
use serde_json::Value;

use crate::{AgentOptions, Error, RawJson, Result, error::ErrorKind, journal::RunSpec, limits};

/// Input and options of a run.
///
/// ```
/// use headwater_runtime::Start;
/// use serde_json::json;
///
/// let start = Start::new("Write a launch email").workflow("email").runtime_context(json!({ "userId": "u1" }));
/// ```
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct Start {
    pub(super) run: Option<RunId>,
    pub(super) workflow: Option<String>,
    pub(super) spec: RunSpec,
    /// Whether the route's context is set.
    approved: bool,
    /// Whether any field of the page is set.
    of_page: bool,
}

impl Start {
    /// Starts from a message text.
    pub fn new(input: impl Into<String>) -> Self {
        Self { spec: RunSpec { input: input.into(), ..RunSpec::default() }, ..Self::default() }
    }

    /// Sets the workflow; the default is the agent's.
    pub fn workflow(mut self, id: impl Into<String>) -> Self {
        self.workflow = Some(id.into());
        self
    }

    /// Sets the id of the run; the default is a fresh one.
    pub fn run(mut self, run: impl Into<RunId>) -> Self {
        self.run = Some(run.into());
        self
    }

    /// Sets the session that it belongs to.
    pub fn session(mut self, session: impl Into<SessionId>) -> Self {
        self.spec.session = Some(session.into());
        self
    }

    /// Sets the owner.
    pub fn owner(mut self, owner: impl Into<String>) -> Self {
        self.spec.owner = Some(owner.into());
        self
    }

    /// Sets the id of the HTTP request. Readers see it with an error of the run, and the log has it too.
    pub fn request(mut self, request: impl Into<String>) -> Self {
        self.spec.request = Some(request.into());
        self
    }

    /// Splits it into the workflow and the spec.
    pub(crate) fn into_parts(self) -> (Option<String>, RunSpec) {
        (self.workflow, self.spec)
    }

    /// Merges a repeated request over the earlier one; page tools are replaced as a whole.
    pub(crate) fn instead_of(self, workflow: Option<String>, before: RunSpec) -> (Option<String>, RunSpec) {
        let now = self.spec;
        let mut spec = before;
        spec.input = now.input;
        spec.request = now.request;
        if self.approved {
            spec.runtime_context = now.runtime_context;
        }
        if self.of_page {
            spec.client_context = now.client_context;
            spec.client_tools = now.client_tools;
            spec.tool_choice = now.tool_choice;
            spec.answer_format = now.answer_format;
        }
        if !now.data.is_null() {
            spec.data = now.data;
        }
        (self.workflow.or(workflow), spec)
    }

    pub(crate) fn input(&self) -> &str {
        &self.spec.input
    }

    /// The requested workflow.
    pub(crate) fn named_workflow(&self) -> Option<&str> {
        self.workflow.as_deref()
    }

    /// Refuses requests that can never start: an invalid choice of tools, data that is not an object or
    /// exceeds the limit of a run's state, and JSON nested too deeply to be read back.
    pub(crate) fn check(&self, options: &AgentOptions) -> Result<()> {
        let spec = &self.spec;
        let limit = options.max_state_bytes;
        let size = spec.data.get().len();
        if size > limit {
            let message = format!(
                "the data has {size} bytes, a run may have {limit}: keep large things elsewhere and pass their names"
            );
            return Err(Error::new(ErrorKind::Limit, message).with_code("state.too-large"));
        }
        for (what, raw) in [("the data", &spec.data), ("the client context", &spec.client_context)] {
            if !raw.is_object() {
                return Err(Error::new(ErrorKind::Input, format!("{what} must be a JSON object")));
            }
        }
        for (what, raw) in [
            ("the data", &spec.data),
            ("the client context", &spec.client_context),
            ("the runtime context", &spec.runtime_context),
        ] {
            limits::check_text(&limits::kept(), what, raw.get().as_bytes())?;
        }
        if let Some(schema) = spec.answer_format.as_ref().and_then(|format| format.schema.as_ref()) {
            Schema::new(schema.clone()).map_err(|error| {
                let message = format!("the schema of the answer is not one: {error}");
                Error::new(ErrorKind::Input, message).with_code("answer-format.invalid")
            })?;
        }
        if let Some(choice) = &spec.tool_choice {
            headwater_models::ToolChoice::parse(choice)
                .map_err(|error| Error::new(ErrorKind::Input, error).with_code("tool-choice.invalid"))?;
        }
        Ok(())
    }

    /// Sets the conversation before the run.
    pub fn messages(mut self, messages: Vec<Message>) -> Self {
        self.spec.messages = messages;
        self
    }

    /// Sets the data of the first node: a JSON object.
    pub fn data(mut self, data: impl Into<RawJson>) -> Self {
        self.spec.data = data.into();
        self
    }

    /// Sets the context that the route approved. Never sent to a reader.
    pub fn runtime_context(mut self, context: impl Into<RawJson>) -> Self {
        self.spec.runtime_context = context.into();
        self.approved = true;
        self
    }

    /// Sets the context that the client sent about itself: a JSON object.
    pub fn client_context(mut self, context: impl Into<RawJson>) -> Self {
        self.spec.client_context = context.into();
        self.of_page = true;
        self
    }

    /// Sets the tools that the page can execute.
    pub fn client_tools(mut self, tools: Vec<ClientTool>) -> Self {
        self.spec.client_tools = tools;
        self.of_page = true;
        self
    }

    /// Sets the tool choice for the model, in the format of the page's protocol.
    pub fn tool_choice(mut self, choice: Value) -> Self {
        self.spec.tool_choice = Some(choice);
        self.of_page = true;
        self
    }

    /// Sets the answer format that the client requests. It applies to models whose text readers see, unless
    /// the node sets its own.
    pub fn answer_format(mut self, format: AnswerFormat) -> Self {
        self.spec.answer_format = Some(format);
        self.of_page = true;
        self
    }
}
