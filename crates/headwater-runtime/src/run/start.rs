//! What a run is asked for.

use headwater_protocol::{AnswerFormat, ClientTool, Message, RunId, SessionId};
use headwater_tools::Schema;
use serde_json::Value;

use crate::{AgentOptions, Error, RawJson, Result, error::ErrorKind, journal::RunSpec, limits};

/// What a run is to do.
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
    /// Whether it says what the route approved.
    approved: bool,
    /// Whether it says anything of the page.
    of_page: bool,
}

impl Start {
    /// Runs on what a person wrote.
    pub fn new(input: impl Into<String>) -> Self {
        Self { spec: RunSpec { input: input.into(), ..RunSpec::default() }, ..Self::default() }
    }

    /// Names the workflow; otherwise the agent's default.
    pub fn workflow(mut self, id: impl Into<String>) -> Self {
        self.workflow = Some(id.into());
        self
    }

    /// Names the run; otherwise a fresh name.
    pub fn run(mut self, run: impl Into<RunId>) -> Self {
        self.run = Some(run.into());
        self
    }

    /// Says to which session it belongs.
    pub fn session(mut self, session: impl Into<SessionId>) -> Self {
        self.spec.session = Some(session.into());
        self
    }

    /// Says whose it is.
    pub fn owner(mut self, owner: impl Into<String>) -> Self {
        self.spec.owner = Some(owner.into());
        self
    }

    /// Names the HTTP request that asks for it. An error of the run carries it to readers, and the log has the error under it.
    pub fn request(mut self, request: impl Into<String>) -> Self {
        self.spec.request = Some(request.into());
        self
    }

    /// Takes it apart: the workflow, and what the run is asked for.
    pub(crate) fn into_parts(self) -> (Option<String>, RunSpec) {
        (self.workflow, self.spec)
    }

    /// What a run is asked for that was asked for before: what is said now counts, and what is not said is as it was. What
    /// a page says of itself is one thing: a tool that it does not name any more is gone.
    pub(crate) fn replacing(self, workflow: Option<String>, before: RunSpec) -> (Option<String>, RunSpec) {
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

    /// The workflow that it names.
    pub(crate) fn named_workflow(&self) -> Option<&str> {
        self.workflow.as_deref()
    }

    /// Refuses what no run can be begun with: an invalid choice of tools, data that is no object or larger than a run's
    /// state may be, and JSON that is nested too deeply to be read back.
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
                let message = format!("invalid answer schema: {error}");
                Error::new(ErrorKind::Input, message).with_code("answer-format.invalid")
            })?;
        }
        if let Some(choice) = &spec.tool_choice {
            headwater_models::ToolChoice::parse(choice)
                .map_err(|error| Error::new(ErrorKind::Input, error).with_code("tool-choice.invalid"))?;
        }
        Ok(())
    }

    /// Gives the conversation before it.
    pub fn messages(mut self, messages: Vec<Message>) -> Self {
        self.spec.messages = messages;
        self
    }

    /// Gives data to the first node: a JSON object.
    pub fn data(mut self, data: impl Into<RawJson>) -> Self {
        self.spec.data = data.into();
        self
    }

    /// Gives what the route approved. Never sent to a reader.
    pub fn runtime_context(mut self, context: impl Into<RawJson>) -> Self {
        self.spec.runtime_context = context.into();
        self.approved = true;
        self
    }

    /// Gives what the client said about itself: a JSON object.
    pub fn client_context(mut self, context: impl Into<RawJson>) -> Self {
        self.spec.client_context = context.into();
        self.of_page = true;
        self
    }

    /// Names the tools that the page can execute.
    pub fn client_tools(mut self, tools: Vec<ClientTool>) -> Self {
        self.spec.client_tools = tools;
        self.of_page = true;
        self
    }

    /// Says which tool the model shall use, in the page's words.
    pub fn tool_choice(mut self, choice: Value) -> Self {
        self.spec.tool_choice = Some(choice);
        self.of_page = true;
        self
    }

    /// Says in which form the client wants the answer. It goes to the models whose text readers see, unless the node wants
    /// a form of its own.
    pub fn answer_format(mut self, format: AnswerFormat) -> Self {
        self.spec.answer_format = Some(format);
        self.of_page = true;
        self
    }
}
