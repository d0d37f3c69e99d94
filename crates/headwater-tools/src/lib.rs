//! Tools that models call: the trait, async functions as tools, tools of the page, and tools of MCP servers.

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
