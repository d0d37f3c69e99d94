//! The structured reducer against recordings of the Kortyx reducer.
//!
//! Each row is also given to our own reference reducer, so that deliberate deviations from Kortyx are still
//! checked against our rules.

use headwater_protocol::{StructuredState, StructuredUpdate};
use serde_json::{Map, Value};

use crate::structured_reference as reference;
use crate::vectors::{Judge, read_jsonl};

const FILE: &str = "kortyx/structured_reducer.jsonl";

/// The states after each accepted chunk, and the first error.
#[derive(Debug, PartialEq)]
struct Outcome {
    states: Vec<Value>,
    refusal: Option<(usize, String)>,
}

#[test]
fn reducer_equals_recordings_of_kortyx() {
    let Some(rows) = read_jsonl(FILE) else { return };
    let mut judge = Judge::new(FILE);
    for row in &rows {
        let name = row["name"].as_str().expect("a row has a name");
        let chunks = row["chunks"].as_array().expect("a row has chunks");
        let recorded = recorded(&row["expected"]);
        let ours = ours(chunks);
        judge.row(name, |except| compare(&recorded, &ours, except));
        if let Err(difference) = compare(&by_reference(chunks), &ours, &[]) {
            judge.complain(name, &format!("deviates from our own rules: {difference}"));
        }
    }
    judge.finish();
}

fn ours(chunks: &[Value]) -> Outcome {
    let mut state: Option<StructuredState> = None;
    run(chunks, |update| {
        match &mut state {
            Some(state) => state.apply(update).map_err(|error| error.to_string())?,
            None => {
                state = Some(StructuredState::begin(update).map_err(|error| error.to_string())?);
            }
        }
        Ok(serde_json::to_value(&state).expect("a state is JSON"))
    })
}

fn by_reference(chunks: &[Value]) -> Outcome {
    let mut state: Option<reference::ReferenceState> = None;
    run(chunks, |update| {
        let next = reference::reduce(state.as_ref(), &update, 100_000)?;
        let json = next.to_json();
        state = Some(next);
        Ok(json)
    })
}

fn run(chunks: &[Value], mut apply: impl FnMut(StructuredUpdate) -> Result<Value, String>) -> Outcome {
    let mut states = Vec::new();
    for (index, chunk) in chunks.iter().enumerate() {
        let update = serde_json::from_value(chunk.clone()).map_err(|error| error.to_string());
        match update.and_then(&mut apply) {
            Ok(state) => states.push(state),
            Err(message) => {
                return Outcome { states, refusal: Some((index, message)) };
            }
        }
    }
    Outcome { states, refusal: None }
}

fn recorded(expected: &Value) -> Outcome {
    let states = expected["states"].as_array().expect("a row has states").iter().map(decode).collect();
    let refusal = expected.get("error").map(|error| {
        let index = error["index"].as_u64().and_then(|index| usize::try_from(index).ok());
        let message = error["message"].as_str().expect("an error has a message").to_owned();
        (index.expect("an error has an index"), message)
    });
    Outcome { states, refusal }
}

/// Decodes the recorder's notation for values that JSON cannot express: a hole is `null`, a key with an
/// undefined value is absent.
fn decode(value: &Value) -> Value {
    match value {
        Value::Array(items) => items
            .iter()
            .map(decode)
            .map(|item| if is_undefined(&item) { Value::Null } else { item })
            .collect(),
        Value::Object(map) => match map.get("$array") {
            Some(array) => decode_sparse(array),
            None if is_undefined(value) => value.clone(),
            None => {
                let decoded = map.iter().map(|(key, value)| (key.clone(), decode(value)));
                Value::Object(decoded.filter(|(_, value)| !is_undefined(value)).collect::<Map<_, _>>())
            }
        },
        scalar => scalar.clone(),
    }
}

fn is_undefined(value: &Value) -> bool {
    value.get("$undefined").is_some()
}

fn decode_sparse(array: &Value) -> Value {
    let length = array["length"].as_u64().expect("a sparse array has a length");
    if length > 2_000_000 {
        return Value::String(format!("an array of {length} elements"));
    }
    let items = (0..length).map(|index| match array["items"].get(index.to_string()) {
        Some(item) if !is_undefined(item) => decode(item),
        _ => Value::Null,
    });
    items.collect()
}

fn compare(expected: &Outcome, ours: &Outcome, except: &[String]) -> Result<(), String> {
    let pairs = expected.states.iter().zip(&ours.states);
    for (index, (expected, ours)) in pairs.enumerate() {
        let (expected, ours) = (without(expected, except), without(ours, except));
        if expected != ours {
            return Err(format!("after chunk {index} {} instead of {}", short(&ours), short(&expected)));
        }
    }
    if expected.refusal != ours.refusal {
        return Err(format!("refused {:?} instead of {:?}", ours.refusal, expected.refusal));
    }
    if expected.states.len() != ours.states.len() {
        return Err(format!("{} states instead of {}", ours.states.len(), expected.states.len()));
    }
    Ok(())
}

fn without(state: &Value, except: &[String]) -> Value {
    let mut state = state.clone();
    if let Some(map) = state.as_object_mut() {
        map.retain(|key, _| !except.contains(key));
    }
    state
}

fn short(value: &Value) -> String {
    value.to_string().chars().take(300).collect()
}
