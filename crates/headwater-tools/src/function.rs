//! Async functions as tools. The schema comes from the input type. Errors and panics of the function are
//! reported to the model and stop nothing else.

use std::{
    any::{Any, type_name},
    error::Error as StdError,
    fmt,
    future::{Future, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    time::Duration,
};

use headwater_protocol::ToolSpec;
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::{
    Approval, Tool, ToolContext, ToolError, ToolFuture, ToolOutput, UnfinishedPolicy, schema::schema_of,
};

/// An async function as a tool.
///
/// The function takes its input, or its input and a [`ToolContext`]. It returns anything serializable, or a
/// [`ToolOutput`]. Its error is a [`ToolError`] or anything that converts into a boxed error. The doc comment
/// of the input type is the tool's description for the model, unless
/// [`description`](FunctionTool::description) sets one.
///
/// ```
/// use headwater_tools::{FunctionTool, Tool, ToolError, schemars::{self, JsonSchema}};
/// use serde::{Deserialize, Serialize};
///
/// /// Searches the issues of the project.
/// #[derive(Deserialize, JsonSchema)]
/// struct Search {
///     /// Words that must occur.
///     query: String,
/// }
///
/// #[derive(Serialize)]
/// struct Found { titles: Vec<String> }
///
/// async fn search(input: Search) -> Result<Found, ToolError> {
///     Ok(Found { titles: vec![format!("nothing about {}", input.query)] })
/// }
///
/// let tool = FunctionTool::new("search", search).title("Search").repeatable();
/// assert_eq!(tool.spec().description.as_deref(), Some("Searches the issues of the project."));
/// assert_eq!(tool.spec().input_schema["properties"]["query"]["type"], "string");
/// ```
pub struct FunctionTool<I> {
    spec: ToolSpec,
    function: Function<I>,
    place: &'static str,
    approval: ApprovalRule<I>,
    editable: bool,
    unfinished: UnfinishedPolicy,
    timeout: Option<Duration>,
}

type OutputFuture = Pin<Box<dyn Future<Output = Result<ToolOutput, ToolError>> + Send>>;
type Function<I> = Box<dyn Fn(I, ToolContext) -> OutputFuture + Send + Sync>;

enum ApprovalRule<I> {
    Always(Approval),
    If(Box<dyn Fn(&I) -> bool + Send + Sync>),
}

impl<I: DeserializeOwned + JsonSchema + Send + 'static> FunctionTool<I> {
    /// A function as a tool of this name.
    #[must_use]
    pub fn new<F, Form>(name: impl Into<String>, function: F) -> Self
    where
        F: ToolFunction<Form, Input = I>,
    {
        let mut schema = schema_of::<I>();
        let described = schema.as_object_mut().and_then(|schema| {
            // The type's name adds nothing to the tool's name.
            schema.remove("title");
            schema.remove("description")
        });
        // A function of any JSON value has an empty schema, but a model always passes an object.
        if schema.as_object().is_none_or(serde_json::Map::is_empty) {
            schema = json!({ "type": "object" });
        }
        let mut spec = ToolSpec::new(name, schema);
        spec.description = described.and_then(|text| text.as_str().map(str::to_owned));
        Self {
            spec,
            function: Box::new(move |input, context| function.start(input, context)),
            place: type_name::<F>(),
            approval: ApprovalRule::Always(Approval::NotNeeded),
            editable: false,
            unfinished: UnfinishedPolicy::default(),
            timeout: None,
        }
    }

    /// Sets a title for users.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.spec.title = Some(title.into());
        self
    }

    /// Sets the description for the model, instead of the input type's doc comment.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.spec.description = Some(description.into());
        self
    }

    /// Sets whether the user must approve every call.
    #[must_use]
    pub fn approval(mut self, approval: Approval) -> Self {
        self.approval = ApprovalRule::Always(approval);
        self
    }

    /// The user must approve a call if the predicate holds for its input. An input that cannot be
    /// deserialized needs approval too.
    #[must_use]
    pub fn approval_if(mut self, needed: impl Fn(&I) -> bool + Send + Sync + 'static) -> Self {
        self.approval = ApprovalRule::If(Box::new(needed));
        self
    }

    /// Allows the user to change the input when approving a call. The approval rule is applied to the changed
    /// input: if that still needs approval, the user is asked again with exactly that input.
    #[must_use]
    pub fn editable(mut self) -> Self {
        self.editable = true;
        self
    }

    /// A call with an unknown outcome is repeated: the tool has no side effects, or honours the idempotency
    /// key.
    #[must_use]
    pub fn repeatable(self) -> Self {
        self.unfinished(UnfinishedPolicy::Repeat)
    }

    /// Sets what to do with a call whose outcome is unknown.
    #[must_use]
    pub fn unfinished(mut self, unfinished: UnfinishedPolicy) -> Self {
        self.unfinished = unfinished;
        self
    }

    /// Maximum duration of a call. After it the call is dropped and the model gets an error.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    async fn run(&self, input: Value, context: ToolContext) -> Result<ToolOutput, ToolError> {
        let name = &self.spec.name;
        let input = serde_json::from_value(input)
            .map_err(|error| ToolError::new(format!("invalid input of \"{name}\": {error}")))?;
        let call = catch_panic(name, || (self.function)(input, context));
        let Some(timeout) = self.timeout else { return call.await };
        tokio::time::timeout(timeout, call).await.unwrap_or_else(|_| {
            Err(ToolError::new(format!(
                "the tool \"{name}\" returned nothing within {timeout:?} and was stopped"
            ))
            .with_code("tool.timeout"))
        })
    }
}

impl<I: DeserializeOwned + JsonSchema + Send + 'static> Tool for FunctionTool<I> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn origin(&self) -> String {
        format!("the function {}", self.place)
    }

    fn editable(&self) -> bool {
        self.editable
    }

    fn approval(&self, input: &Value) -> Approval {
        match &self.approval {
            ApprovalRule::Always(approval) => *approval,
            ApprovalRule::If(needed) => match I::deserialize(input) {
                Ok(input) if !needed(&input) => Approval::NotNeeded,
                _ => Approval::Needed,
            },
        }
    }

    fn unfinished(&self) -> UnfinishedPolicy {
        self.unfinished
    }

    fn call(&self, input: Value, context: ToolContext) -> ToolFuture<'_> {
        Box::pin(self.run(input, context))
    }
}

impl<I> fmt::Debug for FunctionTool<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FunctionTool")
            .field("name", &self.spec.name)
            .field("function", &self.place)
            .finish_non_exhaustive()
    }
}

/// Functions that can be tools: `async fn(Input) -> Result<Output, Error>` and `async fn(Input, ToolContext)
/// -> Result<Output, Error>`. `Form` lets the compiler distinguish the two.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a tool",
    note = "a tool is an `async fn(Input) -> Result<Output, Error>` or `async fn(Input, ToolContext) -> Result<Output, Error>`; \
            `Input: DeserializeOwned + JsonSchema`, `Output: Serialize`, the future is `Send`"
)]
pub trait ToolFunction<Form>: Send + Sync + 'static {
    /// The type of the input.
    type Input;

    /// Calls the function.
    fn start(
        &self,
        input: Self::Input,
        context: ToolContext,
    ) -> Pin<Box<dyn Future<Output = Result<ToolOutput, ToolError>> + Send>>;
}

impl<F, I, Called, O, E> ToolFunction<fn(I) -> Called> for F
where
    F: Fn(I) -> Called + Send + Sync + 'static,
    Called: Future<Output = Result<O, E>> + Send + 'static,
    O: Serialize + 'static,
    E: Into<Box<dyn StdError + Send + Sync>>,
{
    type Input = I;

    fn start(&self, input: I, _: ToolContext) -> OutputFuture {
        let called = self(input);
        Box::pin(async move { into_output(called.await) })
    }
}

impl<F, I, Called, O, E> ToolFunction<fn(I, ToolContext) -> Called> for F
where
    F: Fn(I, ToolContext) -> Called + Send + Sync + 'static,
    Called: Future<Output = Result<O, E>> + Send + 'static,
    O: Serialize + 'static,
    E: Into<Box<dyn StdError + Send + Sync>>,
{
    type Input = I;

    fn start(&self, input: I, context: ToolContext) -> OutputFuture {
        let called = self(input, context);
        Box::pin(async move { into_output(called.await) })
    }
}

fn into_output<O, E>(result: Result<O, E>) -> Result<ToolOutput, ToolError>
where
    O: Serialize + 'static,
    E: Into<Box<dyn StdError + Send + Sync>>,
{
    let output = result.map_err(|error| ToolError::from_boxed(error.into()))?;
    // A `ToolOutput` is serializable too, but is returned unchanged.
    if let Some(output) = (&output as &dyn Any).downcast_ref::<ToolOutput>() {
        return Ok(output.clone());
    }
    let output = serde_json::to_value(&output).map_err(|error| {
        ToolError::new(format!("cannot serialize the output of the tool as JSON: {error}"))
    })?;
    Ok(ToolOutput::json(output))
}

/// Runs a call and turns a panic into an error. Nothing of the call is used after a panic, so
/// `AssertUnwindSafe` holds.
async fn catch_panic(name: &str, start: impl FnOnce() -> OutputFuture) -> Result<ToolOutput, ToolError> {
    let mut call = catch_unwind(AssertUnwindSafe(start)).map_err(|panic| panicked(name, &*panic))?;
    poll_fn(|task| {
        catch_unwind(AssertUnwindSafe(|| call.as_mut().poll(task)))
            .unwrap_or_else(|panic| Err(panicked(name, &*panic)).into())
    })
    .await
}

fn panicked(name: &str, panic: &(dyn Any + Send)) -> ToolError {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
    ToolError::new(format!("the tool \"{name}\" panicked: {text}")).with_code("tool.panicked")
}
