//! The list of a server's tools.

use std::sync::Arc;

use rmcp::model::Tool;
use serde::{Deserialize, Serialize};

/// A server's tools. Cloning is cheap.
pub(super) type Listing = Arc<[Tool]>;

/// A server's selected tools. It can be stored and used later without asking the server again.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct McpListing(pub(super) Listing);
