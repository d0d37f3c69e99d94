//! Calls to language models.
//!
//! A [`Model`] takes a [`ModelRequest`] and returns a stream of [`ModelEvent`]s. Dropping the stream cancels
//! the call: the connection is closed and the provider stops. [`scripted`] is a model that needs no network,
//! [`wire`] implements the providers' formats, and `http` (feature `providers`, on by default) calls the
//! providers.

mod error;
mod event;
#[cfg(feature = "providers")]
pub mod http;
mod model;
mod nearest;
mod prompt;
mod registry;
mod request;
pub mod scripted;
pub mod wire;

pub use error::{ModelError, ModelErrorKind};
pub use event::{ModelEvent, Warning};
pub use model::{Model, ModelKey, ModelStream};
pub use nearest::nearest;
pub use prompt::{ContentPart, FileData, ModelMessage, PromptOptions, ToolResultOutput, to_model_messages};
pub use registry::Models;
pub use request::{ModelRequest, ReasoningEffort, ReasoningOptions, ResponseFormat, ToolChoice};
