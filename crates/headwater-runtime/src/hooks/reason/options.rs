//! Options of a model call.

use std::{fmt, future::Future, time::Duration};

use futures_util::{FutureExt as _, future::BoxFuture, future::Shared};
use headwater_json::{FieldKind, Fields};
use headwater_models::{ModelMessage, ModelRequest};
#[cfg(feature = "mcp")]
use headwater_tools::McpTools;
use headwater_tools::{Schema, Tools};

use super::Ask;
use crate::{Error, ModelRef, Result, error::ErrorKind};

/// The fields collected by a builder. Errors are reported when the hook is awaited.
#[derive(Debug)]
pub(super) struct Options {
    pub(super) id: Option<String>,
    pub(super) models: Vec<ModelRef>,
    pub(super) system: Option<String>,
    pub(super) input: Option<String>,
    pub(super) messages: Vec<ModelMessage>,
    pub(super) schema: Option<Result<Schema, String>>,
    pub(super) structured: Option<StructuredOutput>,
    pub(super) emit: bool,
    pub(super) stream: bool,
    pub(super) tools: Vec<Result<Tools, String>>,
    #[cfg(feature = "mcp")]
    pub(super) servers: Vec<McpTools>,
    pub(super) client_tools: bool,
    pub(super) tool_options: ToolOptions,
    pub(super) ask: Option<Ask>,
    pub(super) attempts: u32,
    pub(super) failover: Failover,
    pub(super) output_retries: u32,
    pub(super) timeout: Option<Duration>,
    pub(super) abort: Option<AbortSignal>,
    pub(super) request: ModelRequest,
}

impl Options {
    /// Whether readers see tool calls.
    pub(super) fn shows_calls(&self) -> bool {
        self.emit && self.tool_options.emit.unwrap_or(true)
    }

    pub(super) fn new(model: ModelRef) -> Self {
        Self {
            id: None,
            models: vec![model],
            system: None,
            input: None,
            messages: Vec::new(),
            schema: None,
            structured: None,
            emit: true,
            stream: true,
            tools: Vec::new(),
            #[cfg(feature = "mcp")]
            servers: Vec::new(),
            client_tools: false,
            tool_options: ToolOptions::default(),
            ask: None,
            attempts: 2,
            failover: Failover::Restart,
            output_retries: 0,
            timeout: None,
            abort: None,
            request: ModelRequest::default(),
        }
    }
}

/// Ends a model call when it is ready. Clones share one signal.
#[derive(Clone)]
pub(super) struct AbortSignal(Shared<BoxFuture<'static, ()>>);

impl AbortSignal {
    pub(super) fn new(signal: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(signal.boxed().shared())
    }

    pub(super) async fn aborted(&self) {
        self.0.clone().await;
    }
}

impl fmt::Debug for AbortSignal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AbortSignal")
    }
}

/// Handling of partial text when a model call fails.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Failover {
    /// The text is retracted, and the next attempt starts anew.
    #[default]
    Restart,
    /// The text is kept, and the next attempt continues from it.
    Continue,
}

/// Options for tool use.
///
/// ```
/// use headwater_runtime::ToolOptions;
///
/// let options = ToolOptions::default().max_steps(5).approval(true).emit(false);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ToolOptions {
    /// Maximum number of requests to the model: 8.
    pub max_steps: u32,
    /// Whether every call needs a person's approval; overrides the tool's own setting.
    pub approval: Option<bool>,
    /// Whether readers see the calls. By default they do, except on pages that show calls on demand only
    /// (Kortyx).
    pub emit: Option<bool>,
    /// Whether the call fails if the model still requests tools after the last step, instead of returning the
    /// partial result.
    pub fail_at_max_steps: bool,
    /// How long a person has to approve a call.
    pub approval_expires: Option<Duration>,
}

impl Default for ToolOptions {
    fn default() -> Self {
        Self { max_steps: 8, approval: None, emit: None, fail_at_max_steps: false, approval_expires: None }
    }
}

impl ToolOptions {
    /// Sets the maximum number of requests to the model, at least one.
    #[must_use]
    pub fn max_steps(mut self, steps: u32) -> Self {
        self.max_steps = steps.max(1);
        self
    }

    /// Sets whether all calls need a person's approval, or none.
    #[must_use]
    pub fn approval(mut self, needed: bool) -> Self {
        self.approval = Some(needed);
        self
    }

    /// Sets whether readers see the calls.
    #[must_use]
    pub fn emit(mut self, emit: bool) -> Self {
        self.emit = Some(emit);
        self
    }

    /// Sets how long a person has to approve a call; after that it counts as denied.
    #[must_use]
    pub fn approval_expires(mut self, after: Duration) -> Self {
        self.approval_expires = Some(after);
        self
    }

    /// Fails if the model still requests tools after the last step.
    #[must_use]
    pub fn fail_at_max_steps(mut self) -> Self {
        self.fail_at_max_steps = true;
        self
    }
}

/// How to emit the object that a model writes: when it is complete, or field by field as it grows.
///
/// ```
/// use headwater_runtime::StructuredOutput;
///
/// let email = StructuredOutput::new("email.compose").schema("email-compose", "1").set("subject").text("body");
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct StructuredOutput {
    pub(super) data_type: String,
    pub(super) stream: Option<String>,
    pub(super) schema_id: Option<String>,
    pub(super) schema_version: Option<String>,
    fields: Vec<(FieldKind, String)>,
}

impl StructuredOutput {
    /// An object of a type, by the name that the page knows.
    pub fn new(data_type: impl Into<String>) -> Self {
        let data_type = data_type.into();
        let data_type = if data_type.is_empty() { "generic".to_owned() } else { data_type };
        Self { data_type, stream: None, schema_id: None, schema_version: None, fields: Vec::new() }
    }

    /// Sets the name of the stream; the default is a generated one.
    pub fn stream(mut self, stream: impl Into<String>) -> Self {
        self.stream = Some(stream.into());
        self
    }

    /// Sets the schema id and version sent to the page.
    pub fn schema(mut self, id: impl Into<String>, version: impl Into<String>) -> Self {
        self.schema_id = Some(id.into());
        self.schema_version = Some(version.into());
        self
    }

    /// Emits a field when it is complete. Paths are dotted; `*` matches any one segment.
    pub fn set(self, path: impl Into<String>) -> Self {
        self.field(FieldKind::Set, path)
    }

    /// Emits a text field while it grows.
    pub fn text(self, path: impl Into<String>) -> Self {
        self.field(FieldKind::Text, path)
    }

    /// Emits the items of an array as they are completed.
    pub fn append(self, path: impl Into<String>) -> Self {
        self.field(FieldKind::Append, path)
    }

    /// Emits a field in the given way.
    pub fn field(mut self, kind: FieldKind, path: impl Into<String>) -> Self {
        self.fields.push((kind, path.into()));
        self
    }

    /// The incrementally emitted fields, if any.
    pub(super) fn fields(&self) -> Result<Option<Fields>> {
        if self.fields.is_empty() {
            return Ok(None);
        }
        let mut builder = Fields::builder();
        for (kind, path) in &self.fields {
            builder = builder.field(*kind, path);
        }
        builder
            .build()
            .map(Some)
            .map_err(|error| Error::new(ErrorKind::Structured, format!("structured fields: {error}")))
    }
}
