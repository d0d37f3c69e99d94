//! Texts and JSON values with placeholders.

use std::{fmt::Write as _, sync::Arc};

use serde::Deserialize;
use serde_json::Value;

use super::situation::Situation;

/// A text with the placeholders `{input}`, `{turn}`, `{attempt}` and `{tool.NAME}`. Other braces are literal,
/// and `{{input}}` yields `{input}`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub(super) struct ScriptTemplate(Vec<TemplatePiece>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum TemplatePiece {
    Text(Arc<str>),
    Placeholder(Placeholder),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Placeholder {
    Input,
    Turn,
    Attempt,
    Tool(String),
}

impl Placeholder {
    fn parse(name: &str) -> Option<Self> {
        match name {
            "input" => Some(Self::Input),
            "turn" => Some(Self::Turn),
            "attempt" => Some(Self::Attempt),
            other => other.strip_prefix("tool.").map(|tool| Self::Tool(tool.to_owned())),
        }
    }

    fn write(&self, out: &mut String, situation: &Situation<'_>) {
        // Writing to a string cannot fail.
        let _ = match self {
            Self::Input => out.write_str(&situation.input()),
            Self::Turn => write!(out, "{}", situation.turn()),
            Self::Attempt => write!(out, "{}", situation.attempt()),
            Self::Tool(name) => out.write_str(situation.last_result(name).as_deref().unwrap_or_default()),
        };
    }
}

impl ScriptTemplate {
    pub(super) fn new(text: &str) -> Self {
        let mut pieces = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('{') {
            let (before, from) = rest.split_at(at);
            literal.push_str(before);
            let place = from
                .get(1..)
                .and_then(|inner| inner.split_once('}'))
                .and_then(|(name, after)| Some((name, Placeholder::parse(name)?, after)));
            let escaped = from
                .strip_prefix("{{")
                .and_then(|inner| inner.split_once("}}"))
                .filter(|(name, _)| Placeholder::parse(name).is_some());
            if let Some((name, after)) = escaped {
                literal.push('{');
                literal.push_str(name);
                literal.push('}');
                rest = after;
            } else if let Some((_, place, after)) = place {
                if !literal.is_empty() {
                    pieces.push(TemplatePiece::Text(std::mem::take(&mut literal).into()));
                }
                pieces.push(TemplatePiece::Placeholder(place));
                rest = after;
            } else {
                literal.push('{');
                rest = from.get(1..).unwrap_or_default();
            }
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            pieces.push(TemplatePiece::Text(literal.into()));
        }
        Self(pieces)
    }

    fn is_fixed(&self) -> bool {
        !self.0.iter().any(|piece| matches!(piece, TemplatePiece::Placeholder(_)))
    }

    /// The text for a request. A text without placeholders is shared, not copied.
    pub(super) fn fill(&self, situation: &Situation<'_>) -> Arc<str> {
        match self.0.as_slice() {
            [] => Arc::from(""),
            [TemplatePiece::Text(text)] => Arc::clone(text),
            pieces => {
                let mut out = String::new();
                for piece in pieces {
                    match piece {
                        TemplatePiece::Text(text) => out.push_str(text),
                        TemplatePiece::Placeholder(place) => place.write(&mut out, situation),
                    }
                }
                out.into()
            }
        }
    }
}

impl From<String> for ScriptTemplate {
    fn from(text: String) -> Self {
        Self::new(&text)
    }
}

/// A JSON value whose strings are templates.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(from = "Value")]
pub(super) struct JsonTemplate {
    value: Value,
    /// The serialized value, if it has no placeholders.
    fixed: Option<Arc<str>>,
}

impl JsonTemplate {
    /// The JSON text for a request.
    pub(super) fn fill(&self, situation: &Situation<'_>) -> Arc<str> {
        match &self.fixed {
            Some(text) => Arc::clone(text),
            None => self.fill_value(situation).to_string().into(),
        }
    }

    pub(super) fn fill_value(&self, situation: &Situation<'_>) -> Value {
        let mut value = self.value.clone();
        for_each_string(&mut value, &mut |text| {
            *text = ScriptTemplate::new(text).fill(situation).as_ref().to_owned();
        });
        value
    }
}

impl From<Value> for JsonTemplate {
    fn from(mut value: Value) -> Self {
        let mut is_fixed = true;
        // Strings with only escaped placeholders are not fixed either: they must be unescaped.
        for_each_string(&mut value, &mut |text| {
            is_fixed &= !text.contains('{') || (ScriptTemplate::new(text).is_fixed() && !text.contains("{{"));
        });
        let fixed = is_fixed.then(|| value.to_string().into());
        Self { value, fixed }
    }
}

fn for_each_string(value: &mut Value, visit: &mut dyn FnMut(&mut String)) {
    match value {
        Value::String(text) => visit(text),
        Value::Array(items) => items.iter_mut().for_each(|item| for_each_string(item, visit)),
        Value::Object(fields) => fields.values_mut().for_each(|field| for_each_string(field, visit)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ModelRequest;

    #[test]
    fn only_known_placeholders_are_filled() {
        let mut request = ModelRequest::new("Hi");
        request.attempt = 2;
        let situation = Situation::of(&request);
        let cases = [
            ("", ""),
            ("plain", "plain"),
            ("You said {input}, {turn}/{attempt}.", "You said Hi, 1/2."),
            (r#"{"a":{"b":1}}"#, r#"{"a":{"b":1}}"#),
            ("{{input}} is {input}", "{input} is Hi"),
            ("{unknown} {", "{unknown} {"),
            ("{tool.search}", ""),
            ("{{{input}}", "{{input}"),
        ];
        for (template, expected) in cases {
            assert_eq!(&*ScriptTemplate::new(template).fill(&situation), expected, "{template}");
        }
    }
}
