//! Asking a model: with tools, with a schema, with questions to a person, and never twice for the same.

mod ask;
mod call;
mod model_reply;
mod options;
mod output;
mod pass;
mod recorder;
mod tools;

use std::{
    future::{Future, IntoFuture},
    marker::PhantomData,
    pin::Pin,
    sync::Arc,
    time::Duration,
};

use headwater_models::{
    ModelMessage, ReasoningEffort, ReasoningOptions, ResponseFormat, ToolChoice, Warning,
};
use headwater_protocol::{FinishReason, ToolCallId, Usage};
#[cfg(feature = "mcp")]
use headwater_tools::McpTools;
use headwater_tools::{Schema, Tool, ToolOutput, Tools};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

pub use ask::{Ask, AskMode};
pub use options::{Failover, StructuredOutput, ToolOptions};

use options::{AbortSignal, Options};

use crate::{Error, ModelRef, Result, error::ErrorKind, node::NodeVisit};

/// A model call that is about to be made. Await it.
///
/// ```no_run
/// # use headwater_runtime::{Cx, Next, NodeResult};
/// async fn answer(cx: Cx, question: String) -> NodeResult {
///     let reply = cx.reason("writer").id("answer").system("Be brief.").input(question).await?;
///     Ok(Next::data(&serde_json::json!({ "answer": reply.text }))?)
/// }
/// ```
///
/// With a type for its output the model's JSON is not shown as text; fields of it can be streamed as they grow:
///
/// ```no_run
/// # use headwater_runtime::{Cx, Next, NodeResult, StructuredOutput};
/// # use schemars::JsonSchema;
/// # use serde::{Deserialize, Serialize};
/// #[derive(Serialize, Deserialize, JsonSchema)]
/// struct EmailDraft { subject: String, body: String, bullets: Vec<String> }
///
/// async fn compose(cx: Cx, brief: String) -> NodeResult {
///     let draft = cx
///         .reason("writer")
///         .id("compose-email")
///         .input(format!("Write a short launch email: {brief}"))
///         .output::<EmailDraft>()
///         .structured(StructuredOutput::new("email.compose").set("subject").text("body").append("bullets"))
///         .await?;
///     Ok(Next::data(&draft.output)?)
/// }
/// ```
#[derive(Debug)]
#[must_use = "the model is not asked until it is awaited"]
pub struct ReasonHook<T = ()> {
    node: Arc<NodeVisit>,
    options: Options,
    of: PhantomData<fn() -> T>,
}

/// What a model call gave. Usage, warnings and metadata are those of all passes.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ReasonReply<T = ()> {
    /// The final text.
    pub text: String,
    /// The final text, parsed.
    pub output: T,
    /// The final answer in the provider's own form, where it gives one.
    pub raw: Option<Value>,
    /// What it used.
    pub usage: Usage,
    /// Why the model stopped.
    pub finish_reason: FinishReason,
    /// What else providers said, by their names.
    pub provider_metadata: Map<String, Value>,
    /// Options that were not or not wholly honoured.
    pub warnings: Vec<Warning>,
    /// The tool calls that were made, with what they gave.
    pub tool_results: Vec<FinishedToolCall>,
    /// What the person answered, in interrupt mode.
    pub interrupt_response: Option<Value>,
    /// How often the model was asked.
    pub passes: u32,
}

/// A tool call that was made.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct FinishedToolCall {
    /// The id that the events of the call have.
    pub call: ToolCallId,
    /// The name by which the model called it.
    pub name: String,
    /// Its input.
    pub input: Value,
    /// What it gave, or why it gave nothing.
    pub result: Result<ToolOutput, String>,
}

impl ReasonHook {
    pub(crate) fn new(node: Arc<NodeVisit>, model: ModelRef) -> Self {
        Self { node, options: Options::new(model), of: PhantomData }
    }

    /// Wants an object of some type: the model gets its schema, and what it gives is checked against it.
    pub fn output<T: JsonSchema + Serialize + DeserializeOwned>(mut self) -> ReasonHook<T> {
        self.options.schema = Some(Schema::of::<T>().map_err(|error| error.to_string()));
        ReasonHook { node: self.node, options: self.options, of: PhantomData }
    }

    /// Wants an object of some schema.
    pub fn output_schema(mut self, schema: Schema) -> ReasonHook<Value> {
        self.options.schema = Some(Ok(schema));
        ReasonHook { node: self.node, options: self.options, of: PhantomData }
    }
}

impl<T> ReasonHook<T> {
    /// Names the call, so that a resumed run can tell it from other calls of the node.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.options.id = Some(id.into());
        self
    }

    /// Asks this.
    pub fn input(mut self, input: impl Into<String>) -> Self {
        self.options.input = Some(input.into());
        self
    }

    /// Goes on from this conversation; the input, if any, is its last message.
    pub fn messages(mut self, messages: Vec<ModelMessage>) -> Self {
        self.options.messages = messages;
        self
    }

    /// Tells the model how to behave.
    pub fn system(mut self, system: impl Into<String>) -> Self {
        self.options.system = Some(system.into());
        self
    }

    /// Asks this model when the one before has failed for good. Several are asked in turn.
    pub fn fallback(mut self, model: impl Into<ModelRef>) -> Self {
        self.options.models.push(model.into());
        self
    }

    /// Sets what happens to the text of a failed attempt: by default it is retracted.
    pub fn failover(mut self, failover: Failover) -> Self {
        self.options.failover = failover;
        self
    }

    /// How often each model is asked when it fails in a way that may pass: twice by default.
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.options.attempts = attempts.max(1);
        self
    }

    /// Shows the object that the model writes.
    pub fn structured(mut self, structured: StructuredOutput) -> Self {
        self.options.structured = Some(structured);
        self
    }

    /// Whether readers see anything of it; they do by default.
    pub fn emit(mut self, emit: bool) -> Self {
        self.options.emit = emit;
        self
    }

    /// Whether readers see it grow; they do by default. Otherwise they get it when it is complete.
    pub fn stream(mut self, stream: bool) -> Self {
        self.options.stream = stream;
        self
    }

    /// Lets the model call tools.
    pub fn tools(mut self, tools: Tools) -> Self {
        self.options.tools.push(Ok(tools));
        self
    }

    /// Lets the model call a tool.
    pub fn tool(mut self, tool: impl Tool) -> Self {
        self.options.tools.push(Tools::new().with(tool).map_err(|error| error.to_string()));
        self
    }

    /// Lets the model call tools of an MCP server. What the server offers is asked once and kept in the journal, so that a
    /// run that is resumed does not depend on what it offers then; the connection ends with this call, unless the client
    /// keeps it.
    ///
    /// ```no_run
    /// # use headwater_runtime::{Cx, Next, NodeResult};
    /// # use headwater_tools::McpClient;
    /// async fn answer(cx: Cx, question: String) -> NodeResult {
    ///     let issues = McpClient::stdio("node", ["examples/mcp-issues/server.mjs"]);
    ///     let reply = cx.reason("writer").mcp(issues.tools().include(["search_issues"])).input(question).await?;
    ///     Ok(Next::data(&serde_json::json!({ "answer": reply.text }))?)
    /// }
    /// ```
    #[cfg(feature = "mcp")]
    pub fn mcp(mut self, tools: McpTools) -> Self {
        self.options.servers.push(tools);
        self
    }

    /// Lets the model call tools of the agent, by their names.
    pub fn agent_tools<S: AsRef<str>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        for name in names {
            let name = name.as_ref();
            let found = self.node.run.services.tools.get(name).cloned();
            self.options.tools.push(match found {
                Some(tool) => Tools::new().with_shared(tool).map_err(|error| error.to_string()),
                None => Err(format!("the agent has no tool `{name}`")),
            });
        }
        self
    }

    /// Lets the model call the tools that the page brought with its request: the run waits for what the page gives. A tool of
    /// the page does not take the place of another one that has the same name.
    pub fn client_tools(mut self) -> Self {
        self.options.client_tools = true;
        self
    }

    /// Says how tools are used.
    pub fn tool_options(mut self, options: ToolOptions) -> Self {
        self.options.tool_options = options;
        self
    }

    /// Says which tools the model shall call.
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.options.request.tool_choice = Some(choice);
        self
    }

    /// Lets the model ask a person.
    pub fn interrupt(mut self, ask: Ask) -> Self {
        self.options.ask = Some(ask);
        self
    }

    /// How freely it chooses its words.
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.options.request.temperature = Some(temperature);
        self
    }

    /// How long its answer may be.
    pub fn max_output_tokens(mut self, tokens: u64) -> Self {
        self.options.request.max_output_tokens = Some(tokens);
        self
    }

    /// Words at which it stops.
    pub fn stop_sequences<S: Into<String>>(mut self, words: impl IntoIterator<Item = S>) -> Self {
        self.options.request.stop_sequences = words.into_iter().map(Into::into).collect();
        self
    }

    /// How much it thinks, in a word.
    pub fn reasoning_effort(mut self, effort: ReasoningEffort) -> Self {
        self.reasoning().effort = Some(effort);
        self
    }

    /// How much it thinks, in tokens.
    pub fn reasoning_budget(mut self, tokens: u64) -> Self {
        self.reasoning().max_tokens = Some(tokens);
        self
    }

    fn reasoning(&mut self) -> &mut ReasoningOptions {
        self.options.request.reasoning.get_or_insert_default()
    }

    /// What form the answer has.
    pub fn response_format(mut self, format: ResponseFormat) -> Self {
        self.options.request.response_format = Some(format);
        self
    }

    /// What only one provider understands, by the provider's name.
    pub fn provider_options(mut self, options: Map<String, Value>) -> Self {
        self.options.request.provider_options = options;
        self
    }

    /// Gives up after so long.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.options.timeout = Some(timeout);
        self
    }

    /// Aborts the call when the signal is ready: any future, such as `token.cancelled_owned()`. The connection is closed, what
    /// the attempt said is retracted, and the call fails with the code `model.aborted`. That is recorded, so a run that is
    /// resumed gets the same error and the model is not asked again. Tools that are under way come to their end first.
    ///
    /// Dropping the call's future in the node, as `tokio::select!` does, has the same effect, and drops its tools too.
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # use headwater_runtime::{Cx, Next, NodeResult};
    /// async fn answer(cx: Cx, question: String) -> NodeResult {
    ///     let enough = tokio::time::sleep(Duration::from_secs(20));
    ///     match cx.reason("writer").input(question).abort_when(enough).await {
    ///         Err(error) if error.code() == "model.aborted" => Ok(Next::message("That took too long.")),
    ///         reply => Ok(Next::data(&serde_json::json!({ "answer": reply?.text }))?),
    ///     }
    /// }
    /// ```
    pub fn abort_when(mut self, signal: impl Future<Output = ()> + Send + 'static) -> Self {
        self.options.abort = Some(AbortSignal::new(signal));
        self
    }

    /// Asks again so often when the output does not fit its schema, telling the model what is wrong.
    pub fn output_retries(mut self, retries: u32) -> Self {
        self.options.output_retries = retries;
        self
    }
}

/// A model call that is being made.
pub type ReasonFuture<T> = Pin<Box<dyn Future<Output = Result<ReasonReply<T>>> + Send>>;

impl<T: OutputOf> IntoFuture for ReasonHook<T> {
    type Output = Result<ReasonReply<T>>;
    type IntoFuture = ReasonFuture<T>;

    fn into_future(self) -> Self::IntoFuture {
        // The key is fixed here, not when the future is polled.
        let key = self.node.key("reason", self.options.id.as_deref());
        let (node, options) = (self.node, self.options);
        Box::pin(async move {
            let reply = Box::new(call::ReasonCall::new(node, key?, options)?).make().await?;
            let output = T::read(reply.output)?;
            Ok(ReasonReply {
                text: reply.text,
                output,
                raw: reply.raw,
                usage: reply.usage,
                finish_reason: reply.finish_reason,
                provider_metadata: reply.provider_metadata,
                warnings: reply.warnings,
                tool_results: reply.tool_results,
                interrupt_response: reply.interrupt_response,
                passes: reply.passes,
            })
        })
    }
}

/// What a call's output can be: an object, or nothing.
pub trait OutputOf: Send + Sized + 'static {
    /// Reads it; `None` where no schema was given.
    ///
    /// # Errors
    /// When it is not of this type although it fits the schema.
    fn read(output: Option<Value>) -> Result<Self>;
}

impl<T: DeserializeOwned + Send + 'static> OutputOf for T {
    fn read(output: Option<Value>) -> Result<Self> {
        serde_json::from_value(output.unwrap_or_default()).map_err(|error| {
            Error::new(ErrorKind::Output, format!("the output fits its schema but not its type: {error}"))
        })
    }
}
