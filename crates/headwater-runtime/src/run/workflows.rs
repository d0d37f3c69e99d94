//! The workflows of an agent, each in one or several versions.

use std::collections::{BTreeMap, HashMap};

use crate::{Error, Result, Workflow, error::ErrorKind, workflow::is_content_version};

/// The workflows of an agent.
#[derive(Debug)]
pub(crate) struct Workflows {
    all: HashMap<String, WorkflowVersions>,
    /// The workflow of runs that do not name one.
    default: Option<String>,
}

/// One workflow in all of its versions.
#[derive(Debug, Clone)]
struct WorkflowVersions {
    newest: String,
    versions: BTreeMap<String, Workflow>,
}

impl Workflows {
    /// Checks and collects workflows. Of several versions of one, the last is the newest.
    pub(crate) fn new(workflows: &[Workflow], default: Option<String>) -> Result<Self> {
        let fail = |message: String| Err(Error::new(ErrorKind::Build, message));
        let mut all: HashMap<String, WorkflowVersions> = HashMap::new();
        for workflow in workflows {
            let known = all
                .entry(workflow.id().to_owned())
                .or_insert_with(|| WorkflowVersions { newest: String::new(), versions: BTreeMap::new() });
            workflow.version().clone_into(&mut known.newest);
            if known.versions.insert(workflow.version().to_owned(), workflow.clone()).is_some() {
                let (id, version) = (workflow.id(), workflow.version());
                return fail(format!("workflow `{id}` was added twice in version {version}"));
            }
        }
        let default = match (default, workflows) {
            (Some(id), _) if !all.contains_key(&id) => {
                return fail(format!("the default workflow `{id}` was not added"));
            }
            (Some(id), _) => Some(id),
            (None, []) => return fail("the agent has no workflow".into()),
            (None, [first, others @ ..]) => {
                others.iter().all(|other| other.id() == first.id()).then(|| first.id().to_owned())
            }
        };
        Ok(Self { all, default })
    }

    /// The newest version of each.
    pub(crate) fn all_newest(&self) -> impl Iterator<Item = &Workflow> {
        self.all.values().filter_map(|known| known.versions.get(&known.newest))
    }

    /// All versions, the newest of each workflow last.
    #[cfg(feature = "yaml")]
    pub(crate) fn all_versions(&self) -> impl Iterator<Item = &Workflow> {
        self.all.values().flat_map(|known| {
            let older = known.versions.values().filter(|workflow| workflow.version() != known.newest);
            older.chain(known.versions.get(&known.newest))
        })
    }

    pub(crate) fn default_id(&self) -> Option<&str> {
        self.default.as_deref()
    }

    /// The workflow of a run request, or the default.
    pub(crate) fn choose(&self, id: Option<&str>) -> Result<Workflow> {
        match id.or(self.default.as_deref()) {
            Some(id) => self.newest(id),
            None => {
                let message = "the agent has several workflows and no default: name one";
                Err(Error::new(ErrorKind::UnknownWorkflow, message))
            }
        }
    }

    /// A workflow in its newest version.
    pub(crate) fn newest(&self, id: &str) -> Result<Workflow> {
        let versions = self.all.get(id).ok_or_else(|| self.unknown(id))?;
        versions.versions.get(&versions.newest).cloned().ok_or_else(|| self.unknown(id))
    }

    /// A workflow in the version that a run began with.
    pub(crate) fn version(&self, id: &str, version: &str) -> Result<Workflow> {
        let versions = self.all.get(id).ok_or_else(|| match is_content_version(version) {
            true => changed_workflow(id),
            false => self.unknown(id),
        })?;
        versions.versions.get(version).cloned().ok_or_else(|| {
            if is_content_version(version) {
                return changed_workflow(id);
            }
            let known: Vec<_> = versions.versions.keys().map(String::as_str).collect();
            let message = format!(
                "the run needs version {version} of workflow `{id}`, registered are {}: it waits until that version \
                 is registered too",
                known.join(", ")
            );
            Error::new(ErrorKind::UnknownWorkflow, message).with_code("workflow.version")
        })
    }

    fn unknown(&self, id: &str) -> Error {
        let mut known: Vec<_> = self.all.keys().map(|id| format!("`{id}`")).collect();
        known.sort_unstable();
        let message = format!("there is no workflow `{id}`: this agent has {}", known.join(", "));
        Error::new(ErrorKind::UnknownWorkflow, message)
    }

    /// The current workflows under the versions (`email@1`) of a replayed run.
    pub(crate) fn as_versions(&self, versions: &[String]) -> Result<Self> {
        let mut all: HashMap<String, WorkflowVersions> = HashMap::new();
        for visited in versions {
            let (id, version) = visited.split_once('@').unwrap_or((visited, ""));
            let workflow = self.newest(id)?.as_version(version);
            let known = all.entry(id.to_owned()).or_insert_with(|| WorkflowVersions {
                newest: version.to_owned(),
                versions: BTreeMap::new(),
            });
            known.versions.insert(version.to_owned(), workflow);
        }
        // Code that hands over to a workflow that the run never entered must still find it.
        for (id, known) in &self.all {
            all.entry(id.clone()).or_insert_with(|| known.clone());
        }
        Ok(Self { all, default: self.default.clone() })
    }
}

/// Error code of a run whose original workflow no longer exists.
pub(crate) const WORKFLOW_CHANGED: &str = "workflow.changed";

fn changed_workflow(id: &str) -> Error {
    let message = format!(
        "workflow `{id}` was changed while the run was under way, and the version that it began with is gone: start \
         again, or give the workflow a `version` and keep the old one until its runs have ended"
    );
    Error::new(ErrorKind::UnknownWorkflow, message).with_code(WORKFLOW_CHANGED)
}
