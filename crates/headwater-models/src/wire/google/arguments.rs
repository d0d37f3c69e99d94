//! Arguments of a call that arrive value by value, each with a JSON path.

use serde_json::{Map, Value};

use crate::wire::json_access::{given, text};

/// Maximum array length: a larger index could exhaust memory with a few bytes.
const LARGEST_ARRAY: usize = 10_000;

/// One step of a path such as `$.items[0].name`.
#[derive(Debug, PartialEq)]
enum ArgumentStep {
    Field(String),
    Item(usize),
}

/// Merges `partialArgs` into the arguments. A string may come in pieces.
pub(super) fn merge(arguments: &mut Value, pieces: &[Value]) -> Result<(), String> {
    for piece in pieces {
        let path = text(piece, "jsonPath").unwrap_or("$");
        let steps = parse(path).ok_or_else(|| format!("invalid argument path {path:?}"))?;
        let place = descend(arguments, &steps)
            .ok_or_else(|| format!("argument path {path:?} conflicts with earlier ones"))?;
        if let Some(more) = piece.get("stringValue").and_then(Value::as_str) {
            match place {
                Value::String(so_far) => so_far.push_str(more),
                other => *other = Value::from(more),
            }
        } else if let Some(number) = given(piece, "numberValue") {
            *place = number.clone();
        } else if let Some(bool) = given(piece, "boolValue") {
            *place = bool.clone();
        } else if piece.get("nullValue").is_some() {
            *place = Value::Null;
        }
    }
    Ok(())
}

fn parse(path: &str) -> Option<Vec<ArgumentStep>> {
    let mut rest = path.strip_prefix('$')?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if let Some(quoted) = rest.strip_prefix("['") {
            let (name, after) = quoted.split_once("']")?;
            steps.push(ArgumentStep::Field(name.to_owned()));
            rest = after;
        } else if let Some(index) = rest.strip_prefix('[') {
            let (index, after) = index.split_once(']')?;
            steps.push(ArgumentStep::Item(index.parse().ok().filter(|index| *index < LARGEST_ARRAY)?));
            rest = after;
        } else {
            let name = rest.strip_prefix('.')?;
            let end = name.find(['.', '[']).unwrap_or(name.len());
            let (name, after) = name.split_at(end);
            steps.push(ArgumentStep::Field(name.to_owned()));
            rest = after;
        }
    }
    Some(steps)
}

fn descend<'v>(mut place: &'v mut Value, steps: &[ArgumentStep]) -> Option<&'v mut Value> {
    for step in steps {
        place = match step {
            ArgumentStep::Field(name) => {
                if place.is_null() {
                    *place = Value::Object(Map::new());
                }
                place.as_object_mut()?.entry(name.as_str()).or_insert(Value::Null)
            }
            ArgumentStep::Item(index) => {
                if place.is_null() {
                    *place = Value::Array(Vec::new());
                }
                let items = place.as_array_mut()?;
                if items.len() <= *index {
                    items.resize(index + 1, Value::Null);
                }
                items.get_mut(*index)?
            }
        };
    }
    Some(place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_placed_by_their_paths() {
        let mut arguments = Value::Null;
        let pieces = [
            json!({ "jsonPath": "$.a[1].b", "stringValue": "x", "willContinue": true }),
            json!({ "jsonPath": "$.a[1].b", "stringValue": "y" }),
            json!({ "jsonPath": "$.a[0]", "numberValue": 1.5 }),
            json!({ "jsonPath": "$['c d']", "boolValue": true }),
            json!({ "jsonPath": "$.e", "nullValue": null }),
        ];
        merge(&mut arguments, &pieces).unwrap();
        assert_eq!(arguments, json!({ "a": [1.5, { "b": "xy" }], "c d": true, "e": null }));
    }

    #[test]
    fn invalid_paths_are_refused() {
        for path in ["a", "$.a[", "$.a[x]", "$.a[999999999]", "$['a"] {
            let piece = json!({ "jsonPath": path, "stringValue": "x" });
            assert!(merge(&mut Value::Null, &[piece]).is_err(), "{path}");
        }
        let clash = [
            json!({ "jsonPath": "$.a", "stringValue": "x" }),
            json!({ "jsonPath": "$.a.b", "stringValue": "x" }),
        ];
        assert!(merge(&mut Value::Null, &clash).is_err());
    }
}
