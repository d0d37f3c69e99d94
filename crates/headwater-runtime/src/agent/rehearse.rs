//! An agent for a replay: the same code on a store that is thrown away.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use headwater_store::Store;
use tokio::sync::OnceCell;

use super::{AgentInner, Versions};
use crate::Result;

impl AgentInner {
    /// The same agent on another store. Its workflows are those of today, under the versions (`email@1`) that a run began
    /// with, and its models need no keys, because nobody asks them.
    pub(crate) fn rehearsing(&self, store: Arc<dyn Store>, versions: &[String]) -> Result<Self> {
        let mut workflows: HashMap<String, Versions> = HashMap::new();
        for visited in versions {
            let (id, version) = visited.split_once('@').unwrap_or((visited, ""));
            let workflow = self.workflow(id)?.as_version(version);
            let known = workflows
                .entry(id.to_owned())
                .or_insert_with(|| Versions { newest: version.to_owned(), all: BTreeMap::new() });
            known.all.insert(version.to_owned(), workflow);
        }
        // Code that hands over to a workflow that the run never came to must still find it.
        for (id, known) in
            self.workflows.iter().filter(|(id, _)| !workflows.contains_key(*id)).collect::<Vec<_>>()
        {
            workflows.insert(id.clone(), Versions { newest: known.newest.clone(), all: known.all.clone() });
        }
        Ok(Self {
            name: self.name.clone(),
            description: self.description.clone(),
            suggestions: self.suggestions.clone(),
            workflows,
            default_workflow: self.default_workflow.clone(),
            models: self.models.clone().without_keys(),
            aliases: self.aliases.clone(),
            tools: self.tools.clone(),
            store,
            clock: self.clock.clone(),
            secret: OnceCell::new(),
            owner: crate::id::fresh_id("replay")?,
            options: self.options.clone(),
            sessions: self.sessions.clone(),
            drivers: Default::default(),
            resuming: Default::default(),
            skipped: Default::default(),
            nodes: Default::default(),
        })
    }
}
