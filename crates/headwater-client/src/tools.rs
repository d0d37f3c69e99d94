//! Tools that the client executes.

use std::{collections::HashMap, fmt, sync::Arc};

use serde_json::Value;

use crate::platform::{BoxFuture, MaybeSend};

#[cfg(not(target_arch = "wasm32"))]
type ToolFunction = Arc<dyn Fn(Value) -> BoxFuture<Result<Value, String>> + Send + Sync>;
#[cfg(target_arch = "wasm32")]
type ToolFunction = Arc<dyn Fn(Value) -> BoxFuture<Result<Value, String>>>;

/// Tools that the client executes, by name. A stream with them calls them when the run waits for their output.
///
/// ```
/// use headwater_client::ToolSet;
/// use serde_json::{Value, json};
///
/// let tools = ToolSet::new().add("locate", |input: Value| async move {
///     let zone = input["zone"].as_str().ok_or("`zone` is missing")?;
///     Ok::<_, &str>(json!({ "city": "Oslo", "zone": zone }))
/// });
/// ```
#[derive(Clone, Default)]
pub struct ToolSet {
    functions: HashMap<String, ToolFunction>,
}

impl fmt::Debug for ToolSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.functions.keys()).finish()
    }
}

impl ToolSet {
    /// No tools.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool. It receives the input of the call; its error becomes the error of the call, which the
    /// model receives.
    #[must_use]
    #[cfg(not(target_arch = "wasm32"))]
    pub fn add<F, R, E>(mut self, name: impl Into<String>, function: F) -> Self
    where
        F: Fn(Value) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Value, E>> + MaybeSend + 'static,
        E: fmt::Display,
    {
        self.functions.insert(name.into(), Arc::new(move |input| boxed(function(input))));
        self
    }

    /// Adds a tool. It receives the input of the call; its error becomes the error of the call, which the
    /// model receives.
    #[must_use]
    #[cfg(target_arch = "wasm32")]
    pub fn add<F, R, E>(mut self, name: impl Into<String>, function: F) -> Self
    where
        F: Fn(Value) -> R + 'static,
        R: Future<Output = Result<Value, E>> + MaybeSend + 'static,
        E: fmt::Display,
    {
        self.functions.insert(name.into(), Arc::new(move |input| boxed(function(input))));
        self
    }

    /// The names of the tools.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.functions.keys().map(String::as_str)
    }

    /// Calls a tool, if there is one of that name.
    pub(crate) fn call(&self, name: &str, input: Value) -> Option<BoxFuture<Result<Value, String>>> {
        self.functions.get(name).map(|function| function(input))
    }
}

fn boxed<R, E>(work: R) -> BoxFuture<Result<Value, String>>
where
    R: Future<Output = Result<Value, E>> + MaybeSend + 'static,
    E: fmt::Display,
{
    Box::pin(async move { work.await.map_err(|error| error.to_string()) })
}
