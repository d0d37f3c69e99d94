//! TypeScript types from a JSON Schema, as far as the schema of the native wire goes.

use std::fmt::Write as _;

use serde_json::{Map, Value};

const HEAD: &str = "\
// The native wire of Headwater: see docs/native.md.
// Written from the Rust types by `HEADWATER_BLESS=1 cargo nextest run -p xtask`; do not edit it.
";

/// A module with a type for the root of the schema and for each of its definitions.
pub(crate) fn write(schema: &Value) -> String {
    let mut out = String::from(HEAD);
    let root = (schema["title"].as_str().unwrap(), schema);
    let definitions =
        schema["$defs"].as_object().unwrap().iter().map(|(name, schema)| (name.as_str(), schema));
    for (name, schema) in [root].into_iter().chain(definitions) {
        out.push('\n');
        comment(schema, "", &mut out);
        let _ = writeln!(out, "export type {name} ={};", expression(schema, ""));
    }
    out
}

fn comment(schema: &Value, indent: &str, out: &mut String) {
    let Some(text) = schema.get("description").and_then(Value::as_str) else { return };
    let text = text.replace("*/", "*\\/");
    let lines: Vec<_> = text.lines().collect();
    match lines.as_slice() {
        [line] => {
            let _ = writeln!(out, "{indent}/** {line} */");
        }
        lines => {
            let _ = writeln!(out, "{indent}/**");
            for line in lines {
                let _ = writeln!(out, "{}", format!("{indent} * {line}").trim_end());
            }
            let _ = writeln!(out, "{indent} */");
        }
    }
}

/// The type with a space or a line break before it.
fn expression(schema: &Value, indent: &str) -> String {
    let Some(schema) = schema.as_object() else { return " unknown".to_owned() };
    let mut parts = Vec::new();
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        parts.push(object(properties, schema.get("required"), indent));
    }
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        parts.push(format!(" {}", reference.rsplit('/').next().unwrap_or_default()));
    }
    if let Some(members) = ["oneOf", "anyOf"].iter().find_map(|key| schema.get(*key)?.as_array()) {
        let union = union(members, indent);
        parts.push(if parts.is_empty() { union } else { format!(" ({union}\n{indent})") });
    }
    if let Some(value) = schema.get("const") {
        parts.push(format!(" {value}"));
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let values: Vec<_> = values.iter().map(Value::to_string).collect();
        parts.push(format!(" {}", values.join(" | ")));
    }
    if parts.is_empty() {
        parts.push(plain(schema, indent));
    }
    parts.join(" &")
}

fn union(members: &[Value], indent: &str) -> String {
    let inner = format!("{indent}  ");
    let mut out = String::new();
    for member in members {
        out.push('\n');
        comment(member, &inner, &mut out);
        let _ = write!(out, "{inner}|{}", expression(member, &inner));
    }
    out
}

fn object(properties: &Map<String, Value>, required: Option<&Value>, indent: &str) -> String {
    let required = required.and_then(Value::as_array);
    // What only tells variants apart stays on one line.
    if let (1, Some((name, value))) = (properties.len(), properties.iter().next())
        && let Some(constant) = value.get("const")
    {
        return format!(" {{ {name}: {constant} }}");
    }
    let inner = format!("{indent}  ");
    let mut out = String::from(" {\n");
    for (name, schema) in properties {
        comment(schema, &inner, &mut out);
        let is_required = required.is_some_and(|required| required.iter().any(|it| it == name));
        let mark = if is_required { "" } else { "?" };
        let _ = writeln!(out, "{inner}{name}{mark}:{};", expression(schema, &inner));
    }
    out + indent + "}"
}

fn plain(schema: &Map<String, Value>, indent: &str) -> String {
    match schema.get("type") {
        Some(Value::String(name)) => match name.as_str() {
            "integer" | "number" => " number".to_owned(),
            "array" => {
                let items = schema.get("items").unwrap_or(&Value::Bool(true));
                format!(" Array<{}>", expression(items, indent).trim_start())
            }
            "object" => {
                let values = schema.get("additionalProperties").unwrap_or(&Value::Bool(true));
                format!(" Record<string,{}>", expression(values, indent))
            }
            other => format!(" {other}"),
        },
        Some(Value::Array(names)) => {
            let one = |name: &Value| {
                let mut one = schema.clone();
                one.insert("type".to_owned(), name.clone());
                plain(&one, indent)
            };
            names.iter().map(one).collect::<Vec<_>>().join(" |")
        }
        _ => " unknown".to_owned(),
    }
}
