//! Merging of metadata, and JSON Patch.

use serde_json::{Map, Value};

use crate::error::{Error, ErrorKind};

/// Merges metadata: objects key by key, recursively unless `shallow`; other values are replaced.
pub(super) fn metadata(held: &mut Option<Value>, new: &Value, shallow: bool) {
    match (held.as_mut(), new) {
        (_, Value::Null) => {}
        (Some(Value::Object(held)), Value::Object(new)) if shallow => {
            held.extend(new.iter().map(|(key, value)| (key.clone(), value.clone())));
        }
        (Some(Value::Object(held)), Value::Object(new)) => deep(held, new),
        _ => *held = Some(new.clone()),
    }
}

fn deep(held: &mut Map<String, Value>, new: &Map<String, Value>) {
    for (key, value) in new {
        match (held.get_mut(key), value) {
            (Some(Value::Object(held)), Value::Object(new)) => deep(held, new),
            _ => {
                held.insert(key.clone(), value.clone());
            }
        }
    }
}

/// Applies a JSON Patch completely or not at all.
pub(super) fn patch(held: &mut Option<Value>, operations: &[Value]) -> Result<(), Error> {
    let operations = Value::Array(operations.to_vec());
    let patch: json_patch::Patch = serde_json::from_value(operations)
        .map_err(|error| Error::new(ErrorKind::State, format!("invalid JSON Patch: {error}")))?;
    let mut state = held.clone().unwrap_or(Value::Null);
    json_patch::patch(&mut state, &patch).map_err(|error| {
        Error::new(ErrorKind::State, format!("the patch does not fit the state: {error}"))
    })?;
    *held = Some(state);
    Ok(())
}
