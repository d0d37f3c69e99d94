//! Objects that node code emits while they grow.

use std::sync::{Arc, OnceLock};

use headwater_protocol::{Event, StructuredOp, StructuredUpdate};
use headwater_tools::Schema;
use serde::Serialize;
use serde_json::Value;

use crate::{Error, Result, error::ErrorKind, limits, node::NodeVisit};

/// An object that a node emits while it grows. The page applies the updates to its copy; an update that does
/// not apply is refused here, before the page could fail on it.
///
/// ```no_run
/// # use headwater_runtime::{Cx, Next, NodeResult};
/// # use serde_json::json;
/// async fn compose(cx: Cx, _: ()) -> NodeResult {
///     let email = cx.structured("email.compose").stream("email-compose");
///     email.set("subject", "Beta access is open")?;
///     email.text("draft.body", "Hi team,\n\n")?;
///     email.append("draft.bullets", ["Faster setup", "Live streaming UI"])?;
///     email.finish(&json!({ "subject": "Beta access is open", "draft": { "body": "Hi team,\n\n" } }))?;
///     Ok(Next::go())
/// }
/// ```
#[derive(Debug)]
pub struct StructuredHook {
    node: Arc<NodeVisit>,
    data_type: String,
    stream: OnceLock<String>,
    id: Option<String>,
    schema_id: Option<String>,
    schema_version: Option<String>,
    data_schema: Option<Schema>,
    value_schema: Option<Schema>,
    item_schema: Option<Schema>,
}

impl StructuredHook {
    pub(crate) fn new(node: Arc<NodeVisit>, data_type: String) -> Self {
        let data_type = if data_type.is_empty() { "generic".to_owned() } else { data_type };
        Self {
            node,
            data_type,
            stream: OnceLock::new(),
            id: None,
            schema_id: None,
            schema_version: None,
            data_schema: None,
            value_schema: None,
            item_schema: None,
        }
    }

    /// Sets the name of the stream, so that several updates, also of other nodes, belong to one object. The
    /// default is a generated one.
    #[must_use]
    pub fn stream(mut self, stream: impl Into<String>) -> Self {
        self.stream = OnceLock::from(stream.into());
        self
    }

    /// Sets an id defined by the application.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Sets the schema id and version sent to the page.
    #[must_use]
    pub fn schema(mut self, id: impl Into<String>, version: impl Into<String>) -> Self {
        self.schema_id = Some(id.into());
        self.schema_version = Some(version.into());
        self
    }

    /// Sets the schema of the finished object.
    #[must_use]
    pub fn data_schema(mut self, schema: Schema) -> Self {
        self.data_schema = Some(schema);
        self
    }

    /// Sets the schema of values that are set.
    #[must_use]
    pub fn value_schema(mut self, schema: Schema) -> Self {
        self.value_schema = Some(schema);
        self
    }

    /// Sets the schema of appended items.
    #[must_use]
    pub fn item_schema(mut self, schema: Schema) -> Self {
        self.item_schema = Some(schema);
        self
    }

    /// Sets a field.
    ///
    /// # Errors
    /// When the value does not match its schema, or the path does not match the object.
    pub fn set(&self, path: &str, value: impl Serialize) -> Result<()> {
        let value = json(value)?;
        check(self.value_schema.as_ref(), path, &value)?;
        self.update(StructuredOp::set(path, value))
    }

    /// Appends items to an array field.
    ///
    /// # Errors
    /// When an item does not match its schema, or the path does not match the object.
    pub fn append<T: Serialize>(&self, path: &str, items: impl IntoIterator<Item = T>) -> Result<()> {
        let items = items.into_iter().map(json).collect::<Result<Vec<_>>>()?;
        for (at, item) in items.iter().enumerate() {
            check(self.item_schema.as_ref(), &format!("{path}[{at}]"), item)?;
        }
        self.update(StructuredOp::append(path, items))
    }

    /// Appends text to a string field.
    ///
    /// # Errors
    /// When the path does not match the object.
    pub fn text(&self, path: &str, delta: impl Into<String>) -> Result<()> {
        self.update(StructuredOp::text(path, delta))
    }

    /// Emits the finished object.
    ///
    /// # Errors
    /// When it does not match its schema, or the object was finished before.
    pub fn finish(&self, data: &(impl Serialize + ?Sized)) -> Result<()> {
        let data = json(data)?;
        check(self.data_schema.as_ref(), "", &data)?;
        self.update(StructuredOp::finish(data))
    }

    fn update(&self, op: StructuredOp) -> Result<()> {
        limits::check_update(&op)?;
        let stream = match self.stream.get() {
            Some(stream) => stream,
            None => {
                let key = self.node.key("structured", None)?;
                let made = self.node.once_now(&key.text, key.kind, || crate::id::fresh_id("stream"))?;
                self.stream.get_or_init(|| made)
            }
        };
        let mut update = StructuredUpdate::new(stream, &self.data_type, op);
        update.node = Some(self.node.visit.node.clone());
        update.id.clone_from(&self.id);
        update.schema_id.clone_from(&self.schema_id);
        update.schema_version.clone_from(&self.schema_version);
        self.node.emit(&self.node.origin(), Event::Structured(update))
    }
}

fn json(value: impl Serialize) -> Result<Value> {
    serde_json::to_value(value).map_err(|error| {
        Error::new(ErrorKind::Structured, format!("structured data does not serialise: {error}"))
    })
}

fn check(schema: Option<&Schema>, place: &str, value: &Value) -> Result<()> {
    let Some(schema) = schema else { return Ok(()) };
    schema.check(value).map_err(|wrong| {
        let wrong: Vec<_> = wrong.iter().map(ToString::to_string).collect();
        let place = if place.is_empty() { String::new() } else { format!(" at `{place}`") };
        let message = format!("structured data{place} does not fit its schema: {}", wrong.join("; "));
        Error::new(ErrorKind::Structured, message)
    })
}
