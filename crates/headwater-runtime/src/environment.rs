//! Shared by every layer of an agent: the store, the clock, the names of the agent and of this process.

use std::sync::Arc;

use headwater_store::{Clock, Secret, Store};
use tokio::sync::OnceCell;

use crate::{AgentOptions, Result, keys::OwnerTag, skip::SkipList};

/// Shared services of every layer of an agent.
#[derive(Debug)]
pub(crate) struct Environment {
    /// The name of the agent, unique in the store.
    pub(crate) agent: String,
    /// The name of this process, unique in the store.
    pub(crate) process: String,
    pub(crate) store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    /// Read from the store on first use.
    secret: OnceCell<Secret>,
    pub(crate) options: AgentOptions,
    pub(crate) skipped: SkipList,
}

impl Environment {
    pub(crate) fn new(
        agent: String,
        process: String,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        options: AgentOptions,
    ) -> Self {
        let skipped = SkipList::new(agent.clone());
        Self { agent, process, store, clock, secret: OnceCell::new(), options, skipped }
    }

    /// The same agent on another store, as another process.
    pub(crate) fn on_store(&self, store: Arc<dyn Store>, process: String) -> Self {
        Self::new(self.agent.clone(), process, store, self.clock.clone(), self.options.clone())
    }

    /// The time in milliseconds since 1970.
    pub(crate) fn now(&self) -> u64 {
        self.clock.now().0
    }

    /// The secret that signs tokens and cursors.
    pub(crate) async fn secret(&self) -> Result<&Secret> {
        Ok(self.secret.get_or_try_init(|| Secret::of(&*self.store)).await?)
    }

    /// The key part of an owner, for this agent.
    pub(crate) fn owner_tag(&self, owner: Option<&str>) -> OwnerTag {
        OwnerTag::of_agent(&self.agent, owner)
    }
}
