//! Holds a connection: opened when needed, reopened when lost.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use headwater_protocol::Secrets;
use rmcp::model::{CallToolResult, JsonObject};
use tokio::sync::{Mutex, watch};

use super::{
    McpSettings,
    cassette::McpTape,
    connection::McpConnection,
    fetch::all_tools,
    tool_list::{Listing, McpListing},
};
use crate::{Error, ErrorKind, Result, ToolContext};

/// A place for one connection to a server, shared by all its tools.
#[derive(Debug)]
pub(super) struct ConnectionSlot {
    settings: McpSettings,
    secrets: Secrets,
    connection: Mutex<Option<Arc<McpConnection>>>,
    /// How often the server reported a change of its tools.
    changes: watch::Sender<u64>,
    /// The value of `changes` when the tools were last listed.
    listed: AtomicU64,
}

impl ConnectionSlot {
    pub(super) fn new(settings: McpSettings) -> Self {
        Self {
            secrets: settings.secrets(),
            settings,
            connection: Mutex::default(),
            changes: watch::Sender::new(0),
            listed: AtomicU64::new(0),
        }
    }

    /// The server's name for messages.
    pub(super) fn name(&self) -> String {
        self.settings.to_string()
    }

    /// An error of the server for callers: with its name and without secrets.
    pub(super) fn clean(&self, error: &Error) -> Error {
        error.cleaned(&self.name(), &self.secrets)
    }

    /// The server's current tools.
    pub(super) async fn list(&self) -> Result<Listing> {
        if let McpTape::Play(folder) = &self.settings.tape {
            let listing = folder.play_tools(&self.name()).map_err(|error| error.of(&self.name()))?;
            return Ok(listing.0);
        }
        let connection = self.open().await?;
        let changes = *self.changes.borrow();
        let listing = match connection.listing(changes) {
            Some(listing) => Ok(listing),
            None => all_tools(&connection, self.settings.call_timeout).await,
        };
        if let Ok(listing) = &listing {
            connection.set_listing(changes, listing.clone());
            self.listed.store(changes, Ordering::Relaxed);
            if let McpTape::Record(folder) = &self.settings.tape {
                folder.keep_tools(&self.name(), &McpListing(listing.clone()))?;
            }
        }
        self.leave(connection, listing).await
    }

    /// Calls a tool.
    pub(super) async fn call(
        &self,
        name: &str,
        arguments: Option<JsonObject>,
        context: ToolContext,
    ) -> Result<CallToolResult> {
        if let McpTape::Play(folder) = &self.settings.tape {
            let played = folder.play_call(&self.name(), name, arguments.as_ref());
            return played.map_err(|error| error.of(&self.name()));
        }
        let connection = self.open().await?;
        let kept = matches!(self.settings.tape, McpTape::Record(_)).then(|| arguments.clone());
        let result = connection.call(&self.settings, name, arguments, context).await;
        if let (McpTape::Record(folder), Some(arguments), Ok(result)) = (&self.settings.tape, kept, &result) {
            folder.keep_call(&self.name(), name, arguments.as_ref(), result)?;
        }
        self.leave(connection, result).await
    }

    /// Waits until the tools have changed since they were last listed.
    pub(super) async fn changed(&self) {
        let mut changes = self.changes.subscribe();
        // We own the sender, so this returns only at a change.
        let _ = changes.wait_for(|changes| *changes != self.listed.load(Ordering::Relaxed)).await;
    }

    /// Closes the connection. Running calls finish first, in the background.
    pub(super) async fn close(&self) {
        let connection = self.connection.lock().await.take();
        if let Some(connection) = connection.and_then(Arc::into_inner) {
            connection.shut().await;
        }
    }

    async fn open(&self) -> Result<Arc<McpConnection>> {
        if let Some(wrong) = &self.settings.wrong {
            return Err(wrong.clone());
        }
        let mut place = self.connection.lock().await;
        if let Some(connection) = place.as_ref().filter(|connection| !connection.is_over()) {
            return Ok(Arc::clone(connection));
        }
        let gone = place.take();
        if let Some(gone) = gone.and_then(Arc::into_inner) {
            gone.shut().await;
        }
        let connection =
            McpConnection::open(&self.settings, &self.changes).await.map_err(|error| self.clean(&error))?;
        let connection = Arc::new(connection);
        *place = Some(Arc::clone(&connection));
        Ok(connection)
    }

    /// Ends a use of the connection, and drops the connection if it failed or was closed meanwhile.
    async fn leave<T>(&self, connection: Arc<McpConnection>, result: Result<T>) -> Result<T> {
        let failed = |error: &Error| matches!(error.kind(), ErrorKind::Ended | ErrorKind::Unreachable);
        if result.as_ref().is_err_and(failed) {
            let mut place = self.connection.lock().await;
            if place.as_ref().is_some_and(|current| Arc::ptr_eq(current, &connection)) {
                *place = None;
            }
        }
        if let Some(last) = Arc::into_inner(connection) {
            last.shut().await;
        }
        result.map_err(|error| self.clean(&error))
    }
}
