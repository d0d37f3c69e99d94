//! The JSON Schema of the wire, from the types that are written to it.

use headwater_protocol::native::NativeFrame;
use schemars::{Schema, generate::SchemaSettings, transform::RecursiveTransform};
use serde_json::{Value, json};

/// The JSON Schema of a record: the `data:` of an SSE frame, or a line of NDJSON.
pub(crate) fn schema() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let settings = settings
        .with_transform(RecursiveTransform(leave_out_absent))
        .with_transform(RecursiveTransform(leave_out_examples));
    let mut schema = settings.into_generator().into_root_schema_for::<NativeFrame<'static>>();
    // The framing adds it, not the record.
    let cursor = "The cursor of the record, on a line of NDJSON. In SSE it is the `id:` of the frame.";
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.insert("cursor".to_owned(), json!({ "type": "string", "description": cursor }));
    }
    schema.to_value()
}

/// The examples in the documentation of the types are Rust.
fn leave_out_examples(schema: &mut Schema) {
    if let Some(Value::String(text)) = schema.get_mut("description")
        && let Some(end) = text.find("\n\n```")
    {
        text.truncate(end);
    }
}

/// An absent field is left out, and never `null`.
fn leave_out_absent(schema: &mut Schema) {
    let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else { return };
    for (name, property) in properties {
        let Some(property) = property.as_object_mut().filter(|_| !required.iter().any(|it| it == name))
        else {
            continue;
        };
        if let Some(Value::Array(types)) = property.get_mut("type") {
            types.retain(|name| name != "null");
            if let [one] = types.as_slice() {
                let one = one.clone();
                property.insert("type".to_owned(), one);
            }
        }
        if let Some(Value::Array(choices)) = property.get_mut("anyOf") {
            choices.retain(|choice| choice.get("type").is_none_or(|name| name != "null"));
            if let [Value::Object(one)] = choices.as_slice() {
                let one = one.clone();
                property.remove("anyOf");
                property.extend(one);
            }
        }
    }
}
