//! The fields of a form, from the JSON Schema of its answer, and the values that a person types.

use serde_json::{Map, Value, json};

/// How deep references of a schema are followed.
const DEPTH: usize = 8;

/// What a field takes.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum FieldKind {
    Text,
    Integer,
    Number,
    Switch,
    /// One of these values.
    Options(Vec<Value>),
    /// Values between commas.
    List(Box<FieldKind>),
    /// Anything else, as JSON.
    Json,
}

/// A field that is asked for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FormField {
    /// Its name in the object; the answer of a form without fields has none.
    pub(super) name: Option<String>,
    pub(super) description: Option<String>,
    pub(super) kind: FieldKind,
    pub(super) required: bool,
    pub(super) default: Option<Value>,
}

/// The fields of a schema, required or not, in its order.
pub(super) fn fields(schema: &Value) -> Vec<FormField> {
    let root = resolve(schema, schema, 0);
    let text = |of: &Value, name: &str| of.get(name).and_then(Value::as_str).map(str::to_owned);
    let Some(properties) = root.get("properties").and_then(Value::as_object).filter(|all| !all.is_empty())
    else {
        let kind = kind(root, schema, 0);
        return vec![FormField { name: None, description: None, kind, required: true, default: None }];
    };
    let required = root.get("required").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let field = |(name, property): (&String, &Value)| {
        let target = resolve(property, schema, 0);
        let described = |of: &Value| text(of, "description").or_else(|| text(of, "title"));
        FormField {
            description: described(property).or_else(|| described(target)),
            kind: kind(target, schema, 0),
            required: required.iter().any(|known| known == name),
            default: property.get("default").filter(|value| !value.is_null()).cloned(),
            name: Some(name.clone()),
        }
    };
    properties.iter().map(field).collect()
}

/// Follows `$ref`, and an `anyOf` with `null` beside one type.
fn resolve<'s>(schema: &'s Value, root: &'s Value, depth: usize) -> &'s Value {
    if depth > DEPTH {
        return schema;
    }
    if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
        let found = target.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        return found.map_or(schema, |found| resolve(found, root, depth + 1));
    }
    let any = schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Value::as_array);
    let mut choices =
        any.into_iter().flatten().filter(|one| one.get("type").is_none_or(|kind| kind != "null"));
    match (choices.next(), choices.next()) {
        (Some(only), None) => resolve(only, root, depth + 1),
        _ => schema,
    }
}

fn kind(schema: &Value, root: &Value, depth: usize) -> FieldKind {
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return FieldKind::Options(values.iter().filter(|value| !value.is_null()).cloned().collect());
    }
    if let Some(choices) = schema.get("oneOf").and_then(Value::as_array)
        && let Some(values) = choices.iter().map(|one| one.get("const").cloned()).collect::<Option<Vec<_>>>()
    {
        return FieldKind::Options(values);
    }
    let named = schema.get("type");
    let name = named.and_then(Value::as_str).or_else(|| {
        let mut names = named?.as_array()?.iter().filter_map(Value::as_str).filter(|name| *name != "null");
        names.next().filter(|_| names.next().is_none())
    });
    match name {
        Some("string") => FieldKind::Text,
        Some("integer") => FieldKind::Integer,
        Some("number") => FieldKind::Number,
        Some("boolean") => FieldKind::Switch,
        Some("array") if depth < DEPTH => match schema.get("items") {
            Some(items) => match kind(resolve(items, root, depth), root, depth + 1) {
                FieldKind::List(_) | FieldKind::Json => FieldKind::Json,
                one => FieldKind::List(Box::new(one)),
            },
            None => FieldKind::Json,
        },
        _ => FieldKind::Json,
    }
}

impl FieldKind {
    /// What to type, for people.
    pub(super) fn hint(&self) -> String {
        match self {
            Self::Text => "text".to_owned(),
            Self::Integer => "a whole number".to_owned(),
            Self::Number => "a number".to_owned(),
            Self::Switch => "yes or no".to_owned(),
            Self::Options(values) => {
                let values: Vec<_> = values.iter().map(super::object::summary).collect();
                format!("one of {}", values.join(", "))
            }
            Self::List(of) => format!("values between commas, each {}", of.hint()),
            Self::Json => "JSON".to_owned(),
        }
    }

    /// The value of a typed text.
    pub(super) fn read(&self, text: &str) -> Result<Value, String> {
        let trimmed = text.trim();
        let wrong = || format!("`{trimmed}` does not fit: type {}", self.hint());
        match self {
            Self::Text => Ok(json!(text)),
            Self::Integer => trimmed.parse::<i64>().map(Value::from).map_err(|_| wrong()),
            Self::Number => {
                let number = trimmed.parse::<f64>().ok().and_then(serde_json::Number::from_f64);
                number.map(Value::Number).ok_or_else(wrong)
            }
            Self::Switch => match trimmed.to_lowercase().as_str() {
                "y" | "yes" | "true" | "on" | "1" => Ok(json!(true)),
                "n" | "no" | "false" | "off" | "0" => Ok(json!(false)),
                _ => Err(wrong()),
            },
            Self::Options(values) => {
                let fits = |value: &&Value| super::object::summary(value).eq_ignore_ascii_case(trimmed);
                let nth = trimmed.parse::<usize>().ok().and_then(|number| values.get(number.checked_sub(1)?));
                values.iter().find(fits).or(nth).cloned().ok_or_else(wrong)
            }
            Self::List(of) => {
                let items = trimmed.split(',').map(str::trim).filter(|item| !item.is_empty());
                items.map(|item| of.read(item)).collect::<Result<Vec<_>, _>>().map(Value::Array)
            }
            Self::Json => serde_json::from_str(trimmed).map_err(|error| format!("this is not JSON: {error}")),
        }
    }
}

/// A form while it is filled in, one field after the other.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FormProgress {
    fields: Vec<FormField>,
    values: Vec<(String, Value)>,
    at: usize,
}

impl FormProgress {
    pub(super) fn new(schema: &Value) -> Self {
        Self { fields: fields(schema), values: Vec::new(), at: 0 }
    }

    /// The field that is asked for, its number and how many there are.
    pub(super) fn current(&self) -> Option<(&FormField, usize, usize)> {
        Some((self.fields.get(self.at)?, self.at + 1, self.fields.len()))
    }

    /// The fields that are filled in.
    pub(super) fn values(&self) -> &[(String, Value)] {
        &self.values
    }

    /// Takes the text for the current field. Gives the answer once all fields were asked for.
    pub(super) fn submit(&mut self, typed: &str) -> Result<Option<Value>, String> {
        let Some(field) = self.fields.get(self.at) else { return Ok(None) };
        let value = match (&field.default, typed.trim().is_empty()) {
            (Some(default), true) => Some(default.clone()),
            (None, true) if !field.required => None,
            (None, true) => return Err(format!("this field is required: type {}", field.kind.hint())),
            (_, false) => Some(field.kind.read(typed)?),
        };
        let Some(name) = &field.name else { return Ok(value) };
        self.values.extend(value.map(|value| (name.clone(), value)));
        self.at += 1;
        if self.at < self.fields.len() {
            return Ok(None);
        }
        Ok(Some(Value::Object(self.values.iter().cloned().collect::<Map<_, _>>())))
    }

    /// Begins again, after the server refused the answer.
    pub(super) fn restart(&mut self) {
        self.values.clear();
        self.at = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trip() -> Value {
        json!({
            "type": "object",
            "properties": {
                "city": { "type": "string", "description": "Where to" },
                "days": { "type": "integer", "default": 3 },
                "pace": { "$ref": "#/$defs/Pace" },
                "tags": { "type": "array", "items": { "type": "string" } },
                "guide": { "anyOf": [{ "type": "boolean" }, { "type": "null" }] },
            },
            "required": ["city", "pace"],
            "$defs": { "Pace": { "type": "string", "enum": ["slow", "fast"] } },
        })
    }

    #[test]
    fn form_asks_for_one_field_after_the_other() {
        let mut form = FormProgress::new(&trip());
        assert_eq!(form.submit(""), Err("this field is required: type text".into()));
        assert_eq!(form.submit("Oslo"), Ok(None));
        assert_eq!(form.current().map(|(_, at, of)| (at, of)), Some((2, 5)));
        assert_eq!(form.submit("many"), Err("`many` does not fit: type a whole number".into()));
        assert_eq!(form.submit(""), Ok(None));
        assert_eq!(form.submit("medium"), Err("`medium` does not fit: type one of slow, fast".into()));
        assert_eq!(form.submit("2"), Ok(None));
        assert_eq!(form.submit("food, sea"), Ok(None));
        let answer =
            json!({ "city": "Oslo", "days": 3, "pace": "fast", "tags": ["food", "sea"], "guide": true });
        assert_eq!(form.submit("yes"), Ok(Some(answer)));
    }

    #[test]
    fn schemas_without_fields_take_one_value() {
        let mut form = FormProgress::new(&json!({ "type": ["number", "null"] }));
        assert_eq!(form.submit("2.5"), Ok(Some(json!(2.5))));
        let mut form = FormProgress::new(&json!(true));
        assert!(form.submit("{").unwrap_err().starts_with("this is not JSON"));
        assert_eq!(form.submit("[1]"), Ok(Some(json!([1]))));
    }

    #[test]
    fn circular_references_end() {
        let schema = json!({ "$ref": "#/$defs/A", "$defs": { "A": { "$ref": "#/$defs/A" } } });
        assert_eq!(fields(&schema).len(), 1);
    }
}
