//! What the client's schemas let through.
//!
//! Before anything else the client cleans an event: properties that it does not know go, members of lists whose kind
//! it does not know go, a few nulls of older servers go. What is left must be right to the letter, or the run is over.

mod fields;
mod parts;

use serde_json::{Map, Value};

use fields::{Field, Shape, fields};
use parts::upgrade_binaries;

pub(super) use fields::is_event;

/// Why an event was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Issue {
    /// Where, as `messages/0/content`.
    pub(super) path: String,
    /// What was expected there.
    pub(super) expected: &'static str,
}

/// What to do with a value that was looked at.
enum Verdict {
    /// It stays.
    Keep,
    /// Its kind is not known: whoever holds it leaves it out.
    Drop,
}

type Checked = Result<Verdict, Issue>;

/// Cleans an event of a known type in place.
pub(super) fn clean(name: &str, event: &mut Map<String, Value>) -> Result<(), Issue> {
    let Some(fields) = fields(name) else {
        return Ok(());
    };
    forget_nulls(name, event);
    if name == "MESSAGES_SNAPSHOT"
        && let Some(messages) = event.get_mut("messages")
    {
        upgrade_messages(messages);
    }
    if let Some(Value::Object(input)) = event.get_mut("input").filter(|_| name == "RUN_STARTED") {
        upgrade_input(input);
    }
    object(event, fields, false, "").map(drop)
}

/// Cleans the messages of a request in place.
pub(super) fn clean_messages(messages: &mut Value) -> Result<(), Issue> {
    upgrade_messages(messages);
    check(messages, &Shape::List(&fields::MESSAGE), "messages").map(drop)
}

/// The nulls that older servers sent, and that count as absent.
fn forget_nulls(name: &str, event: &mut Map<String, Value>) {
    let also: &[&str] = match name {
        "RUN_FINISHED" => &["result", "outcome"],
        "SUBAGENT_FINISHED" => &["result"],
        "TOOL_CALL_START" | "TOOL_CALL_CHUNK" => &["parentMessageId"],
        _ => &[],
    };
    forget_null(event, "rawEvent");
    for field in also {
        forget_null(event, field);
    }
}

fn forget_null(object: &mut Map<String, Value>, field: &str) {
    if object.get(field) == Some(&Value::Null) {
        object.shift_remove(field);
    }
}

fn upgrade_input(input: &mut Map<String, Value>) {
    forget_null(input, "forwardedProps");
    forget_null(input, "state");
    for (list, field) in [("tools", "parameters"), ("resume", "payload")] {
        let entries = input.get_mut(list).and_then(Value::as_array_mut);
        for entry in entries.into_iter().flatten().filter_map(Value::as_object_mut) {
            forget_null(entry, field);
        }
    }
    if let Some(messages) = input.get_mut("messages") {
        upgrade_messages(messages);
    }
}

fn upgrade_messages(messages: &mut Value) {
    for message in messages.as_array_mut().into_iter().flatten() {
        let Some(Value::Array(parts)) = message.get_mut("content") else {
            continue;
        };
        for part in parts.iter_mut().filter_map(Value::as_object_mut) {
            if matches!(
                part.get("type").and_then(Value::as_str),
                Some("image" | "audio" | "video" | "document")
            ) {
                forget_null(part, "metadata");
            }
        }
        upgrade_binaries(parts);
    }
}

fn object(object: &mut Map<String, Value>, fields: &[Field], open: bool, path: &str) -> Checked {
    if !open {
        object.retain(|key, _| knows(fields, key));
    }
    for field in fields {
        let here = || join(path, field.name);
        match object.get_mut(field.name) {
            None if field.required => return Err(Issue { path: here(), expected: field.shape.expected() }),
            None => {}
            Some(value) => match check(value, &field.shape, &here())? {
                Verdict::Keep => {}
                Verdict::Drop if field.required => return Ok(Verdict::Drop),
                Verdict::Drop => {
                    object.shift_remove(field.name);
                }
            },
        }
    }
    Ok(Verdict::Keep)
}

fn knows(fields: &[Field], key: &str) -> bool {
    fields.iter().any(|field| field.name == key)
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") }
}

fn check(value: &mut Value, shape: &Shape, path: &str) -> Checked {
    let fits = match (shape, &mut *value) {
        (Shape::Text, Value::String(_))
        | (Shape::Present, _)
        | (Shape::Flag, Value::Bool(_))
        | (Shape::Record, Value::Object(_)) => true,
        (Shape::NotNull, value) => !value.is_null(),
        (Shape::OneOf(words), Value::String(text)) => words.contains(&text.as_str()),
        (Shape::Pointer, Value::String(text)) => is_pointer(text),
        (Shape::Integer, value) => integer(value, false),
        (Shape::Count, value) => integer(value, true),
        (Shape::TextOrParts, Value::String(_)) => true,
        (Shape::TextOrParts, value @ Value::Array(_)) => {
            // A part that is wrong is a fault of the content as a whole.
            let checked = check(value, &Shape::Parts, path);
            return checked.map_err(|_| Issue { path: path.to_owned(), expected: shape.expected() });
        }
        (Shape::List(element) | Shape::NonEmpty(element), Value::Array(list)) => {
            return elements(list, element, matches!(shape, Shape::NonEmpty(_)), path);
        }
        (Shape::Parts, Value::Array(list)) => return elements(list, &parts::PART, false, path),
        (Shape::Object(fields), Value::Object(map)) => return object(map, fields, false, path),
        (Shape::Union(tag, kinds), Value::Object(map)) => {
            let kind = map.get(*tag).and_then(Value::as_str);
            let Some((_, fields)) = kinds.iter().find(|(name, _)| kind == Some(*name)) else {
                return Ok(Verdict::Drop);
            };
            return object(map, fields, *tag == "op", path);
        }
        _ => false,
    };
    if fits { Ok(Verdict::Keep) } else { Err(Issue { path: path.to_owned(), expected: shape.expected() }) }
}

fn elements(list: &mut Vec<Value>, element: &Shape, at_least_one: bool, path: &str) -> Checked {
    let mut dropped = Vec::new();
    for (index, value) in list.iter_mut().enumerate() {
        if matches!(check(value, element, &format!("{path}/{index}"))?, Verdict::Drop) {
            dropped.push(index);
        }
    }
    if !dropped.is_empty() {
        let mut index = 0;
        list.retain(|_| {
            index += 1;
            dropped.binary_search(&(index - 1)).is_err()
        });
    }
    if at_least_one && list.is_empty() {
        return Err(Issue { path: path.to_owned(), expected: "a list with at least one element" });
    }
    Ok(Verdict::Keep)
}

/// `1.0` and `1e3` are integers in JavaScript, and are made so here.
fn integer(value: &mut Value, natural: bool) -> bool {
    const SAFE: i64 = (1 << 53) - 1;
    let number = match value.as_i64() {
        Some(number) => number,
        None => {
            let Some(float) =
                value.as_f64().filter(|float| float.fract() == 0.0 && float.abs() <= SAFE as f64)
            else {
                return false;
            };
            float as i64
        }
    };
    *value = Value::from(number);
    number.abs() <= SAFE && (!natural || number >= 0)
}

/// `^(/([^/~]|~[01])*)*$`
fn is_pointer(text: &str) -> bool {
    let escapes = text.split('~').skip(1).all(|after| after.starts_with(['0', '1']));
    escapes && (text.is_empty() || text.starts_with('/'))
}

/// Whether the client would take a JSON Patch as it is.
pub(super) fn is_patch(patch: &[Value]) -> bool {
    let mut copy = patch.to_vec();
    matches!(elements(&mut copy, &fields::OPERATION, false, ""), Ok(Verdict::Keep))
        && copy.len() == patch.len()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cleaned(event: Value) -> Result<Value, String> {
        let Value::Object(mut map) = event else { unreachable!("tests give objects") };
        let name = map["type"].as_str().unwrap().to_owned();
        clean(&name, &mut map).map_err(|issue| issue.path)?;
        Ok(Value::Object(map))
    }

    #[test]
    fn unknown_properties_and_members_go_and_nulls_of_old_servers_too() {
        let table = [
            (
                json!({"type": "TEXT_MESSAGE_END", "messageId": "m", "zzz": 1, "rawEvent": null}),
                json!({"type": "TEXT_MESSAGE_END", "messageId": "m"}),
            ),
            (
                json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "result": null, "outcome": {"type": "odd"}}),
                json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}),
            ),
            (
                json!({"type": "STATE_DELTA", "delta": [{"op": "grow", "path": "x"}, {"op": "remove", "path": "/a", "why": 1}]}),
                json!({"type": "STATE_DELTA", "delta": [{"op": "remove", "path": "/a", "why": 1}]}),
            ),
            (
                json!({"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "c",
                       "content": [{"type": "hologram"}, {"type": "text", "text": "t", "zzz": 1}]}),
                json!({"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "c",
                       "content": [{"type": "text", "text": "t"}]}),
            ),
        ];
        for (event, expected) in table {
            assert_eq!(cleaned(event), Ok(expected));
        }
    }

    #[test]
    fn what_is_wrong_in_a_known_field_is_named_by_its_path() {
        let table = [
            (json!({"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "tool"}), "role"),
            (json!({"type": "TEXT_MESSAGE_START", "messageId": "m", "name": null}), "name"),
            (json!({"type": "CUSTOM", "name": "n"}), "value"),
            (json!({"type": "STEP_STARTED", "stepName": "s", "timestamp": 1.5}), "timestamp"),
            (
                json!({"type": "STATE_DELTA", "delta": [{"op": "add", "path": "a", "value": 1}]}),
                "delta/0/path",
            ),
            (
                json!({"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "m", "role": "assistant", "content": null}]}),
                "messages/0/content",
            ),
            (
                json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r",
                       "outcome": {"type": "interrupt", "interrupts": []}}),
                "outcome/interrupts",
            ),
        ];
        for (event, path) in table {
            assert_eq!(cleaned(event), Err(path.to_owned()));
        }
    }

    #[test]
    fn pointers_are_as_the_rfc_writes_them() {
        for (text, good) in
            [("", true), ("/", true), ("/a~1b/~0", true), ("a", false), ("/a~2", false), ("/~", false)]
        {
            assert_eq!(is_pointer(text), good, "{text}");
        }
    }
}
