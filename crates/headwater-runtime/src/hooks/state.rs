//! Small state with the lifetime of a run.

use std::{marker::PhantomData, sync::Arc};

use headwater_protocol::Event;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    Error, Result,
    error::ErrorKind,
    limits,
    node::{NodeVisit, SHARED},
};

/// A small piece of JSON state.
///
/// A node that is run again after a crash or for a retry gets the state as of its entry, and writes it again.
/// A node that is run again because its question was answered gets its node state as of the wait, so that the
/// state can guard one-time work:
///
/// ```no_run
/// # use headwater_runtime::{Cx, Next, NodeResult, Text};
/// async fn ask(cx: Cx, _: ()) -> NodeResult {
///     let started = cx.node_state("started", false)?;
///     if !started.get()? {
///         cx.emit().status("looking for a person")?;
///         started.set(true)?;
///     }
///     let answer = cx.interrupt(Text::new("Who is it?")).id("who").await?;
///     Ok(Next::message(answer))
/// }
/// ```
#[derive(Debug, Clone)]
pub struct StateHook<T> {
    node: Arc<NodeVisit>,
    key: String,
    scope: Scope,
    of: PhantomData<fn() -> T>,
}

#[derive(Debug, Clone, Copy)]
enum Scope {
    Node,
    Workflow,
    Shared,
}

impl<T: Serialize + DeserializeOwned> StateHook<T> {
    pub(crate) fn of_node(node: Arc<NodeVisit>, key: &str, initial: T) -> Result<Self> {
        Self { node, key: key.to_owned(), scope: Scope::Node, of: PhantomData }.begun(initial)
    }

    pub(crate) fn of_workflow(node: Arc<NodeVisit>, key: &str, initial: T) -> Result<Self> {
        Self { node, key: key.to_owned(), scope: Scope::Workflow, of: PhantomData }.begun(initial)
    }

    /// The page has its own copy already; a run sends the whole state before it sends changes.
    pub(crate) fn of_shared(node: Arc<NodeVisit>, initial: T) -> Result<Self> {
        Self { node, key: SHARED.to_owned(), scope: Scope::Shared, of: PhantomData }.begun(initial)
    }

    fn begun(self, initial: T) -> Result<Self> {
        if self.stored().is_some() {
            return Ok(self);
        }
        let initial = self.checked(initial)?;
        match self.scope {
            Scope::Node => self.node.begin_node_state(&self.key, initial),
            Scope::Workflow => self.node.set_workflow_state(&self.key, initial),
            Scope::Shared => {
                let state = self.node.shared_state().unwrap_or(initial);
                self.node.set_workflow_state(SHARED, state.clone());
                self.node.emit(&self.node.origin(), Event::StateSnapshot { state })?;
            }
        }
        Ok(self)
    }

    fn stored(&self) -> Option<Value> {
        match self.scope {
            Scope::Node => self.node.node_state(&self.key),
            Scope::Workflow | Scope::Shared => self.node.workflow_state(&self.key),
        }
    }

    /// The current value.
    ///
    /// # Errors
    /// When the stored value is of another type.
    pub fn get(&self) -> Result<T> {
        serde_json::from_value(self.stored().unwrap_or_default()).map_err(|error| {
            let message = format!("{} cannot be read as what the node wants: {error}", self.name());
            Error::new(ErrorKind::State, message)
        })
    }

    /// Replaces the value as a whole: keys missing from a new object are removed.
    ///
    /// # Errors
    /// When it does not serialise, is nested too deeply, or exceeds the limit of a run's state.
    pub fn set(&self, value: T) -> Result<()> {
        let value = self.checked(value)?;
        match self.scope {
            Scope::Node => self.node.set_node_state(&self.key, value),
            Scope::Workflow => self.node.set_workflow_state(&self.key, value),
            Scope::Shared => self.share(value)?,
        }
        Ok(())
    }

    /// Stores the value, and sends the changes to the page.
    fn share(&self, value: Value) -> Result<()> {
        let before = self.stored().unwrap_or_default();
        self.node.set_workflow_state(SHARED, value.clone());
        let changes = json_patch::diff(&before, &value).0;
        if changes.is_empty() {
            return Ok(());
        }
        let patch = changes.iter().map(serde_json::to_value).collect::<Result<Vec<_>, _>>();
        let event = match patch {
            Ok(patch) if self.node.knows_what_is_shown() => Event::StateDelta { patch },
            _ => Event::StateSnapshot { state: value },
        };
        self.node.emit(&self.node.origin(), event)
    }

    fn name(&self) -> String {
        match self.scope {
            Scope::Node | Scope::Workflow => format!("state `{}`", self.key),
            Scope::Shared => "the state that is shared with the page".to_owned(),
        }
    }

    /// The value to store, if it is not too large.
    fn checked(&self, value: T) -> Result<Value> {
        let value = serde_json::to_value(value).map_err(|error| {
            Error::new(ErrorKind::State, format!("{} does not serialise: {error}", self.name()))
        })?;
        limits::check(&limits::kept(), &self.name(), &value)?;
        let limit = self.node.run.options().max_state_bytes;
        let size = serde_json::to_string(&value).map_or(0, |text| text.len());
        if size > limit {
            let message =
                format!("{} has {size} bytes, a run may have {limit}: keep it elsewhere", self.name());
            return Err(Error::new(ErrorKind::Limit, message).with_code("state.too-large"));
        }
        Ok(value)
    }

    /// Changes the value. An update before a wait is not repeated when the node is run again after the wait.
    ///
    /// # Errors
    /// As [`StateHook::get`](crate::StateHook::get) and [`StateHook::set`](crate::StateHook::set).
    pub fn update(&self, change: impl FnOnce(T) -> T) -> Result<()> {
        let name = match self.scope {
            Scope::Node => format!("node/{}", self.key),
            Scope::Workflow | Scope::Shared => format!("workflow/{}", self.key),
        };
        if self.node.was_updated(&name, matches!(self.scope, Scope::Node)) {
            return Ok(());
        }
        self.set(change(self.get()?))
    }
}
