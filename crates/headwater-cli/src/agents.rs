//! The agents of a program, by their names.

use std::{fmt, sync::Arc};

use headwater_runtime::{Agent, AgentFile, FileOptions};
use headwater_store::Store;

use crate::failure::Failure;

type Make = Box<dyn Fn(Arc<dyn Store>) -> headwater_runtime::Result<Agent> + Send + Sync>;

/// The agents of a program. Each is made when it is known where its runs are kept.
#[derive(Default)]
pub struct Agents(Vec<(String, Make)>);

impl Agents {
    /// No agents: those of files alone.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an agent. The function makes it on the store that the command line names; its name there must be this one.
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

    /// Makes the agent of a name, if there is one.
    pub(crate) fn make(&self, name: &str, store: Arc<dyn Store>) -> Option<Result<Agent, Failure>> {
        let (_, make) = self.0.iter().find(|(known, _)| known == name)?;
        Some(make(store).map_err(|error| Failure::new(format!("agent `{name}` cannot be made: {error}"))))
    }
}

/// Makes the agent of a file, for a command that asks no model: no key is needed.
pub(crate) fn of_file(file: &AgentFile, store: Arc<dyn Store>) -> Result<Agent, Failure> {
    let models = headwater_models::Models::new().without_keys();
    file.build(FileOptions::new(store).models(models)).map_err(|error| Failure::new(error.to_string()))
}

impl fmt::Debug for Agents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}
