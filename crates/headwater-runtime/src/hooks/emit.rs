//! Emitting statuses, sources, files and data from a node.

use std::sync::Arc;

use headwater_protocol::{DataEvent, Event, FileEvent, SourceUrl, StatusEvent, WarningEvent};
use serde_json::Value;

use crate::{Result, node::NodeVisit};

/// Emits events to the readers of the run: once, however often the node is executed.
///
/// ```no_run
/// # use headwater_runtime::{Cx, Next, NodeResult};
/// async fn search(cx: Cx, _: ()) -> NodeResult {
///     cx.emit().status("searching")?;
///     cx.emit().source_url("s1", "https://example.org", Some("Example"))?;
///     Ok(Next::go())
/// }
/// ```
#[derive(Debug)]
pub struct Emit<'a>(&'a Arc<NodeVisit>);

impl<'a> Emit<'a> {
    pub(crate) fn new(node: &'a Arc<NodeVisit>) -> Self {
        Self(node)
    }

    /// Any event.
    ///
    /// # Errors
    /// When the journal cannot be written, or the node emitted something else before it was run again.
    pub fn event(&self, event: Event) -> Result<()> {
        self.0.emit(&self.0.origin(), event)
    }

    /// A line about progress.
    ///
    /// # Errors
    /// As [`Emit::event`].
    pub fn status(&self, message: impl Into<String>) -> Result<()> {
        self.event(Event::Status(StatusEvent { message: Some(message.into()), ..Default::default() }))
    }

    /// A page that the answer cites.
    ///
    /// # Errors
    /// As [`Emit::event`].
    pub fn source_url(
        &self,
        id: impl Into<String>,
        url: impl Into<String>,
        title: Option<&str>,
    ) -> Result<()> {
        self.event(Event::SourceUrl(SourceUrl {
            source: id.into(),
            url: url.into(),
            title: title.map(str::to_owned),
            ..Default::default()
        }))
    }

    /// A file, by its address or as a data URL.
    ///
    /// # Errors
    /// As [`Emit::event`].
    pub fn file(
        &self,
        url: impl Into<String>,
        media_type: impl Into<String>,
        name: Option<&str>,
    ) -> Result<()> {
        self.event(Event::File(FileEvent {
            url: url.into(),
            media_type: media_type.into(),
            filename: name.map(str::to_owned),
            ..Default::default()
        }))
    }

    /// Named data; data of the same name and id replaces the earlier value.
    ///
    /// # Errors
    /// As [`Emit::event`].
    pub fn data(&self, name: impl Into<String>, id: Option<&str>, data: Value) -> Result<()> {
        self.event(Event::Data(DataEvent {
            name: name.into(),
            id: id.map(str::to_owned),
            data,
            ..Default::default()
        }))
    }

    /// Named data that reaches connected readers only and is not stored.
    ///
    /// # Errors
    /// As [`Emit::event`].
    pub fn transient(&self, name: impl Into<String>, data: Value) -> Result<()> {
        self.event(Event::Data(DataEvent { name: name.into(), data, transient: true, ..Default::default() }))
    }

    /// Metadata of the message: a JSON object.
    ///
    /// # Errors
    /// As [`Emit::event`].
    pub fn metadata(&self, metadata: Value) -> Result<()> {
        self.event(Event::MessageMetadata { metadata })
    }

    /// A warning for the readers of the run.
    ///
    /// # Errors
    /// As [`Emit::event`].
    pub fn warning(&self, message: impl Into<String>) -> Result<()> {
        self.event(Event::Warning(WarningEvent { message: message.into(), ..Default::default() }))
    }
}
