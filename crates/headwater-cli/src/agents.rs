//! The agents of a program, by their names.

use std::{fmt, sync::Arc};

use headwater_runtime::{Agent, AgentFile, FileOptions};
use headwater_store::Store;

use crate::failure::CommandFailure;

type Make = Box<dyn Fn(Arc<dyn Store>) -> headwater_runtime::Result<Agent> + Send + Sync>;

/// The agents that a program defines in code. Each is built once the store for its runs is known.
#[derive(Default)]
pub struct ProgramAgents(Vec<(String, Make)>);

impl ProgramAgents {
    /// An empty list: only agents from files are served.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an agent. `make` builds it on the store of the command line and must give it this name.
    #[must_use]
    pub fn add(
        mut self,
        name: impl Into<String>,
        make: impl Fn(Arc<dyn Store>) -> headwater_runtime::Result<Agent> + Send + Sync + 'static,
    ) -> Self {
        self.0.push((name.into(), Box::new(make)));
        self
    }

    /// The names of the agents.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// Builds the agent with this name; `None` if the program defines no such agent.
    pub(crate) fn make(&self, name: &str, store: Arc<dyn Store>) -> Option<Result<Agent, CommandFailure>> {
        let (_, make) = self.0.iter().find(|(known, _)| known == name)?;
        Some(
            make(store)
                .map_err(|error| CommandFailure::new(format!("agent `{name}` cannot be made: {error}"))),
        )
    }
}

/// Builds the agent of a file for a command that never calls a model, so no API key is needed.
pub(crate) fn of_file(file: &AgentFile, store: Arc<dyn Store>) -> Result<Agent, CommandFailure> {
    let models = headwater_models::Models::new().without_keys();
    file.build(FileOptions::new(store).models(models)).map_err(|error| CommandFailure::new(error.to_string()))
}

impl fmt::Debug for ProgramAgents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}
