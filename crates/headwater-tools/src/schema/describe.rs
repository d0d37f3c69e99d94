//! Turns a validator's errors into mismatches that models and developers can act on.

use jsonschema::{
    ErrorIterator, JsonType, ValidationError,
    error::{TypeKind, ValidationErrorKind as Kind},
};
use serde_json::Value;

use super::Mismatch;

/// The mismatches of a value, up to the limit.
pub(super) fn collect(errors: ErrorIterator<'_>, root: &Value) -> Vec<Mismatch> {
    let mut mismatches = Vec::new();
    let mut more = 0;
    for error in errors {
        if mismatches.len() < Mismatch::LIMIT {
            describe(&error, root, &mut mismatches);
        } else {
            more += 1;
        }
    }
    // A failed check must report at least one mismatch.
    if mismatches.is_empty() {
        mismatches.push(Mismatch::new(String::new(), "does not fit the schema"));
    }
    more += mismatches.len().saturating_sub(Mismatch::LIMIT);
    if more > 0 {
        mismatches.truncate(Mismatch::LIMIT);
        mismatches.push(Mismatch::new(String::new(), format!("and {more} more")));
    }
    mismatches
}

fn describe(error: &ValidationError<'_>, root: &Value, out: &mut Vec<Mismatch>) {
    let path = readable(error.instance_path().as_str(), root);
    let got = || abbreviate(error.instance());
    let message = match error.kind() {
        Kind::Required { property } => {
            return out.push(Mismatch::new(joined(path, property.as_str().unwrap_or_default()), "missing"));
        }
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            let unknown = |name: &String| Mismatch::new(joined(path.clone(), name), "not a known property");
            return out.extend(unexpected.iter().map(unknown));
        }
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            return describe_choice(error, context, root, out);
        }
        Kind::OneOfMultipleValid { .. } => {
            "fits more than one of the allowed shapes, but must fit exactly one".to_owned()
        }
        Kind::Type { kind } => format!("expected {}, got {}", types(kind), got()),
        Kind::Enum { options } => format!("expected one of {}, got {}", listed(options), got()),
        Kind::Constant { expected_value } => {
            format!("expected {}, got {}", abbreviate(expected_value), got())
        }
        Kind::Minimum { limit } => format!("expected at least {limit}, got {}", got()),
        Kind::Maximum { limit } => format!("expected at most {limit}, got {}", got()),
        Kind::ExclusiveMinimum { limit } => format!("expected more than {limit}, got {}", got()),
        Kind::ExclusiveMaximum { limit } => format!("expected less than {limit}, got {}", got()),
        Kind::MultipleOf { multiple_of } => format!("expected a multiple of {multiple_of}, got {}", got()),
        Kind::MinLength { limit } => format!("expected {limit} characters or more, got {}", got()),
        Kind::MaxLength { limit } => format!("expected {limit} characters or fewer, got {}", got()),
        Kind::MinItems { limit } => {
            format!("expected {limit} items or more, got {}", length(error.instance()))
        }
        Kind::MaxItems { limit } => {
            format!("expected {limit} items or fewer, got {}", length(error.instance()))
        }
        Kind::MinProperties { limit } => {
            format!("expected {limit} properties or more, got {}", length(error.instance()))
        }
        Kind::MaxProperties { limit } => {
            format!("expected {limit} properties or fewer, got {}", length(error.instance()))
        }
        Kind::Pattern { pattern } => format!("expected a text that matches {pattern}, got {}", got()),
        Kind::Format { format } => format!("expected a text in the format \"{format}\", got {}", got()),
        Kind::UniqueItems => "expected every item to be different".to_owned(),
        Kind::FalseSchema => "not allowed here".to_owned(),
        Kind::PropertyNames { error } => {
            format!("a property's name does not fit: {}", first_line(error, root))
        }
        other => format!("does not fit \"{}\"", other.keyword()),
    };
    out.push(Mismatch::new(path, message));
}

/// Describes the mismatch of the intended alternative, if it can be determined: all others differ in their
/// type or in the constant that distinguishes the alternatives.
fn describe_choice(
    error: &ValidationError<'_>,
    shapes: &[Vec<ValidationError<'static>>],
    root: &Value,
    out: &mut Vec<Mismatch>,
) {
    let here = error.instance_path().as_str();
    let other_constant = |error: &ValidationError<'_>| {
        let below =
            error.instance_path().as_str().strip_prefix(here).and_then(|below| below.strip_prefix('/'));
        matches!(error.kind(), Kind::Constant { .. } | Kind::Enum { .. })
            && below.is_some_and(|below| !below.contains('/'))
    };
    let another = |error| expected_types(error, here).is_some() || other_constant(error);
    let mut meant = shapes.iter().filter(|errors| !errors.iter().any(another));
    if let (Some(errors), None) = (meant.next(), meant.next()) {
        return errors.iter().for_each(|error| describe(error, root, out));
    }
    let got = abbreviate(error.instance());
    let message = match expected_types(error, here) {
        Some(types) => format!("expected {}, got {got}", types.join(" or ")),
        None => format!("fits none of the {} allowed shapes, got {got}", shapes.len()),
    };
    out.push(Mismatch::new(readable(here, root), message));
}

/// The types expected at this path, if only the type is wrong.
fn expected_types(error: &ValidationError<'_>, here: &str) -> Option<Vec<String>> {
    match error.kind() {
        Kind::Type { kind } if error.instance_path().as_str() == here => Some(vec![types(kind)]),
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            let mut all = Vec::new();
            for errors in context {
                let expected = errors.iter().find_map(|error| expected_types(error, here))?;
                let new = expected.into_iter().filter(|name| !all.contains(name)).collect::<Vec<_>>();
                all.extend(new);
            }
            Some(all)
        }
        _ => None,
    }
}

fn first_line(error: &ValidationError<'_>, root: &Value) -> String {
    let mut lines = Vec::new();
    describe(error, root, &mut lines);
    lines.first().map(|line| line.message.clone()).unwrap_or_default()
}

/// Converts `/bullets/2/title` to `bullets[2].title`. The value distinguishes an index from a numeric key.
fn readable(pointer: &str, root: &Value) -> String {
    let mut path = String::new();
    let mut place = Some(root);
    for segment in pointer.split('/').skip(1) {
        let key = segment.replace("~1", "/").replace("~0", "~");
        place = match place {
            Some(Value::Array(items)) => {
                path.push_str(&format!("[{key}]"));
                key.parse().ok().and_then(|index: usize| items.get(index))
            }
            other => {
                path = joined(path, &key);
                other.and_then(|value| value.get(&key))
            }
        };
    }
    path
}

fn joined(path: String, key: &str) -> String {
    let plain = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '$'));
    match (plain, path.is_empty()) {
        (true, true) => key.to_owned(),
        (true, false) => format!("{path}.{key}"),
        (false, _) => format!("{path}[{}]", abbreviate(&Value::from(key))),
    }
}

fn types(kind: &TypeKind) -> String {
    let named = |kind: JsonType| match kind {
        JsonType::Null => "null",
        JsonType::Boolean => "true or false",
        JsonType::Integer => "an integer",
        JsonType::Number => "a number",
        JsonType::String => "a string",
        JsonType::Array => "an array",
        JsonType::Object => "an object",
    };
    match kind {
        TypeKind::Single(kind) => named(*kind).to_owned(),
        TypeKind::Multiple(kinds) => {
            let (nulls, others): (Vec<_>, Vec<_>) = kinds.iter().partition(|kind| *kind == JsonType::Null);
            others.into_iter().chain(nulls).map(named).collect::<Vec<_>>().join(" or ")
        }
    }
}

/// A short form of a value: long values are truncated, nested ones only named.
fn abbreviate(value: &Value) -> String {
    const LONGEST: usize = 40;
    match value {
        Value::String(text) if text.chars().count() > LONGEST => {
            let start: String = text.chars().take(LONGEST).collect();
            format!("{}…", Value::from(start))
        }
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        other => other.to_string(),
    }
}

fn listed(options: &Value) -> String {
    const MOST: usize = 12;
    let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
    let mut list = options.iter().take(MOST).map(abbreviate).collect::<Vec<_>>().join(", ");
    if options.len() > MOST {
        list.push_str(&format!(" and {} more", options.len() - MOST));
    }
    list
}

fn length(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.len(),
        Value::Object(properties) => properties.len(),
        _ => 0,
    }
}
