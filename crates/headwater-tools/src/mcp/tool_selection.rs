//! Lists a server's tools and selects some of them.

use std::{
    collections::HashSet,
    future::{Future, IntoFuture},
    pin::Pin,
    sync::Arc,
};

use super::{
    reconnect::ConnectionSlot,
    tool::{McpTool, ToolPolicy},
    tool_list::McpListing,
};
use crate::{Approval, Error, ErrorKind, Result, Tools, UnfinishedPolicy};

/// The tools of a server; await it.
///
/// ```no_run
/// # async fn example(client: headwater_tools::McpClient) -> Result<(), headwater_tools::Error> {
/// use headwater_tools::Approval;
///
/// let tools = client.tools().include(["delete_issue"]).approval(Approval::Needed).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "the server is not contacted until this is awaited"]
pub struct McpTools {
    slot: Arc<ConnectionSlot>,
    include: Option<Vec<String>>,
    prefix: String,
    /// Tools whose every call needs the user's approval.
    asks: Vec<String>,
    /// Policies for calls with unknown outcome, by tool.
    unfinished: Vec<(String, UnfinishedPolicy)>,
    /// Tools whose input the user may change when approving.
    edits: Vec<String>,
    policy: ToolPolicy,
}

impl McpTools {
    pub(super) fn new(slot: Arc<ConnectionSlot>, closes: bool) -> Self {
        let policy = ToolPolicy {
            approval: Approval::NotNeeded,
            editable: false,
            unfinished: UnfinishedPolicy::Fail,
            hints: false,
            closes,
        };
        Self {
            slot,
            include: None,
            prefix: String::new(),
            asks: Vec::new(),
            unfinished: Vec::new(),
            edits: Vec::new(),
            policy,
        }
    }

    /// Selects only these tools. A name that the server does not have is an error.
    pub fn include<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.include.get_or_insert_default().extend(names.into_iter().map(Into::into));
        self
    }

    /// Puts a prefix before every name, so that the tools of two servers can be merged.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Sets whether the user must approve every call.
    pub fn approval(mut self, approval: Approval) -> Self {
        self.policy.approval = approval;
        self
    }

    /// Requires the user's approval for every call of these tools, by their names at the server.
    pub fn approval_for<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.asks.extend(names.into_iter().map(Into::into));
        self
    }

    /// Allows the user to change the input of any tool when approving a call.
    pub fn editable(mut self) -> Self {
        self.policy.editable = true;
        self
    }

    /// Allows the user to change the input of these tools when approving a call, by their names at the
    /// server.
    pub fn editable_for<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.edits.extend(names.into_iter().map(Into::into));
        self
    }

    /// Sets what to do with a call whose outcome is unknown.
    pub fn unfinished(mut self, unfinished: UnfinishedPolicy) -> Self {
        self.policy.unfinished = unfinished;
        self
    }

    /// Sets what to do with a call of one tool whose outcome is unknown, by its name at the server. Overrides
    /// hints.
    pub fn unfinished_for(mut self, name: impl Into<String>, unfinished: UnfinishedPolicy) -> Self {
        self.unfinished.push((name.into(), unfinished));
        self
    }

    /// Trusts the server's hints: a read-only or idempotent tool is repeated if the outcome of a call is
    /// unknown, and a destructive one needs the user's approval. Use it only for servers that you trust.
    pub fn trust_hints(mut self) -> Self {
        self.policy.hints = true;
        self
    }

    /// Lists the server's tools and selects the requested ones.
    ///
    /// # Errors
    /// If the server cannot be started or reached, violates the protocol, or lacks a requested tool.
    pub async fn list(&self) -> Result<McpListing> {
        let listing = self.slot.list().await?;
        let set = self.unfinished.iter().map(|(name, _)| name);
        let named = self.include.iter().flatten().chain(&self.asks).chain(&self.edits).chain(set);
        let mut named = named;
        if let Some(missing) = named.find(|name| !listing.iter().any(|tool| tool.name == **name)) {
            let known: Vec<&str> = listing.iter().take(50).map(|tool| &*tool.name).collect();
            let message = format!("it has no tool \"{missing}\"; it has: {}", known.join(", "));
            return Err(self.slot.clean(&Error::new(ErrorKind::Missing, message)));
        }
        let Some(include) = &self.include else { return Ok(McpListing(listing)) };
        let wanted: HashSet<&str> = include.iter().map(String::as_str).collect();
        let picked = listing.iter().filter(|tool| wanted.contains(&*tool.name)).cloned();
        Ok(McpListing(picked.collect()))
    }

    /// The tools of a listing. The server is not contacted; the first call opens a connection if needed.
    ///
    /// # Errors
    /// If a schema is invalid, or two tools have the same name.
    pub fn of(&self, listing: &McpListing) -> Result<Tools> {
        let mut tools = Tools::new();
        for tool in listing.0.iter() {
            let mut policy = self.policy;
            if self.asks.iter().any(|name| *name == tool.name) {
                policy.approval = Approval::Needed;
            }
            policy.editable |= self.edits.iter().any(|name| *name == tool.name);
            let mut tool = McpTool::new(Arc::clone(&self.slot), tool, &self.prefix, policy)?;
            if let Some((_, unfinished)) = self.unfinished.iter().rfind(|(name, _)| *name == tool.remote()) {
                tool = tool.with_unfinished(*unfinished);
            }
            tools = tools.with(tool)?;
        }
        Ok(tools)
    }

    /// Closes the connection, unless it is kept.
    pub async fn close(&self) {
        if self.policy.closes {
            self.slot.close().await;
        }
    }
}

impl IntoFuture for McpTools {
    type Output = Result<Tools>;
    type IntoFuture = Pin<Box<dyn Future<Output = Result<Tools>> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let tools = self.list().await.and_then(|listing| self.of(&listing));
            // Without tools, no later `close` would end the connection.
            if tools.as_ref().map_or(true, Tools::is_empty) {
                self.close().await;
            }
            tools
        })
    }
}
