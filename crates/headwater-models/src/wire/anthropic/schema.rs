//! Adapts a JSON Schema to Anthropic's structured output: every object closed, no limits on numbers or
//! lengths.

use serde_json::{Map, Value};

/// Keywords that Anthropic rejects. The answer may violate them, so the caller must validate it.
const REFUSED: [&str; 13] = [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "propertyNames",
];

/// The adapted schema, and the keywords that were removed.
pub(super) fn accepted(schema: &Value) -> (Value, Vec<String>) {
    let mut schema = schema.clone();
    let mut left_out = Vec::new();
    accept(&mut schema, &mut left_out);
    (schema, left_out)
}

fn accept(schema: &mut Value, left_out: &mut Vec<String>) {
    let Value::Object(fields) = schema else { return };
    let mut leave_out = |word: &str| {
        if !left_out.iter().any(|known| known == word) {
            left_out.push(word.to_owned());
        }
    };
    for word in REFUSED {
        if fields.shift_remove(word).is_some() {
            leave_out(word);
        }
    }
    // Only a `minItems` of 0 or 1 is accepted.
    if fields.get("minItems").and_then(Value::as_u64).is_some_and(|count| count > 1) {
        fields.insert("minItems".to_owned(), 1.into());
        leave_out("minItems");
    }
    if is_object(fields) {
        let open = fields.insert("additionalProperties".to_owned(), false.into());
        if open.is_some_and(|open| open != false) {
            leave_out("additionalProperties");
        }
    }
    for (key, value) in fields.iter_mut() {
        match (key.as_str(), value) {
            ("properties" | "$defs" | "definitions", Value::Object(schemas)) => {
                schemas.values_mut().for_each(|schema| accept(schema, left_out));
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(schemas)) => {
                schemas.iter_mut().for_each(|schema| accept(schema, left_out));
            }
            ("items", schema) => accept(schema, left_out),
            _ => {}
        }
    }
}

fn is_object(fields: &Map<String, Value>) -> bool {
    let says_object = match fields.get("type") {
        Some(Value::String(kind)) => kind == "object",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
        _ => false,
    };
    says_object || fields.contains_key("properties")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn nested_objects_are_closed_and_limits_removed() {
        let (schema, left_out) = accepted(&json!({
            "type": "object",
            "properties": {
                "minimum": { "type": "integer", "minimum": 3 },
                "tags": { "type": "array", "minItems": 2, "items": { "$ref": "#/$defs/tag" } },
                "map": { "type": "object", "additionalProperties": { "type": "string" } },
            },
            "$defs": { "tag": { "type": ["object", "null"], "properties": { "a": { "type": "string", "maxLength": 9 } } } },
        }));
        assert_eq!(
            schema,
            json!({
                "type": "object",
                "properties": {
                    "minimum": { "type": "integer" },
                    "tags": { "type": "array", "minItems": 1, "items": { "$ref": "#/$defs/tag" } },
                    "map": { "type": "object", "additionalProperties": false },
                },
                "$defs": { "tag": {
                    "type": ["object", "null"], "properties": { "a": { "type": "string" } },
                    "additionalProperties": false,
                } },
                "additionalProperties": false,
            })
        );
        assert_eq!(left_out, ["minimum", "minItems", "additionalProperties", "maxLength"]);
    }
}
