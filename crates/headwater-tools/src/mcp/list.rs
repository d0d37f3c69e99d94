//! The tools that a server offers, page by page, and which of them are wanted.

use std::{
    collections::HashSet,
    future::{Future, IntoFuture},
    pin::Pin,
    sync::Arc,
    time::Duration,
};

use rmcp::{
    model::{ErrorCode, PaginatedRequestParams, Tool},
    service::ServiceError,
};
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use super::{connection::Connection, slot::Slot, tool::McpTool};
use crate::{Approval, Error, ErrorKind, Result, Tools, Unfinished};

/// More tools than this are not for a model.
const MOST_TOOLS: usize = 10_000;

/// What a server offers. A clone costs nothing.
pub(super) type Listing = Arc<[Tool]>;

/// What a server offered, of what was wanted. It can be kept, and used later without asking the server again.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct McpListing(pub(super) Listing);

/// The tools of a server: await it.
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
#[must_use = "nothing is asked of the server until this is awaited"]
pub struct McpTools {
    slot: Arc<Slot>,
    include: Option<Vec<String>>,
    prefix: String,
    /// The tools whose every call needs a person's agreement.
    asks: Vec<String>,
    /// What to do with unfinished calls of single tools.
    unfinished: Vec<(String, Unfinished)>,
    /// The tools whose input the person who is asked may change.
    edits: Vec<String>,
    policy: Policy,
}

/// What is said of all tools of a server.
#[derive(Debug, Clone, Copy)]
pub(super) struct Policy {
    pub(super) approval: Approval,
    /// Whether the person who is asked may change the input.
    pub(super) editable: bool,
    pub(super) unfinished: Unfinished,
    /// Whether the server's hints are believed.
    pub(super) hints: bool,
    /// Whether the connection ends with the reason call.
    pub(super) closes: bool,
}

impl McpTools {
    pub(super) fn new(slot: Arc<Slot>, closes: bool) -> Self {
        let policy = Policy {
            approval: Approval::NotNeeded,
            editable: false,
            unfinished: Unfinished::Fail,
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

    /// Only these. A name that the server does not know is an error.
    pub fn include<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.include.get_or_insert_default().extend(names.into_iter().map(Into::into));
        self
    }

    /// Puts this before every name, so that the tools of two servers go into one set.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Says whether a person must agree to every call.
    pub fn approval(mut self, approval: Approval) -> Self {
        self.policy.approval = approval;
        self
    }

    /// Says that a person must agree to every call of these, by their names at the server.
    pub fn approval_for<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.asks.extend(names.into_iter().map(Into::into));
        self
    }

    /// Allows the person who is asked for approval to change the input of any tool.
    pub fn editable(mut self) -> Self {
        self.policy.editable = true;
        self
    }

    /// Allows the person who is asked for approval to change the input of these, by their names at the server.
    pub fn editable_for<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.edits.extend(names.into_iter().map(Into::into));
        self
    }

    /// Says what to do with a call of which nobody knows whether it was finished.
    pub fn unfinished(mut self, unfinished: Unfinished) -> Self {
        self.policy.unfinished = unfinished;
        self
    }

    /// Sets what to do with an unfinished call of one tool, by its name at the server. It counts more than hints.
    pub fn unfinished_for(mut self, name: impl Into<String>, unfinished: Unfinished) -> Self {
        self.unfinished.push((name.into(), unfinished));
        self
    }

    /// Believes what the server says of its tools: one that only reads, or that may be called again without more effect,
    /// is repeated when a call was left unfinished; one that destroys needs a person's agreement. For servers that you
    /// trust.
    pub fn trust_hints(mut self) -> Self {
        self.policy.hints = true;
        self
    }

    /// Asks the server what it offers, and picks what is wanted.
    ///
    /// # Errors
    /// If the server cannot be started, reached or understood, or has no tool of a name that is wanted.
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

    /// The tools of a listing. The server is not asked; the first call opens the connection, if there is none.
    ///
    /// # Errors
    /// If a schema is not one, or if two tools have one name.
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

    /// Ends the connection, unless it is one that is kept.
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
            // Nobody gets the tools, so nobody would close the connection.
            if tools.as_ref().map_or(true, Tools::is_empty) {
                self.close().await;
            }
            tools
        })
    }
}

/// Asks for all pages.
pub(super) async fn all(connection: &Connection, limit: Duration) -> Result<Listing> {
    timeout(limit, pages(connection)).await.unwrap_or_else(|_| {
        Err(Error::new(ErrorKind::Timeout, format!("it did not list its tools within {limit:?}")))
    })
}

async fn pages(connection: &Connection) -> Result<Listing> {
    let mut tools = Vec::new();
    let mut seen = HashSet::new();
    let mut cursor = None;
    loop {
        let page = PaginatedRequestParams::default().with_cursor(cursor.take());
        let page = match connection.peer().list_tools(Some(page)).await {
            Ok(page) => page,
            // A server without tools need not know the question.
            Err(ServiceError::McpError(error)) if error.code == ErrorCode::METHOD_NOT_FOUND => {
                return Ok(tools.into());
            }
            Err(error) => return Err(connection.failure(error).await),
        };
        tools.extend(page.tools);
        if tools.len() > MOST_TOOLS {
            let message =
                format!("it offers more than {MOST_TOOLS} tools, which is more than any model takes");
            return Err(Error::new(ErrorKind::Protocol, message));
        }
        let Some(next) = page.next_cursor else { return Ok(tools.into()) };
        if !seen.insert(next.clone()) {
            let message = "the pages of its list of tools go round in a circle";
            return Err(Error::new(ErrorKind::Protocol, message));
        }
        cursor = Some(next);
    }
}
