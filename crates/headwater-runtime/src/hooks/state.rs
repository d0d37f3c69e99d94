//! Small state that lives for a run.

use std::{marker::PhantomData, sync::Arc};

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{Error, Result, error::ErrorKind, limits, run::NodeRun};

/// A piece of state. Small, and JSON.
///
/// A node that is run again after a crash, or because it is retried, sees the state as it was when the node was entered,
/// and writes it again. One that is run again because it waited and was answered finds its node state as it was when the
/// wait began, so that the state can guard what is to be done once:
///
/// ```no_run
/// # use headwater_runtime::{Cx, Next, NodeResult, Text};
/// async fn ask(cx: Cx, _: ()) -> NodeResult {
///     let started = cx.node_state("started", false)?;
///     if !started.get()? {
///         cx.emit().status("looking for somebody")?;
///         started.set(true)?;
///     }
///     let answer = cx.interrupt(Text::new("Who is it?")).id("who").await?;
///     Ok(Next::message(answer))
/// }
/// ```
#[derive(Debug, Clone)]
pub struct State<T> {
    node: Arc<NodeRun>,
    key: String,
    scope: Scope,
    of: PhantomData<fn() -> T>,
}

#[derive(Debug, Clone, Copy)]
enum Scope {
    Node,
    Workflow,
}

impl<T: Serialize + DeserializeOwned> State<T> {
    pub(crate) fn of_node(node: Arc<NodeRun>, key: &str, initial: T) -> Result<Self> {
        Self { node, key: key.to_owned(), scope: Scope::Node, of: PhantomData }.begun(initial)
    }

    pub(crate) fn of_workflow(node: Arc<NodeRun>, key: &str, initial: T) -> Result<Self> {
        Self { node, key: key.to_owned(), scope: Scope::Workflow, of: PhantomData }.begun(initial)
    }

    fn begun(self, initial: T) -> Result<Self> {
        if self.stored().is_none() {
            let initial = self.checked(initial)?;
            match self.scope {
                Scope::Node => self.node.begin_node_state(&self.key, initial),
                Scope::Workflow => self.node.set_workflow_state(&self.key, initial),
            }
        }
        Ok(self)
    }

    fn stored(&self) -> Option<Value> {
        match self.scope {
            Scope::Node => self.node.node_state(&self.key),
            Scope::Workflow => self.node.workflow_state(&self.key),
        }
    }

    /// What it is now.
    ///
    /// # Errors
    /// When what is there is of another type.
    pub fn get(&self) -> Result<T> {
        serde_json::from_value(self.stored().unwrap_or_default()).map_err(|error| {
            let message = format!("state `{}` cannot be read as what the node wants: {error}", self.key);
            Error::new(ErrorKind::State, message)
        })
    }

    /// Replaces it, as a whole: keys of an object that are not in the new one are gone.
    ///
    /// # Errors
    /// When it does not serialise, is nested too deeply, or is larger than a run's state may be.
    pub fn set(&self, value: T) -> Result<()> {
        let value = self.checked(value)?;
        match self.scope {
            Scope::Node => self.node.set_node_state(&self.key, value),
            Scope::Workflow => self.node.set_workflow_state(&self.key, value),
        }
        Ok(())
    }

    /// The value as it is kept, if it is not too large.
    fn checked(&self, value: T) -> Result<Value> {
        let value = serde_json::to_value(value).map_err(|error| {
            Error::new(ErrorKind::State, format!("state `{}` does not serialise: {error}", self.key))
        })?;
        limits::check(&limits::kept(), &format!("state `{}`", self.key), &value)?;
        let limit = self.node.run.agent.options.max_state_bytes;
        let size = serde_json::to_string(&value).map_or(0, |text| text.len());
        if size > limit {
            let message =
                format!("state `{}` has {size} bytes, a run may have {limit}: keep it elsewhere", self.key);
            return Err(Error::new(ErrorKind::Limit, message).with_code("state.too-large"));
        }
        Ok(value)
    }

    /// Changes it. An update before a wait is not done again when the node is run again after the wait.
    ///
    /// # Errors
    /// As [`State::get`] and [`State::set`].
    pub fn update(&self, change: impl FnOnce(T) -> T) -> Result<()> {
        let name = match self.scope {
            Scope::Node => format!("node/{}", self.key),
            Scope::Workflow => format!("workflow/{}", self.key),
        };
        if self.node.was_updated(&name, matches!(self.scope, Scope::Node)) {
            return Ok(());
        }
        self.set(change(self.get()?))
    }
}
