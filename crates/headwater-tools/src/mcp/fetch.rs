//! Fetches the tool list of a server.

use std::{collections::HashSet, time::Duration};

use rmcp::{
    model::{ErrorCode, PaginatedRequestParams},
    service::ServiceError,
};
use tokio::time::timeout;

use super::{connection::McpConnection, tool_list::Listing};
use crate::{Error, ErrorKind, Result};

/// Maximum number of tools of a server.
const MOST_TOOLS: usize = 10_000;

/// Fetches all pages.
pub(super) async fn all_tools(connection: &McpConnection, limit: Duration) -> Result<Listing> {
    timeout(limit, pages(connection)).await.unwrap_or_else(|_| {
        Err(Error::new(ErrorKind::Timeout, format!("it did not list its tools within {limit:?}")))
    })
}

async fn pages(connection: &McpConnection) -> Result<Listing> {
    let mut tools = Vec::new();
    let mut seen = HashSet::new();
    let mut cursor = None;
    loop {
        let page = PaginatedRequestParams::default().with_cursor(cursor.take());
        let page = match connection.peer().list_tools(Some(page)).await {
            Ok(page) => page,
            // A server without tools need not support the request.
            Err(ServiceError::McpError(error)) if error.code == ErrorCode::METHOD_NOT_FOUND => {
                return Ok(tools.into());
            }
            Err(error) => return Err(connection.failure(error).await),
        };
        tools.extend(page.tools);
        if tools.len() > MOST_TOOLS {
            let message = format!("it offers more than {MOST_TOOLS} tools, which is the limit");
            return Err(Error::new(ErrorKind::Protocol, message));
        }
        let Some(next) = page.next_cursor else { return Ok(tools.into()) };
        if !seen.insert(next.clone()) {
            let message = "its tool list repeats a page cursor, so it would never end";
            return Err(Error::new(ErrorKind::Protocol, message));
        }
        cursor = Some(next);
    }
}
