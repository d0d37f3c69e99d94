//! The models that agents ask.
//!
//! A [`Model`] takes a [`ModelRequest`] and gives a stream of [`ModelEvent`]s. Whoever drops the stream cancels the
//! call: the connection is closed and the provider stops. [`scripted`] is a model that needs no network;
//! [`wire`] knows how the providers speak, and `http` (feature `providers`, on by default) asks them.

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
pub use model::{Model, ModelStream};
pub use nearest::nearest;
pub use prompt::{ContentPart, FileData, ModelMessage, PromptOptions, ToolResultOutput, to_model_messages};
pub use registry::Models;
pub use request::{ModelRequest, ReasoningEffort, ReasoningOptions, ResponseFormat, ToolChoice};
