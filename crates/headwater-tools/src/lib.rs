//! Tools that models call: async functions, tools that the page executes, HTTP calls, and tools of MCP servers.
//!
//! # Three types to know
//!
//! - [`Tool`] is the trait: a description for the model, and a call that takes JSON and returns a [`ToolOutput`].
//! - [`FunctionTool`] makes an async function a tool. The schema comes from the input type, and the doc comment of that
//!   type is the description.
//! - [`Tools`] is a set of tools with unique names. It checks inputs against the schemas before a call.
//!
//! A [`ClientTool`] has no function: the page executes it and sends the output. `HttpTool` (feature `http`) calls a URL
//! of a template, and `McpClient` (feature `mcp`) offers the tools of an MCP server.
//!
//! # Example
//!
//! ```
//! use headwater_tools::{FunctionTool, ToolError, Tools, schemars::{self, JsonSchema}};
//! use serde::Deserialize;
//! use serde_json::json;
//!
//! /// Adds two numbers.
//! #[derive(Deserialize, JsonSchema)]
//! struct Sum {
//!     a: i64,
//!     b: i64,
//! }
//!
//! async fn add(sum: Sum) -> Result<i64, ToolError> {
//!     sum.a.checked_add(sum.b).ok_or_else(|| ToolError::new("the sum is too large"))
//! }
//!
//! let tools = Tools::new().with(FunctionTool::new("add", add))?;
//! assert_eq!(tools.get("add").map(|tool| tool.spec().name.as_str()), Some("add"));
//! // Errors name the place, so that the model can correct its call.
//! assert!(tools.check("add", &json!({ "a": 1, "b": 2 })).is_ok());
//! assert!(tools.check("add", &json!({ "a": 1 })).is_err());
//! # Ok::<(), headwater_tools::Error>(())
//! ```
//!
//! # Rules of a call
//!
//! - Errors and panics of a tool are reported to the model and stop nothing else.
//! - [`Approval`] decides whether a person is asked first.
//! - [`UnfinishedPolicy`] decides about a call that had begun when the process died: fail, repeat with the same
//!   idempotency key, or ask a person.
//! - [`ToolContext`] has that key, and [`Cancel`] ends when the run is stopped.

mod client;
mod context;
mod error;
mod error_chain;
mod function;
#[cfg(feature = "http")]
mod http_tool;
#[cfg(feature = "mcp")]
mod mcp;
mod output;
mod schema;
mod set;
mod tool;

pub use schemars;

pub use client::ClientTool;
pub use context::{Cancel, CancelHandle, ToolContext};
pub use error::{Error, ErrorKind, Result};
pub use function::{FunctionTool, ToolFunction};
#[cfg(feature = "http")]
pub use http_tool::{HttpCall, HttpTool};
#[cfg(feature = "mcp")]
pub use mcp::{McpClient, McpListing, McpTools};
pub use output::{ToolError, ToolOutput};
pub use schema::{Mismatch, Schema};
pub use set::Tools;
pub use tool::{Approval, Tool, ToolFuture, UnfinishedPolicy};
