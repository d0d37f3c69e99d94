//! The rules of structured streams as plainly as they can be said: a tree that knows "unset", copied
//! as a whole for every update. It is slow and is here to be compared with.

use std::collections::BTreeMap;

use headwater_protocol::{StructuredOp, StructuredUpdate};
use serde_json::{Value, json};

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Node {
    Unset,
    Scalar(Value),
    Array(Vec<Node>),
    Object(BTreeMap<String, Node>),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct State {
    stream: String,
    data_type: String,
    done: bool,
    data: Node,
    metadata: BTreeMap<&'static str, String>,
}

/// The state after `update`, or why there is none. At most `max_unset` array elements may be unset.
pub(crate) fn reduce(
    state: Option<&State>,
    update: &StructuredUpdate,
    max_unset: usize,
) -> Result<State, String> {
    if let Some(state) = state {
        if state.stream != update.stream {
            return Err(format!(
                "Structured chunk streamId mismatch: expected {}, received {}.",
                state.stream, update.stream
            ));
        }
        if state.done {
            return Err(format!("Structured stream {} already completed with a final chunk.", state.stream));
        }
    }
    let before = state.map_or(Node::Unset, |state| state.data.clone());
    let (data, done) = match &update.op {
        StructuredOp::Final { data } => (data.as_ref().map_or(Node::Unset, Node::from_value), true),
        op => (write(before, op, max_unset)?, false),
    };
    let mut metadata = state.map(|state| state.metadata.clone()).unwrap_or_default();
    for (key, given) in [
        ("node", &update.node),
        ("id", &update.id),
        ("schemaId", &update.schema_id),
        ("schemaVersion", &update.schema_version),
    ] {
        if let Some(given) = given.as_ref().filter(|given| !given.is_empty()) {
            metadata.insert(key, given.clone());
        }
    }
    Ok(State { stream: update.stream.clone(), data_type: update.data_type.clone(), done, data, metadata })
}

fn write(root: Node, op: &StructuredOp, max_unset: usize) -> Result<Node, String> {
    let path = op.path().expect("all but final have a path");
    if path.is_empty() {
        return Err("Structured chunk path must be a non-empty dot-separated string.".to_owned());
    }
    let segments: Vec<&str> = path.split('.').collect();
    if segments.contains(&"") {
        return Err(format!("Structured chunk path \"{path}\" must not contain empty segments."));
    }
    let written = descend(root, &segments, 0, path, op)?.filter(|written| written.unset() <= max_unset);
    written.ok_or_else(|| {
        format!(
            "Structured path \"{path}\" would leave more than {max_unset} array elements of its stream unset."
        )
    })
}

/// `None` if an index is out of all bounds.
fn descend(
    node: Node,
    segments: &[&str],
    depth: usize,
    path: &str,
    op: &StructuredOp,
) -> Result<Option<Node>, String> {
    let Some(segment) = segments.get(depth) else {
        return leaf(node, path, op).map(Some);
    };
    let is_index = segment.chars().all(|c| c.is_ascii_digit());
    let node = match node {
        Node::Unset if is_index => Node::Array(Vec::new()),
        Node::Unset => Node::Object(BTreeMap::new()),
        other => other,
    };
    match node {
        Node::Array(mut items) if is_index => {
            let index = segment.trim_start_matches('0');
            let index: usize = if index.is_empty() { 0 } else { index.parse().unwrap_or(usize::MAX) };
            if index > items.len() + 200_000 {
                return Ok(None);
            }
            while items.len() <= index {
                items.push(Node::Unset);
            }
            let child = descend(items[index].clone(), segments, depth + 1, path, op)?;
            Ok(child.map(|child| {
                items[index] = child;
                Node::Array(items)
            }))
        }
        Node::Object(mut map) if !is_index => {
            let key = key(segment);
            let child = map.remove(&key).unwrap_or(Node::Unset);
            let child = descend(child, segments, depth + 1, path, op)?;
            Ok(child.map(|child| {
                if child != Node::Unset {
                    map.insert(key, child);
                }
                Node::Object(map)
            }))
        }
        other => {
            let place = if depth == 0 { "<root>".to_owned() } else { segments[..depth].join(".") };
            let expected = if is_index { "array" } else { "object" };
            Err(format!(
                "Structured path conflict at {place} for \"{path}\": expected {expected} container, received {}.",
                other.type_name()
            ))
        }
    }
}

/// The key that a segment stands for.
fn key(segment: &str) -> String {
    let mut rest = segment.strip_prefix("~:").unwrap_or(segment).chars().peekable();
    let mut key = String::new();
    while let Some(char) = rest.next() {
        let escaped =
            [('0', '~'), ('1', '.'), ('2', '*')].into_iter().find(|(code, _)| rest.peek() == Some(code));
        match (char, escaped) {
            ('~', Some((_, meant))) => {
                rest.next();
                key.push(meant);
            }
            _ => key.push(char),
        }
    }
    key
}

fn leaf(node: Node, path: &str, op: &StructuredOp) -> Result<Node, String> {
    match (op, node) {
        (StructuredOp::Set { value, .. }, _) => Ok(value.as_ref().map_or(Node::Unset, Node::from_value)),
        (StructuredOp::Append { items, .. }, Node::Unset) => {
            Ok(Node::Array(items.iter().map(Node::from_value).collect()))
        }
        (StructuredOp::Append { items, .. }, Node::Array(mut all)) => {
            all.extend(items.iter().map(Node::from_value));
            Ok(Node::Array(all))
        }
        (StructuredOp::Append { .. }, other) => Err(format!(
            "Structured append requires path \"{path}\" to target an array, received {}.",
            other.type_name()
        )),
        (StructuredOp::TextDelta { delta, .. }, Node::Unset) => Ok(Node::Scalar(json!(delta))),
        (StructuredOp::TextDelta { delta, .. }, Node::Scalar(Value::String(text))) => {
            Ok(Node::Scalar(json!(text + delta)))
        }
        (StructuredOp::TextDelta { .. }, other) => Err(format!(
            "Structured text-delta requires path \"{path}\" to target a string, received {}.",
            other.type_name()
        )),
        (op, _) => panic!("no rule for {op:?}"),
    }
}

impl Node {
    fn from_value(value: &Value) -> Self {
        match value {
            Value::Array(items) => Node::Array(items.iter().map(Node::from_value).collect()),
            Value::Object(map) => {
                Node::Object(map.iter().map(|(key, value)| (key.clone(), Node::from_value(value))).collect())
            }
            scalar => Node::Scalar(scalar.clone()),
        }
    }

    fn to_value(&self) -> Value {
        match self {
            Node::Unset => Value::Null,
            Node::Scalar(value) => value.clone(),
            Node::Array(items) => items.iter().map(Node::to_value).collect(),
            Node::Object(map) => map.iter().map(|(key, node)| (key.clone(), node.to_value())).collect(),
        }
    }

    fn unset(&self) -> usize {
        match self {
            Node::Unset => 1,
            Node::Scalar(_) => 0,
            Node::Array(items) => items.iter().map(Node::unset).sum(),
            Node::Object(map) => map.values().map(Node::unset).sum(),
        }
    }

    fn type_name(&self) -> &'static str {
        match self {
            Node::Unset => "undefined",
            Node::Scalar(Value::Null) => "null",
            Node::Scalar(Value::Bool(_)) => "boolean",
            Node::Scalar(Value::Number(_)) => "number",
            Node::Scalar(_) => "string",
            Node::Array(_) => "array",
            Node::Object(_) => "object",
        }
    }
}

impl State {
    pub(crate) fn to_json(&self) -> Value {
        let mut json = json!({
            "streamId": self.stream,
            "dataType": self.data_type,
            "status": if self.done { "done" } else { "streaming" },
        });
        if self.data != Node::Unset {
            json["data"] = self.data.to_value();
        }
        for (key, text) in &self.metadata {
            json[key] = json!(text);
        }
        json
    }
}
