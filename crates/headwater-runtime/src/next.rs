//! The result of a node: data for the following nodes, and the next step.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Error, NodeError, Result, error::ErrorKind, limits};

/// The result of a node, or the reason it failed.
pub type NodeResult = std::result::Result<Next, NodeError>;

/// The result of a node.
///
/// ```
/// use headwater_runtime::Next;
/// use serde_json::json;
///
/// let next = Next::data(&json!({ "city": "Oslo" }))?.with_condition("found");
/// # Ok::<(), headwater_runtime::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Next {
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub(crate) data: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) structured: Option<NodeObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) condition: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) intent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) transition: Option<Transition>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) result: Option<Value>,
}

/// A finished object that a node shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NodeObject {
    pub(crate) data_type: String,
    pub(crate) data: Value,
}

/// The workflow to continue with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Transition {
    pub(crate) to: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) payload: Option<Value>,
}

impl Transition {
    /// The payload is merged into the data, so it must be an object.
    pub(crate) fn check(&self) -> Result<()> {
        match &self.payload {
            None | Some(Value::Object(_)) => Ok(()),
            Some(other) => {
                let (to, kind) = (&self.to, json_kind(other));
                let message = format!("the payload for workflow `{to}` must be an object, not {kind}");
                Err(Error::new(ErrorKind::State, message))
            }
        }
    }
}

impl Next {
    /// Refuses values nested too deeply to be stored and read back.
    pub(crate) fn check_limits(&self) -> Result<()> {
        limits::kept()
            .check_object(&self.data)
            .map_err(|exceeded| limits::refused("a node's data", &exceeded))?;
        let others = [
            ("a run's result", self.result.as_ref()),
            ("a node's structured object", self.structured.as_ref().map(|structured| &structured.data)),
            ("a transition's payload", self.transition.as_ref().and_then(|to| to.payload.as_ref())),
        ];
        for (what, value) in others {
            value.map_or(Ok(()), |value| limits::check(&limits::kept(), what, value))?;
        }
        Ok(())
    }

    /// No data; the unconditional edges are followed.
    #[must_use]
    pub fn go() -> Self {
        Self::default()
    }

    /// Data that is merged into the input of the following nodes.
    ///
    /// # Errors
    /// If it does not serialise to a JSON object.
    pub fn data<T: Serialize + ?Sized>(data: &T) -> Result<Self> {
        Self::default().with_data(data)
    }

    /// A message that is shown when the node has finished.
    #[must_use]
    pub fn message(text: impl Into<String>) -> Self {
        Self::default().with_message(text)
    }

    /// The condition that selects the edge to follow.
    #[must_use]
    pub fn condition(condition: impl Into<String>) -> Self {
        Self::default().with_condition(condition)
    }

    /// The person's intent: selects the edge if there is no condition.
    #[must_use]
    pub fn intent(intent: impl Into<String>) -> Self {
        Self::default().with_intent(intent)
    }

    /// Continues with another workflow when this one has ended.
    #[must_use]
    pub fn transition(workflow: impl Into<String>) -> Self {
        Self::default().with_transition(workflow)
    }

    /// Adds data.
    ///
    /// # Errors
    /// If it does not serialise to a JSON object.
    pub fn with_data<T: Serialize + ?Sized>(mut self, data: &T) -> Result<Self> {
        match serde_json::to_value(data) {
            Ok(Value::Object(data)) => merge(&mut self.data, data),
            Ok(other) => {
                let kind = json_kind(&other);
                let message = format!("a node's data must be a JSON object, not {kind}: give it a name");
                return Err(Error::new(ErrorKind::State, message));
            }
            Err(error) => {
                let message = format!("a node's data does not serialise: {error}");
                return Err(Error::new(ErrorKind::State, message));
            }
        }
        Ok(self)
    }

    /// Adds a message.
    #[must_use]
    pub fn with_message(mut self, text: impl Into<String>) -> Self {
        self.message = Some(text.into());
        self
    }

    /// Adds a finished object to show.
    #[must_use]
    pub fn with_structured(mut self, data_type: impl Into<String>, data: Value) -> Self {
        self.structured = Some(NodeObject { data_type: data_type.into(), data });
        self
    }

    /// Adds the run's public result, which readers get when the run ends. They never see the data.
    ///
    /// # Errors
    /// If it does not serialise.
    pub fn with_result<T: Serialize + ?Sized>(mut self, result: &T) -> Result<Self> {
        let result = serde_json::to_value(result).map_err(|error| {
            Error::new(ErrorKind::State, format!("a run's result does not serialise: {error}"))
        })?;
        self.result = Some(result);
        Ok(self)
    }

    /// Adds a condition.
    #[must_use]
    pub fn with_condition(mut self, condition: impl Into<String>) -> Self {
        self.condition = Some(condition.into());
        self
    }

    /// Adds an intent.
    #[must_use]
    pub fn with_intent(mut self, intent: impl Into<String>) -> Self {
        self.intent = Some(intent.into());
        self
    }

    /// Adds a transition.
    #[must_use]
    pub fn with_transition(mut self, workflow: impl Into<String>) -> Self {
        self.transition = Some(Transition { to: workflow.into(), payload: None });
        self
    }

    /// Sets the input of the next workflow. Default: the node's data.
    #[must_use]
    pub fn with_payload(mut self, payload: Value) -> Self {
        if let Some(transition) = &mut self.transition {
            transition.payload = Some(payload);
        }
        self
    }
}

/// Merges objects key by key; all other values are replaced.
pub(crate) fn merge(into: &mut Map<String, Value>, from: Map<String, Value>) {
    for (key, value) in from {
        match (into.get_mut(&key), value) {
            (Some(Value::Object(into)), Value::Object(from)) => merge(into, from),
            (_, value) => {
                into.insert(key, value);
            }
        }
    }
}

/// The JSON type of a value, for messages.
pub(crate) fn json_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
