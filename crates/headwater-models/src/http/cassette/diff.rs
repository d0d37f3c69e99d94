//! Differences between two JSON values.

use serde_json::Value;

/// One difference between two values.
#[derive(Debug, PartialEq)]
pub(super) struct Difference {
    /// JSON path, such as `messages[1].content`.
    pub(super) path: String,
    pub(super) recorded: Option<Value>,
    pub(super) asked: Option<Value>,
}

/// All differences, in the order of the recorded value.
pub(super) fn differences(recorded: &Value, asked: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    compare(String::new(), Some(recorded), Some(asked), &mut found);
    found
}

fn compare(path: String, recorded: Option<&Value>, asked: Option<&Value>, found: &mut Vec<Difference>) {
    match (recorded, asked) {
        (Some(Value::Object(before)), Some(Value::Object(now))) => {
            let added = now.keys().filter(|key| !before.contains_key(*key));
            for key in before.keys().chain(added) {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                compare(path, before.get(key), now.get(key), found);
            }
        }
        (Some(Value::Array(before)), Some(Value::Array(now))) => {
            for at in 0..before.len().max(now.len()) {
                compare(format!("{path}[{at}]"), before.get(at), now.get(at), found);
            }
        }
        (before, now) if before == now => {}
        (before, now) => {
            found.push(Difference { path, recorded: before.cloned(), asked: now.cloned() });
        }
    }
}

/// A value, shortened for a message.
pub(super) fn abbreviate(value: Option<&Value>) -> String {
    const LONGEST: usize = 80;
    let Some(value) = value else { return "nothing".to_owned() };
    let text = value.to_string();
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_difference_is_named() {
        let recorded = json!({ "model": "a", "messages": [{ "content": "Hello" }], "old": 1 });
        let asked = json!({ "model": "a", "messages": [{ "content": "Hi" }, {}], "new": 2 });
        let places: Vec<_> = differences(&recorded, &asked).into_iter().map(|place| place.path).collect();
        assert_eq!(places, ["messages[0].content", "messages[1]", "old", "new"]);
        assert_eq!(differences(&asked, &asked), []);
    }
}
