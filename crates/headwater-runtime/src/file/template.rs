//! Templates and expressions: compiled and checked when the file is read, rendered during a run.

mod locate;

use std::{
    borrow::Cow,
    sync::{Arc, LazyLock, OnceLock},
};

use minijinja::{
    AutoEscape, Environment, UndefinedBehavior,
    value::{Enumerator, Object},
};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use locate::{find_word, part};

use super::{
    error::{FileError, FileErrorKind},
    span::{SourceText, TextSpan, WithSpan},
};
use crate::{Cx, Error, Result, error::ErrorKind};

/// The variables that every template may use.
pub(super) const NAMES: [&str; 8] =
    ["input", "data", "state", "shared", "context", "client", "run", "session"];
/// A variable only for the template of a run's result: the node's output.
pub(super) const OUTPUT: &str = "output";
/// The template engine's own functions.
const FUNCTIONS: [&str; 3] = ["range", "dict", "namespace"];
/// Maximum steps of a template: far more than a prompt needs, and few enough to end soon.
const FUEL: u64 = 1_000_000;

static ENGINE: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut engine = Environment::new();
    engine.set_undefined_behavior(UndefinedBehavior::Strict);
    // The texts go to models and people, not into HTML.
    engine.set_auto_escape_callback(|_| AutoEscape::None);
    engine.set_fuel(Some(FUEL));
    engine.set_keep_trailing_newline(true);
    engine
});

/// Renders URLs: placeholder values are percent-encoded.
static URL_ENGINE: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut engine = ENGINE.clone();
    engine.set_formatter(|out, _, value| {
        for byte in value.to_string().bytes() {
            let kept = byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
            let written = if kept { write!(out, "{}", char::from(byte)) } else { write!(out, "%{byte:02X}") };
            written?;
        }
        Ok(())
    });
    engine
});

/// A text with placeholders: `Hello {{ data.name }}`.
#[derive(Debug, Clone)]
pub(super) struct Template(WithSpan<String>);

/// An expression: `data.total > 100`.
#[derive(Debug, Clone)]
pub(super) struct Expression(WithSpan<String>);

/// A JSON value whose texts are templates. A text that is a single placeholder yields the value itself, not a
/// text.
#[derive(Debug, Clone)]
pub(super) struct ValueTemplate(WithSpan<Value>);

/// The variables of a node's templates.
pub(super) struct TemplateScope(minijinja::Value);

/// The variables of a node's templates. The contexts are parsed only when a template uses them, because
/// clients decide their size.
#[derive(Debug)]
struct TemplateNames {
    cx: Cx,
    data: minijinja::Value,
    state: minijinja::Value,
    context: OnceLock<minijinja::Value>,
    client: OnceLock<minijinja::Value>,
}

impl Object for TemplateNames {
    fn get_value(self: &Arc<Self>, key: &minijinja::Value) -> Option<minijinja::Value> {
        use minijinja::Value as V;
        let run = &self.cx.node.run;
        Some(match key.as_str()? {
            "input" => V::from(self.cx.input()),
            "data" => self.data.clone(),
            "state" => self.state.clone(),
            "shared" => V::from_serialize(self.cx.node.shared_state()),
            "context" => self.context.get_or_init(|| V::from_serialize(&**run.runtime_context())).clone(),
            "client" => self.client.get_or_init(|| V::from_serialize(run.client_context())).clone(),
            "run" => V::from(self.cx.run().as_str()),
            "session" => V::from(self.cx.session().map(headwater_protocol::SessionId::as_str)),
            _ => return None,
        })
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Str(&NAMES)
    }
}

impl TemplateScope {
    pub(super) fn of(cx: &Cx) -> Self {
        Self(minijinja::Value::from_object(TemplateNames {
            data: minijinja::Value::from_serialize(cx.data()),
            state: minijinja::Value::from_serialize(cx.node.all_workflow_state()),
            cx: cx.clone(),
            context: OnceLock::new(),
            client: OnceLock::new(),
        }))
    }

    /// The variable of the templates of a tool: the input of its call.
    pub(super) fn of_tool_input(input: &Value) -> Self {
        let input = minijinja::Value::from_serialize(input);
        Self(minijinja::context! { input })
    }

    /// The same variables plus the node's output.
    pub(super) fn with_output(&self, output: &Value) -> Self {
        let output = minijinja::Value::from_serialize(output);
        Self(minijinja::context! { output, ..self.0.clone() })
    }
}

impl Template {
    pub(super) fn text(&self) -> &str {
        &self.0.value
    }

    pub(super) fn span(&self) -> TextSpan {
        self.0.span
    }

    /// Renders a URL: placeholder values are percent-encoded, so that no input can add a path or a parameter.
    pub(super) fn render_url(&self, source: &SourceText, scope: &TemplateScope) -> Result<String> {
        let rendered =
            URL_ENGINE.template_from_str(&self.0.value).and_then(|template| template.render(&scope.0));
        rendered.map_err(|error| failed(source, &self.0, &error, 0))
    }

    /// Compiles it; only `names` are allowed as variables.
    pub(super) fn check_names(&self, source: &SourceText, names: &[&str], errors: &mut Vec<FileError>) {
        check(&self.0, &self.0.value, 0, source, names, errors);
    }

    pub(super) fn render(&self, source: &SourceText, scope: &TemplateScope) -> Result<String> {
        render(&self.0.value, scope).map_err(|error| failed(source, &self.0, &error, 0))
    }

    pub(super) fn check(&self, source: &SourceText, errors: &mut Vec<FileError>) {
        check(&self.0, &self.0.value, 0, source, &NAMES, errors);
    }
}

impl Expression {
    pub(super) fn eval(&self, source: &SourceText, scope: &TemplateScope) -> Result<Value> {
        // minijinja reports positions for templates but not for expressions.
        let span = |error| {
            let error = render(&braced(&self.0.value), scope).err().unwrap_or(error);
            failed(source, &self.0, &error, BRACES)
        };
        eval(&self.0.value, scope).map_err(span)
    }

    pub(super) fn is_true(&self, source: &SourceText, scope: &TemplateScope) -> Result<bool> {
        Ok(match self.eval(source, scope)? {
            Value::Null => false,
            Value::Bool(yes) => yes,
            Value::Number(number) => number.as_f64() != Some(0.0),
            Value::String(text) => !text.is_empty(),
            Value::Array(items) => !items.is_empty(),
            Value::Object(fields) => !fields.is_empty(),
        })
    }

    pub(super) fn check(&self, source: &SourceText, errors: &mut Vec<FileError>) {
        // Compiled on its own first: braces in it must not close the template that wraps it below.
        if let Err(error) = ENGINE.compile_expression(&self.0.value) {
            let span = span_in(source, &self.0, &error, 0);
            errors.push(FileError::new(FileErrorKind::Template, source, span, said(&error)));
            return;
        }
        check(&self.0, &braced(&self.0.value), BRACES, source, &NAMES, errors);
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0.value
    }
}

impl ValueTemplate {
    pub(super) fn fill(&self, source: &SourceText, scope: &TemplateScope) -> Result<Value> {
        let mut value = self.0.value.clone();
        self.each(&mut value, &mut |text| {
            let filled = match only_placeholder(text) {
                Some(expression) => eval(expression, scope),
                None => render(text, scope).map(Value::String),
            };
            filled.map_err(|error| self.failed(source, text, &error))
        })?;
        Ok(value)
    }

    /// Compiles it; `more` lists variables allowed beside the usual ones.
    pub(super) fn check(&self, source: &SourceText, more: &[&str], errors: &mut Vec<FileError>) {
        self.check_names(source, &[&NAMES, more].concat(), errors);
    }

    /// Compiles it; only `names` are allowed as variables.
    pub(super) fn check_names(&self, source: &SourceText, names: &[&str], errors: &mut Vec<FileError>) {
        let mut value = self.0.value.clone();
        let _ = self.each(&mut value, &mut |text| {
            let span = self.span_of(source, text);
            let text_span = WithSpan { value: text.to_owned(), span };
            check(&text_span, text, 0, source, names, errors);
            Ok(Value::Null)
        });
    }

    fn each(&self, value: &mut Value, visit: &mut dyn FnMut(&str) -> Result<Value>) -> Result<()> {
        match value {
            Value::String(text) if text.contains('{') => *value = visit(text)?,
            Value::Array(items) => items.iter_mut().try_for_each(|item| self.each(item, visit))?,
            Value::Object(fields) => fields.values_mut().try_for_each(|field| self.each(field, visit))?,
            _ => {}
        }
        Ok(())
    }

    /// A text inside a value has no position of its own, so it is searched for from the start of the value.
    fn span_of(&self, source: &SourceText, text: &str) -> TextSpan {
        let after = source.text.get(self.0.span.start..).unwrap_or_default();
        after
            .find(text)
            .map_or(self.0.span, |at| TextSpan::of(&source.text, self.0.span.start + at, text.len()))
    }

    fn failed(&self, source: &SourceText, text: &str, error: &minijinja::Error) -> Error {
        let text_span = WithSpan { value: text.to_owned(), span: self.span_of(source, text) };
        failed(source, &text_span, error, 0)
    }
}

fn render(text: &str, scope: &TemplateScope) -> Result<String, minijinja::Error> {
    ENGINE.template_from_str(text)?.render(&scope.0)
}

fn eval(expression: &str, scope: &TemplateScope) -> Result<Value, minijinja::Error> {
    let value = ENGINE.compile_expression(expression)?.eval(&scope.0)?;
    if value.is_undefined() {
        return Err(minijinja::ErrorKind::UndefinedError.into());
    }
    serde_json::to_value(&value).map_err(|error| {
        minijinja::Error::new(minijinja::ErrorKind::BadSerialization, format!("not a JSON value: {error}"))
    })
}

/// How far wrapping an expression as a template shifts its positions.
const BRACES: usize = "{{ ".len();

fn braced(expression: &str) -> String {
    format!("{{{{ {expression} }}}}")
}

/// The expression of a text that is a single placeholder.
fn only_placeholder(text: &str) -> Option<&str> {
    let inner = text.trim().strip_prefix("{{")?.strip_suffix("}}")?;
    (!inner.contains("{{") && !inner.contains("}}")).then(|| inner.trim_matches('-').trim())
}

/// Compiles a template and reports unknown variables.
fn check(
    text_span: &WithSpan<String>,
    template: &str,
    moved: usize,
    source: &SourceText,
    names: &[&str],
    errors: &mut Vec<FileError>,
) {
    let compiled = match ENGINE.template_from_str(template) {
        Ok(compiled) => compiled,
        Err(error) => {
            let span = span_in(source, text_span, &error, moved);
            errors.push(FileError::new(FileErrorKind::Template, source, span, said(&error)));
            return;
        }
    };
    let mut undeclared: Vec<_> = compiled.undeclared_variables(false).into_iter().collect();
    undeclared.sort_unstable();
    let known = || names.iter().copied();
    for name in undeclared {
        if known().chain(FUNCTIONS).any(|known| known == name) {
            continue;
        }
        let at = find_word(&text_span.value, &name, moved == 0);
        let span = at.map_or(text_span.span, |at| part(source, text_span, at, name.len()));
        let message = super::error::unknown("name", &name, known());
        errors.push(FileError::new(FileErrorKind::Template, source, span, message));
    }
}

/// The error of a template that failed in a run.
fn failed(
    source: &SourceText,
    text_span: &WithSpan<String>,
    error: &minijinja::Error,
    moved: usize,
) -> Error {
    let span = span_in(source, text_span, error, moved);
    let named = error.range().and_then(|range| {
        text_span.value.get(range.start.checked_sub(moved)?..range.end.checked_sub(moved)?)
    });
    let about = named.map(|text| format!(" in `{}`", text.trim())).unwrap_or_default();
    let file = FileError::new(FileErrorKind::Template, source, span, format!("{}{about}", said(error)));
    Error::new(ErrorKind::Node, file.to_string()).with_code("template.failed")
}

fn said(error: &minijinja::Error) -> String {
    match error.detail() {
        Some(detail) => format!("{}: {detail}", error.kind()),
        None => error.kind().to_string(),
    }
}

fn span_in(
    source: &SourceText,
    text_span: &WithSpan<String>,
    error: &minijinja::Error,
    moved: usize,
) -> TextSpan {
    let range = error.range().map(|range| (range.start.checked_sub(moved), range.len()));
    match range {
        Some((Some(start), length)) => part(source, text_span, start.min(text_span.value.len()), length),
        _ => text_span.span,
    }
}

impl<'de> Deserialize<'de> for Template {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        WithSpan::deserialize(deserializer).map(Self)
    }
}

impl<'de> Deserialize<'de> for Expression {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        WithSpan::deserialize(deserializer).map(Self)
    }
}

impl<'de> Deserialize<'de> for ValueTemplate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        WithSpan::deserialize(deserializer).map(Self)
    }
}

impl JsonSchema for Template {
    fn schema_name() -> Cow<'static, str> {
        "Template".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "A text with placeholders: {{ input }}, {{ data.… }}, {{ state.… }}, {{ context.… }}, {{ client.… }}, {{ run }}, {{ session }}.",
        })
    }
}

impl JsonSchema for Expression {
    fn schema_name() -> Cow<'static, str> {
        "Expression".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({
            "type": ["string", "boolean", "number"],
            "description": "An expression over input, data, state, shared, context, client, run and session: data.total > 100.",
        })
    }
}

impl JsonSchema for ValueTemplate {
    fn schema_name() -> Cow<'static, str> {
        "ValueTemplate".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({
            "description": "Any value. Its texts are templates; a text that is a single {{ placeholder }} gives the value itself.",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_single_placeholder_yields_a_value() {
        assert_eq!(only_placeholder("{{ data.items }}"), Some("data.items"));
        assert_eq!(only_placeholder(" {{- 1 -}} "), Some("1"));
        assert_eq!(only_placeholder("{{ a }}{{ b }}"), None);
        assert_eq!(only_placeholder("x {{ a }}"), None);
    }
}
