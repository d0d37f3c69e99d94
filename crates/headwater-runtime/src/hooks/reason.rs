//! Model calls with tools, output schemas and questions to a person. A recorded result is never requested
//! again.

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

/// Builder of a model call. Await it to make the call.
///
/// ```no_run
/// # use headwater_runtime::{Cx, Next, NodeResult};
/// async fn answer(cx: Cx, question: String) -> NodeResult {
///     let reply = cx.reason("writer").id("answer").system("Be brief.").input(question).await?;
///     Ok(Next::data(&serde_json::json!({ "answer": reply.text }))?)
/// }
/// ```
///
/// With an output type, the model's JSON is not emitted as text; its fields can be streamed as they grow:
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

/// The result of a model call. Usage, warnings and metadata cover all passes.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ReasonReply<T = ()> {
    /// The final text.
    pub text: String,
    /// The final text, parsed.
    pub output: T,
    /// The final answer in the provider's own format, if it returns one.
    pub raw: Option<Value>,
    /// Token usage.
    pub usage: Usage,
    /// Why the model stopped.
    pub finish_reason: FinishReason,
    /// Further metadata of the providers, by provider name.
    pub provider_metadata: Map<String, Value>,
    /// Options that a provider ignored fully or in part.
    pub warnings: Vec<Warning>,
    /// The tool calls made, with their results.
    pub tool_results: Vec<FinishedToolCall>,
    /// The person's answer, in interrupt mode.
    pub interrupt_response: Option<Value>,
    /// Number of requests to the model.
    pub passes: u32,
}

/// A completed tool call.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct FinishedToolCall {
    /// The id of the call in events.
    pub call: ToolCallId,
    /// The tool name that the model used.
    pub name: String,
    /// Its input.
    pub input: Value,
    /// The output, or the error text.
    pub result: Result<ToolOutput, String>,
}

impl ReasonHook {
    pub(crate) fn new(node: Arc<NodeVisit>, model: ModelRef) -> Self {
        Self { node, options: Options::new(model), of: PhantomData }
    }

    /// Requests an object of a type: the model gets its schema, and the output is checked against it.
    pub fn output<T: JsonSchema + Serialize + DeserializeOwned>(mut self) -> ReasonHook<T> {
        self.options.schema = Some(Schema::of::<T>().map_err(|error| error.to_string()));
        ReasonHook { node: self.node, options: self.options, of: PhantomData }
    }

    /// Requests an object of a schema.
    pub fn output_schema(mut self, schema: Schema) -> ReasonHook<Value> {
        self.options.schema = Some(Ok(schema));
        ReasonHook { node: self.node, options: self.options, of: PhantomData }
    }
}

impl<T> ReasonHook<T> {
    /// Sets the id that identifies the call when the run resumes.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.options.id = Some(id.into());
        self
    }

    /// Sets the input text.
    pub fn input(mut self, input: impl Into<String>) -> Self {
        self.options.input = Some(input.into());
        self
    }

    /// Sets the conversation; the input, if any, is appended as its last message.
    pub fn messages(mut self, messages: Vec<ModelMessage>) -> Self {
        self.options.messages = messages;
        self
    }

    /// Sets the system instructions.
    pub fn system(mut self, system: impl Into<String>) -> Self {
        self.options.system = Some(system.into());
        self
    }

    /// Adds a model to use after the previous one has failed for good. Several are tried in order.
    pub fn fallback(mut self, model: impl Into<ModelRef>) -> Self {
        self.options.models.push(model.into());
        self
    }

    /// Sets the handling of the text of a failed attempt: by default it is retracted.
    pub fn failover(mut self, failover: Failover) -> Self {
        self.options.failover = failover;
        self
    }

    /// Sets the attempts per model for temporary failures: two by default.
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.options.attempts = attempts.max(1);
        self
    }

    /// Emits the object that the model writes.
    pub fn structured(mut self, structured: StructuredOutput) -> Self {
        self.options.structured = Some(structured);
        self
    }

    /// Sets whether readers receive the output; they do by default.
    pub fn emit(mut self, emit: bool) -> Self {
        self.options.emit = emit;
        self
    }

    /// Sets whether readers receive the output incrementally, which is the default, or only when it is
    /// complete.
    pub fn stream(mut self, stream: bool) -> Self {
        self.options.stream = stream;
        self
    }

    /// Adds tools.
    pub fn tools(mut self, tools: Tools) -> Self {
        self.options.tools.push(Ok(tools));
        self
    }

    /// Adds a tool.
    pub fn tool(mut self, tool: impl Tool) -> Self {
        self.options.tools.push(Tools::new().with(tool).map_err(|error| error.to_string()));
        self
    }

    /// Adds the tools of an MCP server. The tool list is fetched once and kept in the journal, so that a
    /// resumed run does not depend on a later list; the connection is closed after this call, unless the
    /// client keeps it.
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

    /// Adds tools of the agent, by name.
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

    /// Adds the tools that the page sent with its request: the run waits for their output. A page tool does
    /// not replace another tool of the same name.
    pub fn client_tools(mut self) -> Self {
        self.options.client_tools = true;
        self
    }

    /// Sets tool options.
    pub fn tool_options(mut self, options: ToolOptions) -> Self {
        self.options.tool_options = options;
        self
    }

    /// Sets the tool choice for the model.
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.options.request.tool_choice = Some(choice);
        self
    }

    /// Lets the model ask a person.
    pub fn interrupt(mut self, ask: Ask) -> Self {
        self.options.ask = Some(ask);
        self
    }

    /// Sets the sampling temperature.
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.options.request.temperature = Some(temperature);
        self
    }

    /// Sets the maximum length of the output, in tokens.
    pub fn max_output_tokens(mut self, tokens: u64) -> Self {
        self.options.request.max_output_tokens = Some(tokens);
        self
    }

    /// Sets the sequences that stop the output.
    pub fn stop_sequences<S: Into<String>>(mut self, words: impl IntoIterator<Item = S>) -> Self {
        self.options.request.stop_sequences = words.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the reasoning effort.
    pub fn reasoning_effort(mut self, effort: ReasoningEffort) -> Self {
        self.reasoning().effort = Some(effort);
        self
    }

    /// Sets the reasoning budget, in tokens.
    pub fn reasoning_budget(mut self, tokens: u64) -> Self {
        self.reasoning().max_tokens = Some(tokens);
        self
    }

    fn reasoning(&mut self) -> &mut ReasoningOptions {
        self.options.request.reasoning.get_or_insert_default()
    }

    /// Sets the format of the answer.
    pub fn response_format(mut self, format: ResponseFormat) -> Self {
        self.options.request.response_format = Some(format);
        self
    }

    /// Sets provider-specific options, by provider name.
    pub fn provider_options(mut self, options: Map<String, Value>) -> Self {
        self.options.request.provider_options = options;
        self
    }

    /// Sets a time limit.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.options.timeout = Some(timeout);
        self
    }

    /// Aborts the call when the signal is ready: any future, such as `token.cancelled_owned()`. The
    /// connection is closed, the output of the attempt is retracted, and the call fails with the code
    /// `model.aborted`. The abort is recorded, so a resumed run gets the same error and does not call the
    /// model again. Running tools finish first.
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

    /// Sets how often the model is asked again when its output does not match the schema. It receives the
    /// validation error.
    pub fn output_retries(mut self, retries: u32) -> Self {
        self.options.output_retries = retries;
        self
    }
}

/// A model call in progress.
pub type ReasonFuture<T> = Pin<Box<dyn Future<Output = Result<ReasonReply<T>>> + Send>>;

impl<T: OutputOf> IntoFuture for ReasonHook<T> {
    type Output = Result<ReasonReply<T>>;
    type IntoFuture = ReasonFuture<T>;

    fn into_future(self) -> Self::IntoFuture {
        // The hook key is fixed here, not when the future is polled.
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

/// The output type of a call: an object, or `()`.
pub trait OutputOf: Send + Sized + 'static {
    /// Reads the output; `None` if no schema was set.
    ///
    /// # Errors
    /// When it matches the schema but not this type.
    fn read(output: Option<Value>) -> Result<Self>;
}

impl<T: DeserializeOwned + Send + 'static> OutputOf for T {
    fn read(output: Option<Value>) -> Result<Self> {
        serde_json::from_value(output.unwrap_or_default()).map_err(|error| {
            Error::new(ErrorKind::Output, format!("the output fits its schema but not its type: {error}"))
        })
    }
}
