//! A simple reference for the rules of structured streams: a tree with unset elements, copied as a whole for
//! every update. Slow; only used for comparison.

use std::collections::BTreeMap;

use headwater_protocol::{StructuredOp, StructuredUpdate};
use serde_json::{Value, json};

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ReferenceNode {
    Unset,
    Scalar(Value),
    Array(Vec<ReferenceNode>),
    Object(BTreeMap<String, ReferenceNode>),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ReferenceState {
    stream: String,
    data_type: String,
    done: bool,
    data: ReferenceNode,
    metadata: BTreeMap<&'static str, String>,
}

/// The state after `update`, or why it is refused. At most `max_unset` array elements may be unset.
pub(crate) fn reduce(
    state: Option<&ReferenceState>,
    update: &StructuredUpdate,
    max_unset: usize,
) -> Result<ReferenceState, String> {
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
    let before = state.map_or(ReferenceNode::Unset, |state| state.data.clone());
    let (data, done) = match &update.op {
        StructuredOp::Final { data } => {
            (data.as_ref().map_or(ReferenceNode::Unset, ReferenceNode::from_value), true)
        }
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
    Ok(ReferenceState {
        stream: update.stream.clone(),
        data_type: update.data_type.clone(),
        done,
        data,
        metadata,
    })
}

fn write(root: ReferenceNode, op: &StructuredOp, max_unset: usize) -> Result<ReferenceNode, String> {
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

/// `None` if an index exceeds all bounds.
fn descend(
    node: ReferenceNode,
    segments: &[&str],
    depth: usize,
    path: &str,
    op: &StructuredOp,
) -> Result<Option<ReferenceNode>, String> {
    let Some(segment) = segments.get(depth) else {
        return leaf(node, path, op).map(Some);
    };
    let is_index = segment.chars().all(|c| c.is_ascii_digit());
    let node = match node {
        ReferenceNode::Unset if is_index => ReferenceNode::Array(Vec::new()),
        ReferenceNode::Unset => ReferenceNode::Object(BTreeMap::new()),
        other => other,
    };
    match node {
        ReferenceNode::Array(mut items) if is_index => {
            let index = segment.trim_start_matches('0');
            let index: usize = if index.is_empty() { 0 } else { index.parse().unwrap_or(usize::MAX) };
            if index > items.len() + 200_000 {
                return Ok(None);
            }
            while items.len() <= index {
                items.push(ReferenceNode::Unset);
            }
            let child = descend(items[index].clone(), segments, depth + 1, path, op)?;
            Ok(child.map(|child| {
                items[index] = child;
                ReferenceNode::Array(items)
            }))
        }
        ReferenceNode::Object(mut map) if !is_index => {
            let key = key(segment);
            let child = map.remove(&key).unwrap_or(ReferenceNode::Unset);
            let child = descend(child, segments, depth + 1, path, op)?;
            Ok(child.map(|child| {
                if child != ReferenceNode::Unset {
                    map.insert(key, child);
                }
                ReferenceNode::Object(map)
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

/// The key that a segment spells.
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

fn leaf(node: ReferenceNode, path: &str, op: &StructuredOp) -> Result<ReferenceNode, String> {
    match (op, node) {
        (StructuredOp::Set { value, .. }, _) => {
            Ok(value.as_ref().map_or(ReferenceNode::Unset, ReferenceNode::from_value))
        }
        (StructuredOp::Append { items, .. }, ReferenceNode::Unset) => {
            Ok(ReferenceNode::Array(items.iter().map(ReferenceNode::from_value).collect()))
        }
        (StructuredOp::Append { items, .. }, ReferenceNode::Array(mut all)) => {
            all.extend(items.iter().map(ReferenceNode::from_value));
            Ok(ReferenceNode::Array(all))
        }
        (StructuredOp::Append { .. }, other) => Err(format!(
            "Structured append requires path \"{path}\" to target an array, received {}.",
            other.type_name()
        )),
        (StructuredOp::TextDelta { delta, .. }, ReferenceNode::Unset) => {
            Ok(ReferenceNode::Scalar(json!(delta)))
        }
        (StructuredOp::TextDelta { delta, .. }, ReferenceNode::Scalar(Value::String(text))) => {
            Ok(ReferenceNode::Scalar(json!(text + delta)))
        }
        (StructuredOp::TextDelta { .. }, other) => Err(format!(
            "Structured text-delta requires path \"{path}\" to target a string, received {}.",
            other.type_name()
        )),
        (op, _) => panic!("no rule for {op:?}"),
    }
}

impl ReferenceNode {
    fn from_value(value: &Value) -> Self {
        match value {
            Value::Array(items) => {
                ReferenceNode::Array(items.iter().map(ReferenceNode::from_value).collect())
            }
            Value::Object(map) => ReferenceNode::Object(
                map.iter().map(|(key, value)| (key.clone(), ReferenceNode::from_value(value))).collect(),
            ),
            scalar => ReferenceNode::Scalar(scalar.clone()),
        }
    }

    fn to_value(&self) -> Value {
        match self {
            ReferenceNode::Unset => Value::Null,
            ReferenceNode::Scalar(value) => value.clone(),
            ReferenceNode::Array(items) => items.iter().map(ReferenceNode::to_value).collect(),
            ReferenceNode::Object(map) => {
                map.iter().map(|(key, node)| (key.clone(), node.to_value())).collect()
            }
        }
    }

    fn unset(&self) -> usize {
        match self {
            ReferenceNode::Unset => 1,
            ReferenceNode::Scalar(_) => 0,
            ReferenceNode::Array(items) => items.iter().map(ReferenceNode::unset).sum(),
            ReferenceNode::Object(map) => map.values().map(ReferenceNode::unset).sum(),
        }
    }

    fn type_name(&self) -> &'static str {
        match self {
            ReferenceNode::Unset => "undefined",
            ReferenceNode::Scalar(Value::Null) => "null",
            ReferenceNode::Scalar(Value::Bool(_)) => "boolean",
            ReferenceNode::Scalar(Value::Number(_)) => "number",
            ReferenceNode::Scalar(_) => "string",
            ReferenceNode::Array(_) => "array",
            ReferenceNode::Object(_) => "object",
        }
    }
}

impl ReferenceState {
    pub(crate) fn to_json(&self) -> Value {
        let mut json = json!({
            "streamId": self.stream,
            "dataType": self.data_type,
            "status": if self.done { "done" } else { "streaming" },
        });
        if self.data != ReferenceNode::Unset {
            json["data"] = self.data.to_value();
        }
        for (key, text) in &self.metadata {
            json[key] = json!(text);
        }
        json
    }
}
