//! The models that agents ask.
//!
//! A [`Model`] takes a [`ModelRequest`] and gives a stream of [`ModelEvent`]s. Whoever drops the stream cancels the
//! call: the connection is closed and the provider stops.

mod error;
mod event;
mod model;
mod request;

pub use error::{ModelError, ModelErrorKind};
pub use event::{ModelEvent, Warning};
pub use model::{Model, ModelStream};
pub use request::{ModelRequest, ReasoningEffort, ReasoningOptions, ResponseFormat, ToolChoice};
