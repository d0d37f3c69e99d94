//! Agents described by a YAML or JSON file: parsing, checking every reference, building the agent.
//!
//! `docs/yaml.md` describes the format; [`AgentFile::json_schema`] returns its JSON Schema.

mod build;
mod check;
mod error;
mod format;
mod http_tools;
mod load;
mod models;
mod nodes;
mod servers;
mod span;
mod template;
mod view;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::Value;

pub use build::{FileOptions, Functions};
pub use error::{FileError, FileErrorKind, FileErrors};
pub use format::{FileClient, FileVisibility};
pub use view::{FileEdge, FileNode, FileWorkflow};

use format::AgentText;
use load::AgentParts;

/// An agent file and its includes, parsed and checked. Cheap to clone.
///
/// ```
/// use std::sync::Arc;
/// use headwater_runtime::{AgentFile, FileOptions, Start};
/// use headwater_store::Memory;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let file = AgentFile::parse("hello.yaml", "
/// name: hello
/// workflows:
///   hello:
///     start: greet
///     nodes:
///       greet:
///         message: Hello {{ input }}!
/// ")?;
/// let agent = file.build(FileOptions::new(Arc::new(Memory::new())))?;
/// let outcome = agent.start(Start::new("world")).await?.outcome().await?;
/// assert_eq!(outcome.text(), "Hello world!");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct AgentFile(Arc<AgentParts>);

impl AgentFile {
    /// Reads and checks a file and its includes.
    ///
    /// # Errors
    /// Every problem in the files, each with file, line and column.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, FileErrors> {
        let path = path.as_ref();
        let text = load::read_text(path).map_err(|error| FileError::reading(path, &error))?;
        Self::parse(path, text)
    }

    /// Parses and checks a text. Includes are resolved relative to the folder of `name`.
    ///
    /// ```
    /// use headwater_runtime::AgentFile;
    ///
    /// let errors = AgentFile::parse("a.yaml", "name: a\nworkflow: {}\n").unwrap_err();
    /// assert!(errors.to_string().starts_with("a.yaml:2:1: unknown field `workflow`: did you mean `workflows`?"));
    /// ```
    ///
    /// # Errors
    /// Every problem in the files, each with file, line and column.
    pub fn parse(name: impl AsRef<Path>, text: impl Into<String>) -> Result<Self, FileErrors> {
        let parts = load::load(name.as_ref(), text.into()).map_err(FileErrors::of)?;
        FileErrors::check(check::check(&parts))?;
        Ok(Self(Arc::new(parts)))
    }

    /// The agent's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.name.as_ref().map_or("agent", |name| name.value.as_str())
    }

    /// A description of the agent for people.
    #[must_use]
    pub fn description(&self) -> Option<&str> {
        self.0.description.as_deref()
    }

    /// The parts of a run that readers may see.
    ///
    /// ```
    /// use headwater_runtime::AgentFile;
    ///
    /// let text = "
    /// name: quiet
    /// visibility: { reasoning: false }
    /// workflows: { w: { start: n, nodes: { n: { message: Hello } } } }
    /// ";
    /// let file = AgentFile::parse("quiet.yaml", text)?;
    /// assert!(!file.visibility().reasoning && file.visibility().tool_inputs);
    /// # Ok::<(), headwater_runtime::FileErrors>(())
    /// ```
    #[must_use]
    pub fn visibility(&self) -> FileVisibility {
        self.0.visibility
    }

    /// The settings that clients may choose.
    ///
    /// ```
    /// use headwater_runtime::AgentFile;
    ///
    /// let text = "
    /// name: open
    /// client: { workflows: [w], data: true }
    /// workflows: { w: { start: n, nodes: { n: { message: Hello } } } }
    /// ";
    /// let file = AgentFile::parse("open.yaml", text)?;
    /// assert!(file.client().data && file.client().seed && !file.client().system);
    /// # Ok::<(), headwater_runtime::FileErrors>(())
    /// ```
    #[must_use]
    pub fn client(&self) -> &FileClient {
        &self.0.client
    }

    /// The file and its includes. A change to any of them changes the agent.
    #[must_use]
    pub fn files(&self) -> &[PathBuf] {
        &self.0.files
    }

    /// The JSON Schema of the format, for editors.
    #[must_use]
    pub fn json_schema() -> Value {
        schemars::schema_for!(AgentText).to_value()
    }
}
