//! A set of tools for one model call, with compiled schemas.

use std::{collections::HashMap, sync::Arc};

use headwater_protocol::ToolSpec;
use serde_json::Value;

use crate::{Error, ErrorKind, Mismatch, Result, Schema, Tool, ToolError};

/// Tools by name, in insertion order. Cloning is cheap.
///
/// ```
/// use headwater_protocol::ToolSpec;
/// use headwater_tools::{ClientTool, Tools};
/// use serde_json::json;
///
/// # fn main() -> Result<(), headwater_tools::Error> {
/// let schema = json!({ "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] });
/// let tools = Tools::new().with(ClientTool::new(ToolSpec::new("weather", schema)))?;
///
/// assert!(tools.check("weather", &json!({ "city": "Oslo" })).is_ok());
/// let error = tools.check("weather", &json!({ "town": "Oslo" })).unwrap_err();
/// assert_eq!(error.message(), "the input of \"weather\" does not fit its schema: city: missing");
/// let error = tools.check("wether", &json!({})).unwrap_err();
/// assert_eq!(error.message(), "there is no tool \"wether\"; the tools are: weather");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct Tools {
    entries: Vec<ToolEntry>,
    by_name: HashMap<Arc<str>, usize>,
}

#[derive(Debug, Clone)]
struct ToolEntry {
    tool: Arc<dyn Tool>,
    input: Schema,
}

impl Tools {
    /// An empty set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool.
    ///
    /// # Errors
    /// If the name is taken or not accepted by model APIs, or if the input schema is invalid.
    pub fn with(self, tool: impl Tool) -> Result<Self> {
        self.with_shared(Arc::new(tool))
    }

    /// Adds a shared tool.
    ///
    /// # Errors
    /// As for [`with`](Tools::with).
    pub fn with_shared(mut self, tool: Arc<dyn Tool>) -> Result<Self> {
        let spec = tool.spec();
        check_name(&spec.name).map_err(|error| error.of(&tool.origin()))?;
        let input = check_input(&spec.input_schema).map_err(|error| {
            error.of(&format!("the input schema of \"{}\" ({})", spec.name, tool.origin()))
        })?;
        self.insert(ToolEntry { tool, input })?;
        Ok(self)
    }

    /// Adds all tools of another set.
    ///
    /// # Errors
    /// If both have a tool of the same name.
    pub fn merge(mut self, other: Self) -> Result<Self> {
        for entry in other.entries {
            self.insert(entry)?;
        }
        Ok(self)
    }

    /// The tool of a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.entry(name).map(|entry| &entry.tool)
    }

    /// The descriptions of the tools for a model.
    pub fn specs(&self) -> impl ExactSizeIterator<Item = &ToolSpec> {
        self.entries.iter().map(|entry| entry.tool.spec())
    }

    /// The tools in insertion order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Arc<dyn Tool>> {
        self.entries.iter().map(|entry| &entry.tool)
    }

    /// The number of tools.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Checks a model's call: the tool exists and the input fits its schema.
    ///
    /// # Errors
    /// A message that lets the model correct the call.
    pub fn check(&self, name: &str, input: &Value) -> Result<(), ToolError> {
        let entry = self.entry(name).ok_or_else(|| self.unknown(name))?;
        entry.input.check(input).map_err(|mismatches| {
            let list = Mismatch::in_one_line(&mismatches);
            ToolError::new(format!("the input of \"{name}\" does not fit its schema: {list}"))
        })
    }

    /// Releases the resources of all tools, one by one.
    pub async fn close(&self) {
        for entry in &self.entries {
            entry.tool.close().await;
        }
    }

    fn entry(&self, name: &str) -> Option<&ToolEntry> {
        self.by_name.get(name).and_then(|index| self.entries.get(*index))
    }

    fn insert(&mut self, entry: ToolEntry) -> Result<()> {
        let name = &entry.tool.spec().name;
        if let Some(first) = self.get(name) {
            let (first, second) = (first.origin(), entry.tool.origin());
            return Err(Error::new(
                ErrorKind::Duplicate,
                format!(
                    "two tools are named \"{name}\", one from {first} and one from {second}: rename one of them"
                ),
            ));
        }
        self.by_name.insert(name.as_str().into(), self.entries.len());
        self.entries.push(entry);
        Ok(())
    }

    fn unknown(&self, name: &str) -> ToolError {
        const MOST: usize = 50;
        let shown: String = name.chars().take(LONGEST_NAME).collect();
        let known: Vec<&str> = self.specs().take(MOST).map(|spec| spec.name.as_str()).collect();
        let more = self.len().saturating_sub(MOST);
        ToolError::new(match (known.is_empty(), more) {
            (true, _) => format!("there is no tool \"{shown}\"; there are no tools at all"),
            (false, 0) => format!("there is no tool \"{shown}\"; the tools are: {}", known.join(", ")),
            (false, _) => {
                format!("there is no tool \"{shown}\"; the tools are: {} and {more} more", known.join(", "))
            }
        })
    }
}

const LONGEST_NAME: usize = 128;

/// Models always pass an object, and providers reject tools with another input type.
fn check_input(schema: &Value) -> Result<Schema> {
    match schema.get("type") {
        Some(kind) if kind != "object" => Err(Error::new(
            ErrorKind::Schema,
            format!("invalid input type {kind}: the input of a tool must be an object"),
        )),
        _ => Schema::new(schema.clone()),
    }
}

/// Names that MCP and every provider accept. Providers with stricter rules report an error themselves.
fn check_name(name: &str) -> Result<()> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if !name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(fits) {
        return Ok(());
    }
    let shown: String = name.chars().take(LONGEST_NAME).collect();
    Err(Error::new(
        ErrorKind::Name,
        format!(
            "invalid tool name {shown:?}: use 1 to {LONGEST_NAME} letters, digits, \"_\", \"-\" and \".\""
        ),
    ))
}
