//! Builds an agent from a file, with the store, models, tools and functions that the program supplies.

use std::{
    collections::{BTreeMap, HashSet, VecDeque},
    fmt,
    path::PathBuf,
    sync::Arc,
};

use headwater_models::{Model as _, Models, scripted::ScriptedModel};
use headwater_protocol::Executor;
use headwater_store::{IntoStore, Store};
use headwater_tools::{Approval, Tool, Tools};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{
    AgentFile,
    check::END_WORD,
    error::{FileError, FileErrorKind, FileErrors, unknown},
    format::{
        WorkflowText,
        model::{ModelObjectText, ModelText},
        node::{NodeText, OnErrorText},
    },
    http_tools::http_tool,
    load::{SourceDefinition, WorkflowPart},
    models::provider_model,
    nodes,
    servers::{Cassette, Servers},
    span::WithSpan,
};
use crate::{
    Agent, AgentBuilder, AgentOptions, Cx, END, Error, NodeFunction, NodeOptions, OnError, Result, Retry,
    START, SessionOptions, Workflow,
    workflow::{Handler, erase},
};

/// Node functions of the program, by the names used in files.
///
/// ```
/// use headwater_runtime::{Cx, Functions, Next, NodeResult};
///
/// async fn look_up(_cx: Cx, _question: String) -> NodeResult {
///     Ok(Next::data(&serde_json::json!({ "found": true }))?)
/// }
///
/// let functions = Functions::new().add("look_up", look_up);
/// ```
#[derive(Clone, Default)]
pub struct Functions(BTreeMap<String, Handler>);

impl Functions {
    /// No functions.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a function. A later function replaces an earlier one of the same name.
    #[must_use]
    pub fn add<T: DeserializeOwned + 'static>(
        mut self,
        name: impl Into<String>,
        function: impl NodeFunction<T>,
    ) -> Self {
        self.0.insert(name.into(), erase(function));
        self
    }
}

impl fmt::Debug for Functions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// The parts of an agent that a file cannot contain: the store, the providers' models, tools and node
/// functions.
#[derive(Debug, Clone)]
#[must_use]
pub struct FileOptions {
    store: Arc<dyn Store>,
    models: Models,
    tools: Tools,
    functions: Functions,
    options: AgentOptions,
    cassette: Option<Cassette>,
    replaces: Option<(Agent, AgentFile)>,
}

impl FileOptions {
    /// Stores the runs in `store`.
    pub fn new(store: impl IntoStore) -> Self {
        Self {
            store: store.into_store(),
            models: Models::new(),
            tools: Tools::new(),
            functions: Functions::new(),
            options: AgentOptions::default(),
            cassette: None,
            replaces: None,
        }
    }

    /// Adds the models that files refer to as `provider:model`.
    pub fn models(mut self, models: Models) -> Self {
        self.models = models;
        self
    }

    /// Adds tools.
    ///
    /// # Errors
    /// If a tool of that name exists already.
    pub fn tools(mut self, tools: Tools) -> Result<Self> {
        self.tools = self.tools.merge(tools).map_err(|error| build_error(&error))?;
        Ok(self)
    }

    /// Adds a tool.
    ///
    /// # Errors
    /// If a tool of that name exists already.
    pub fn tool(mut self, tool: impl Tool) -> Result<Self> {
        self.tools = self.tools.with(tool).map_err(|error| build_error(&error))?;
        Ok(self)
    }

    /// Adds node functions.
    pub fn functions(mut self, functions: Functions) -> Self {
        self.functions.0.extend(functions.0);
        self
    }

    /// Sets the agent's options. Limits set in the file take precedence.
    pub fn options(mut self, options: AgentOptions) -> Self {
        self.options = options;
        self
    }

    /// Records the file's MCP servers (their tools and results) in a folder. `Models::recording` does the
    /// same for providers.
    pub fn recording_servers(mut self, folder: impl Into<PathBuf>) -> Self {
        self.cassette = Some(Cassette::Record(folder.into()));
        self
    }

    /// Replays the file's MCP servers from a folder of recordings. `Models::playing` does the same for
    /// providers.
    pub fn playing_servers(mut self, folder: impl Into<PathBuf>) -> Self {
        self.cassette = Some(Cassette::Play(folder.into()));
        self
    }

    /// Sets the agent that this one replaces after its file changed. Older versions of the workflows stay for
    /// the runs that began with them; a workflow that changed without a new `version` gets one derived from
    /// its content.
    pub fn replaces(mut self, agent: Agent, file: AgentFile) -> Self {
        self.replaces = Some((agent, file));
        self
    }
}

/// The name of a model in journals, by which its price is found.
fn priced_name(name: &str, object: &ModelObjectText) -> String {
    let text = |field: &Option<WithSpan<String>>| field.as_ref().map(|field| field.value.clone());
    match &object.script {
        Some(script) => ScriptedModel::new(script.0.clone()).name().to_owned(),
        None => {
            let provider = text(&object.called).or_else(|| text(&object.provider)).unwrap_or_default();
            format!("{provider}:{}", text(&object.model).unwrap_or_else(|| name.to_owned()))
        }
    }
}

fn build_error(error: &headwater_tools::Error) -> Error {
    Error::new(crate::ErrorKind::Build, error.to_string())
}

impl AgentFile {
    /// Builds the agent.
    ///
    /// # Errors
    /// If the file refers to something that the program did not supply. Lists every reference.
    pub fn build(&self, with: FileOptions) -> Result<Agent> {
        self.check_brought(&with)?;
        let mut builder =
            Agent::builder().name(self.name()).store(with.store.clone()).models(with.models.clone());
        if let Some(description) = &self.0.description {
            builder = builder.description(description);
        }
        builder = self.0.suggestions.iter().fold(builder, AgentBuilder::suggestion);
        for model in &self.0.models {
            let name = &model.name.value;
            builder = match &model.value.value {
                ModelText::Name(meant) => builder.model(name, meant.as_str()),
                ModelText::Object(object) => match &object.script {
                    Some(script) => builder.model(name, ScriptedModel::new(script.0.clone())),
                    None => {
                        let made = provider_model(object, model, &with.models);
                        builder.model(name, made.map_err(FileErrors::from)?)
                    }
                },
            };
        }
        for tool in with.tools.iter() {
            if self.0.tools.iter().any(|named| named.name.value == tool.spec().name) {
                builder = builder.shared_tool(tool.clone());
            }
        }
        let mut missing = Vec::new();
        for tool in &self.0.http {
            if let Some(made) = http_tool(tool, &mut missing) {
                builder = builder.tool(made);
            }
        }
        FileErrors::check(missing)?;
        builder = builder.options(self.agent_options(&with));
        if let Some(when) = self.0.when_busy {
            builder = builder.sessions(SessionOptions::default().when_busy(when));
        }
        let mut errors = Vec::new();
        let servers = Arc::new(Servers::new(&self.0, with.cassette.as_ref(), &mut errors));
        FileErrors::check(errors)?;
        let mut workflows = Vec::new();
        for part in &self.0.workflows {
            workflows.push(self.workflow(part, &with, &servers)?);
        }
        if let Some((before, _)) = &with.replaces {
            builder = builder.continue_from(before);
            let is_new = |old: &&Workflow| {
                !workflows.iter().any(|new: &Workflow| new.id() == old.id() && new.version() == old.version())
            };
            // The newest version is added last, because new runs use the last one.
            for old in before.all_workflows().filter(is_new) {
                builder = builder.workflow(old.clone());
            }
        }
        let first = self.0.default_workflow.as_ref().map(|id| id.value.as_str());
        let first = first.or_else(|| workflows.first().map(Workflow::id)).unwrap_or_default().to_owned();
        for workflow in workflows {
            builder = builder.workflow(workflow);
        }
        builder.default_workflow(first).build()
    }

    /// Finds the references to models, tools and functions that the program did not supply.
    fn check_brought(&self, with: &FileOptions) -> Result<(), FileErrors> {
        let mut errors = Vec::new();
        for model in &self.0.models {
            if let ModelText::Name(name) = &model.value.value
                && let Err(error) = with.models.get(name)
            {
                let message = error.message().to_owned();
                errors.push(FileError::new(FileErrorKind::Missing, &model.source, model.value.span, message));
            }
        }
        let tools: Vec<_> = with.tools.specs().map(|spec| spec.name.as_str()).collect();
        missing(&self.0.tools, "tool", &tools, &mut errors);
        let functions: Vec<_> = with.functions.0.keys().map(String::as_str).collect();
        missing(&self.0.functions, "function", &functions, &mut errors);
        FileErrors::check(errors)
    }

    /// Whether a run may wait for input from its page. Functions of the program may always.
    fn asks(&self, with: &FileOptions) -> bool {
        let named = |tool: &&Arc<dyn Tool>| self.0.tools.iter().any(|it| it.name.value == tool.spec().name);
        let mut tools = with.tools.iter().filter(named);
        if self.0.http.iter().any(|tool| tool.value.approval) {
            return true;
        }
        let mut servers = self.0.mcp.iter().map(|server| &server.value);
        let mut nodes = self.0.workflows.iter().flat_map(|part| &part.value.text.nodes.0);
        tools.any(|tool| {
            tool.executor() == Executor::Client || tool.approval(&Value::Null) != Approval::NotNeeded
        }) || servers
            .any(|server| server.approval.is_some() || server.trust_hints || server.unfinished.is_some())
            || nodes.any(|(_, node)| {
                let reason = node.reason.as_ref();
                let options = reason.and_then(|reason| reason.tool_options.as_ref());
                node.interrupt.is_some()
                    || node.function.is_some()
                    || reason.is_some_and(|reason| reason.interrupt.is_some())
                    || options.is_some_and(|options| options.approval == Some(true))
            })
    }

    fn agent_options(&self, with: &FileOptions) -> AgentOptions {
        let mut options = with.options.clone();
        options.asks &= self.asks(with);
        for model in &self.0.models {
            if let ModelText::Object(object) = &model.value.value
                && let Some(price) = &object.price
            {
                options.prices.set(priced_name(&model.name.value, object), price.value.price());
            }
        }
        if let Some(limits) = &self.0.limits {
            options.max_wait = limits.max_wait.map_or(options.max_wait, |wait| wait.0);
            options.keep = limits.keep.map_or(options.keep, |keep| keep.0);
            options.max_state_bytes = limits.max_state_bytes.unwrap_or(options.max_state_bytes);
            options.max_transitions = limits.max_transitions.unwrap_or(options.max_transitions);
            options.max_run_bytes = limits.max_run_bytes.unwrap_or(options.max_run_bytes);
            options.max_answer_bytes = limits.max_answer_bytes.unwrap_or(options.max_answer_bytes);
            options.max_tool_output_bytes =
                limits.max_tool_output_bytes.unwrap_or(options.max_tool_output_bytes);
            options.max_takeovers = limits.max_takeovers.unwrap_or(options.max_takeovers);
        }
        options
    }

    fn workflow(
        &self,
        part: &SourceDefinition<WorkflowPart>,
        with: &FileOptions,
        servers: &Arc<Servers>,
    ) -> Result<Workflow> {
        let text = &part.value.text;
        let mut builder =
            Workflow::new(&part.name.value).version(version(part, with)).edge(START, &text.start.value);
        if let Some(description) = &text.description {
            builder = builder.description(description);
        }
        if let Some(model) = first_model(text) {
            builder = builder.model(model);
        }
        if let Some(steps) = self.0.limits.as_ref().and_then(|limits| limits.max_steps) {
            builder = builder.max_steps(steps);
        }
        for (at, (name, node)) in text.nodes.0.iter().enumerate() {
            let options = node_options(node);
            builder = match node.function.as_ref().and_then(|function| with.functions.0.get(&function.value))
            {
                Some(function) => {
                    let function = function.clone();
                    let file = nodes::NodeOfFile::new(self.0.clone(), servers.clone(), &part.name.value, at);
                    builder.node_with(&name.value, options, move |cx: Cx, (): ()| {
                        let (function, file) = (function.clone(), file.clone());
                        async move { file.call(cx, &function).await }
                    })
                }
                None => {
                    let file = nodes::NodeOfFile::new(self.0.clone(), servers.clone(), &part.name.value, at);
                    builder.node_with(&name.value, options, move |cx: Cx, (): ()| {
                        let file = file.clone();
                        async move { file.run(cx).await }
                    })
                }
            };
            builder = builder.kind(super::view::kind(node).0);
        }
        for edge in &text.edges {
            let (from, to) = (&edge.value.from.value, edge.value.to.value.as_str());
            let to = if to == END_WORD { END } else { to };
            builder = match &edge.value.when {
                Some(when) => builder.edge_when(from, &when.value, to),
                None => builder.edge(from, to),
            };
        }
        builder.build()
    }
}

/// The model of the first `reason` node on the path from the start.
fn first_model(text: &WorkflowText) -> Option<&str> {
    let mut open = VecDeque::from([text.start.value.as_str()]);
    let mut seen = HashSet::new();
    while let Some(name) = open.pop_front() {
        if !seen.insert(name) {
            continue;
        }
        let (_, node) = text.nodes.0.iter().find(|(known, _)| known.value == name)?;
        if let Some(reason) = &node.reason {
            return Some(&reason.model.value);
        }
        let edges = text.edges.iter().filter(|edge| edge.value.from.value == name);
        open.extend(edges.map(|edge| edge.value.to.value.as_str()).filter(|to| *to != END_WORD));
    }
    None
}

/// The version of a workflow: the one in the file, unless that version had other content before.
fn version(part: &SourceDefinition<WorkflowPart>, with: &FileOptions) -> String {
    let WorkflowPart { text, hash } = &part.value;
    let Some(version) = &text.version else { return hash.clone() };
    let before = with
        .replaces
        .as_ref()
        .and_then(|(_, file)| file.0.workflows.iter().find(|before| before.name.value == part.name.value));
    let same = |before: &SourceDefinition<WorkflowPart>| {
        before.value.text.version.as_ref().is_some_and(|before| before.value == version.value)
    };
    match before {
        Some(before) if same(before) && before.value.hash != *hash => format!("{}+{hash}", version.value),
        _ => version.value.clone(),
    }
}

fn missing<T>(named: &[SourceDefinition<T>], what: &str, brought: &[&str], errors: &mut Vec<FileError>) {
    for name in named.iter().filter(|name| !brought.contains(&name.name.value.as_str())) {
        let message = if brought.is_empty() {
            format!("the program has no {what} `{}`: it supplied none", name.name.value)
        } else {
            unknown(what, &name.name.value, brought.iter().copied()).replacen(
                "there is",
                "the program has",
                1,
            )
        };
        errors.push(FileError::new(FileErrorKind::Missing, &name.source, name.name.span, message));
    }
}

fn node_options(node: &NodeText) -> NodeOptions {
    let mut options = NodeOptions::default();
    if let Some(retry) = &node.retry {
        let mut times = Retry::times(retry.times);
        if let Some(delay) = retry.delay {
            times = times.delay(delay.0);
        }
        options = options.retry(times.backoff(retry.backoff.unwrap_or(1.0)));
    }
    if let Some(timeout) = node.timeout {
        options = options.timeout(timeout.0);
    }
    match &node.on_error {
        Some(OnErrorText::Continue) => options.on_error(OnError::Continue),
        Some(OnErrorText::GoTo(to)) => options.on_error(OnError::GoTo(to.value.clone())),
        Some(OnErrorText::Stop) | None => options,
    }
}
