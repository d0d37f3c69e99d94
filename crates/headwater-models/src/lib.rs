//! Calls to language models: one request and one stream of events for all providers.
//!
//! # Three types to know
//!
//! - [`Model`] is the trait: it takes a [`ModelRequest`] and returns a stream. Dropping the stream cancels the call: the
//!   connection is closed and the provider stops.
//! - [`ModelEvent`] is what the stream yields: parts of text, reasoning and tool calls, piece by piece, then usage and
//!   the reason of the end. Parts have numbers, so pieces of several parts may alternate.
//! - [`Models`] finds a model by its name, such as `openai:gpt-5-mini` or a name of your own.
//!
//! [`scripted`] is a model that needs no network and no key: it answers by rules, and can fail on purpose. `http`
//! (feature `providers`, on by default) calls the providers, and [`wire`] has their formats without I/O.
//!
//! # Example
//!
//! ```
//! use futures_util::StreamExt as _;
//! use headwater_models::{
//!     Model, ModelEvent, ModelRequest,
//!     scripted::{Rule, Script, ScriptedModel},
//! };
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let model = ScriptedModel::new(Script::new("echo").rule(Rule::always().text("You said: {input}")));
//!
//! let mut text = String::new();
//! let mut events = model.ask(ModelRequest::new("hello"));
//! while let Some(event) = events.next().await {
//!     if let ModelEvent::TextDelta { delta, .. } = event? {
//!         text.push_str(&delta);
//!     }
//! }
//! assert_eq!(text, "You said: hello");
//! # Ok(())
//! # }
//! ```
//!
//! # Errors
//!
//! A [`ModelError`] has a [`ModelErrorKind`], which decides whether another attempt makes sense, and the provider's
//! `Retry-After` where there was one. A stream that ends without [`ModelEvent::Finished`] or an error was truncated.

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
