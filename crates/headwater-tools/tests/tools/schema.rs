//! A schema reports where and how a value does not fit, and fetches nothing.

use headwater_tools::{
    ErrorKind, Mismatch, Schema,
    schemars::{self, JsonSchema},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

fn mismatches(schema: &Value, value: &Value) -> Vec<String> {
    let schema = Schema::new(schema.clone()).unwrap();
    schema.check(value).err().unwrap_or_default().iter().map(ToString::to_string).collect()
}

#[test]
fn mismatch_names_path_expected_and_actual_value() {
    let cases = [
        (json!({"type": "string"}), json!(7), "expected a string, got 7"),
        (json!({"type": ["string", "null"]}), json!([]), "expected a string or null, got an array"),
        (json!({"enum": ["a", "b"]}), json!("c"), r#"expected one of "a", "b", got "c""#),
        (json!({"const": 1}), json!(2), "expected 1, got 2"),
        (json!({"minimum": 3}), json!(2), "expected at least 3, got 2"),
        (json!({"exclusiveMaximum": 3}), json!(3), "expected less than 3, got 3"),
        (json!({"maxLength": 2}), json!("abc"), r#"expected 2 characters or fewer, got "abc""#),
        (json!({"minItems": 2}), json!([1]), "expected 2 items or more, got 1"),
        (json!({"uniqueItems": true}), json!([1, 1]), "expected every item to be different"),
        (json!({"pattern": "^a+$"}), json!("b"), r#"expected a text that matches ^a+$, got "b""#),
        (json!({"properties": {"a": false}}), json!({"a": 1}), "a: not allowed here"),
        (json!({"required": ["a b"]}), json!({}), r#"["a b"]: missing"#),
        (
            json!({"properties": {"rows": {"items": {"properties": {"0": {"type": "integer"}}}}}}),
            json!({"rows": [{}, {"0": "x"}]}),
            r#"rows[1].0: expected an integer, got "x""#,
        ),
        (
            json!({"properties": {"a/b": {"properties": {"~c": {"type": "null"}}}}}),
            json!({"a/b": {"~c": true}}),
            r#"["a/b"]["~c"]: expected null, got true"#,
        ),
        (
            json!({"additionalProperties": false, "properties": {"a": {}}}),
            json!({"a": 1, "z": 2}),
            "z: not a known property",
        ),
        (
            json!({"propertyNames": {"maxLength": 1}}),
            json!({"ab": 1}),
            r#"a property's name does not fit: expected 1 characters or fewer, got "ab""#,
        ),
    ];
    for (schema, value, expected) in cases {
        assert_eq!(mismatches(&schema, &value), [expected], "{schema} {value}");
    }
}

#[test]
fn every_mismatch_is_reported_and_nothing_else() {
    let schema = json!({
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "array", "items": {"type": "integer"}}, "c": {}},
        "required": ["a", "c"],
        "additionalProperties": false,
    });
    let lines = mismatches(&schema, &json!({"a": 1, "b": [1, "2", 3, null], "d": 0}));
    let expected = [
        "a: expected a string, got 1",
        "b[1]: expected an integer, got \"2\"",
        "b[3]: expected an integer, got null",
        "c: missing",
        "d: not a known property",
    ];
    let mut sorted = lines.clone();
    sorted.sort();
    assert_eq!(sorted, expected);
    assert!(mismatches(&schema, &json!({"a": "", "c": {}})).is_empty());
}

#[test]
fn long_list_of_mismatches_is_truncated_with_a_count() {
    let schema = json!({"items": {"type": "string"}});
    let wrong: Vec<u32> = (0..1000).collect();
    let lines = mismatches(&schema, &json!(wrong));
    assert_eq!(lines.len(), Mismatch::LIMIT + 1);
    assert_eq!(lines.last().unwrap(), "and 980 more");
    let long = mismatches(&json!({"type": "null"}), &json!("ä".repeat(100_000)));
    assert!(long[0].chars().count() < 100, "{}", long[0]);
    assert!(long[0].ends_with('…'));
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Shape {
    Circle { radius: f64 },
    Square { side: f64 },
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Drawing {
    name: Option<String>,
    background: Option<Shape>,
    shapes: Vec<Shape>,
}

#[test]
fn mismatch_describes_the_intended_alternative() {
    let schema = Schema::of::<Drawing>().unwrap();
    let lines = |value: Value| {
        let mismatches = schema.check(&value).err().unwrap_or_default();
        mismatches.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(
        lines(json!({"shapes": [{"kind": "circle", "radius": 1.5}], "name": null})),
        Vec::<String>::new()
    );
    assert_eq!(
        lines(json!({"shapes": [{"kind": "circle", "radius": "1"}]})),
        ["shapes[0].radius: expected a number, got \"1\""]
    );
    assert_eq!(lines(json!({"shapes": [{"kind": "square"}]})), ["shapes[0].side: missing"]);
    assert_eq!(
        lines(json!({"shapes": [{"kind": "star"}]})),
        ["shapes[0]: fits none of the 2 allowed shapes, got an object"]
    );
    assert_eq!(
        lines(json!({"shapes": [], "background": 3})),
        ["background: expected an object or null, got 3"]
    );
    assert_eq!(lines(json!({"shapes": [], "name": 3})), ["name: expected a string or null, got 3"]);
}

#[test]
fn external_reference_is_refused_and_not_fetched() {
    for reference in ["https://example.com/a.json", "file:///etc/passwd", "other.json"] {
        let error = Schema::new(json!({"properties": {"a": {"$ref": reference}}})).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Schema);
        let text = error.to_string();
        assert!(text.contains("is not fetched") && text.contains("$defs"), "{text}");
    }
    let error = Schema::new(json!({"$ref": "#/$defs/missing"})).unwrap_err();
    assert!(error.to_string().contains("unresolved reference"), "{error}");
    let inside = Schema::new(json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "null"}}})).unwrap();
    assert!(inside.check(&json!(null)).is_ok() && inside.check(&json!(1)).is_err());
}

#[test]
fn invalid_schema_is_refused_with_its_path() {
    let error = Schema::new(json!({"properties": {"a": {"type": "strnig"}}})).unwrap_err();
    assert!(error.to_string().starts_with("not a JSON Schema, at /properties/a/type: "), "{error}");
    assert!(Schema::new(json!(7)).is_err());
    assert!(Schema::new(json!({"pattern": "("})).is_err());
}

#[test]
fn older_drafts_are_supported_and_as_value_returns_the_original() {
    let draft_7 =
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "string"}]});
    let schema = Schema::new(draft_7.clone()).unwrap();
    assert_eq!(schema.as_value(), &draft_7);
    assert!(schema.check(&json!([1])).is_err());
    assert_eq!(schema.clone(), schema);
}

#[test]
fn recursive_type_has_a_schema() {
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is wanted")]
    struct Tree {
        name: String,
        children: Vec<Tree>,
    }
    let schema = Schema::of::<Tree>().unwrap();
    let mismatches =
        schema.check(&json!({"name": "a", "children": [{"name": "b", "children": [{}]}]})).unwrap_err();
    let lines: Vec<String> = mismatches.iter().map(ToString::to_string).collect();
    assert_eq!(lines, ["children[0].children[0].name: missing", "children[0].children[0].children: missing"]);
}
