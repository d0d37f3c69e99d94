//! Templates and expressions: texts with places for what a run knows, checked when the file is read.

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
    place::{Place, Placed, Source},
};
use crate::{Cx, Error, Result, error::ErrorKind};

/// What a template may name.
pub(super) const NAMES: [&str; 8] =
    ["input", "data", "state", "shared", "context", "client", "run", "session"];
/// What only the template of a run's result may name: what its node gave.
pub(super) const OUTPUT: &str = "output";
/// What the engine itself brings along.
const FUNCTIONS: [&str; 3] = ["range", "dict", "namespace"];
/// How many steps a template may take: far more than a prompt needs, and few enough to end soon.
const FUEL: u64 = 1_000_000;

static ENGINE: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut engine = Environment::new();
    engine.set_undefined_behavior(UndefinedBehavior::Strict);
    // The texts are for models and people, not for a browser.
    engine.set_auto_escape_callback(|_| AutoEscape::None);
    engine.set_fuel(Some(FUEL));
    engine.set_keep_trailing_newline(true);
    engine
});

/// A text with places: `Hello {{ data.name }}`.
#[derive(Debug, Clone)]
pub(super) struct Template(Placed<String>);

/// A value that is computed: `data.total > 100`.
#[derive(Debug, Clone)]
pub(super) struct Expression(Placed<String>);

/// A JSON value whose texts are templates. A text that is one place and nothing else gives what stands there, not a text.
#[derive(Debug, Clone)]
pub(super) struct ValueTemplate(Placed<Value>);

/// What the templates of a node see.
pub(super) struct Scope(minijinja::Value);

/// The names that a node's templates may use. The contexts are parsed only when a template asks for them: they are as
/// large as a client likes.
#[derive(Debug)]
struct Names {
    cx: Cx,
    data: minijinja::Value,
    state: minijinja::Value,
    context: OnceLock<minijinja::Value>,
    client: OnceLock<minijinja::Value>,
}

impl Object for Names {
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

impl Scope {
    pub(super) fn of(cx: &Cx) -> Self {
        Self(minijinja::Value::from_object(Names {
            data: minijinja::Value::from_serialize(cx.data()),
            state: minijinja::Value::from_serialize(cx.node.all_workflow_state()),
            cx: cx.clone(),
            context: OnceLock::new(),
            client: OnceLock::new(),
        }))
    }

    /// The same, and what the node gave.
    pub(super) fn with_output(&self, output: &Value) -> Self {
        let output = minijinja::Value::from_serialize(output);
        Self(minijinja::context! { output, ..self.0.clone() })
    }
}

impl Template {
    pub(super) fn render(&self, source: &Source, scope: &Scope) -> Result<String> {
        render(&self.0.value, scope).map_err(|error| failed(source, &self.0, &error, 0))
    }

    pub(super) fn check(&self, source: &Source, errors: &mut Vec<FileError>) {
        check(&self.0, &self.0.value, 0, source, &[], errors);
    }
}

impl Expression {
    pub(super) fn eval(&self, source: &Source, scope: &Scope) -> Result<Value> {
        // As a template it tells where it failed; an expression does not.
        let place = |error| {
            let error = render(&braced(&self.0.value), scope).err().unwrap_or(error);
            failed(source, &self.0, &error, BRACES)
        };
        eval(&self.0.value, scope).map_err(place)
    }

    pub(super) fn is_true(&self, source: &Source, scope: &Scope) -> Result<bool> {
        Ok(match self.eval(source, scope)? {
            Value::Null => false,
            Value::Bool(yes) => yes,
            Value::Number(number) => number.as_f64() != Some(0.0),
            Value::String(text) => !text.is_empty(),
            Value::Array(items) => !items.is_empty(),
            Value::Object(fields) => !fields.is_empty(),
        })
    }

    pub(super) fn check(&self, source: &Source, errors: &mut Vec<FileError>) {
        // By itself first: braces in it must not end the template that it is made below.
        if let Err(error) = ENGINE.compile_expression(&self.0.value) {
            let place = place_in(source, &self.0, &error, 0);
            errors.push(FileError::new(FileErrorKind::Template, source, place, said(&error)));
            return;
        }
        check(&self.0, &braced(&self.0.value), BRACES, source, &[], errors);
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0.value
    }
}

impl ValueTemplate {
    pub(super) fn fill(&self, source: &Source, scope: &Scope) -> Result<Value> {
        let mut value = self.0.value.clone();
        self.each(&mut value, &mut |text| {
            let filled = match only_place(text) {
                Some(expression) => eval(expression, scope),
                None => render(text, scope).map(Value::String),
            };
            filled.map_err(|error| self.failed(source, text, &error))
        })?;
        Ok(value)
    }

    /// Checks it; `more` may be named beside what every template may.
    pub(super) fn check(&self, source: &Source, more: &[&str], errors: &mut Vec<FileError>) {
        let mut value = self.0.value.clone();
        let _ = self.each(&mut value, &mut |text| {
            let place = self.place_of(source, text);
            let placed = Placed { value: text.to_owned(), place };
            check(&placed, text, 0, source, more, errors);
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

    /// A value in a value has no place of its own: it is looked for where the whole begins.
    fn place_of(&self, source: &Source, text: &str) -> Place {
        let after = source.text.get(self.0.place.start..).unwrap_or_default();
        after
            .find(text)
            .map_or(self.0.place, |at| Place::of(&source.text, self.0.place.start + at, text.len()))
    }

    fn failed(&self, source: &Source, text: &str, error: &minijinja::Error) -> Error {
        let placed = Placed { value: text.to_owned(), place: self.place_of(source, text) };
        failed(source, &placed, error, 0)
    }
}

fn render(text: &str, scope: &Scope) -> Result<String, minijinja::Error> {
    ENGINE.template_from_str(text)?.render(&scope.0)
}

fn eval(expression: &str, scope: &Scope) -> Result<Value, minijinja::Error> {
    let value = ENGINE.compile_expression(expression)?.eval(&scope.0)?;
    if value.is_undefined() {
        return Err(minijinja::ErrorKind::UndefinedError.into());
    }
    serde_json::to_value(&value).map_err(|error| {
        minijinja::Error::new(minijinja::ErrorKind::BadSerialization, format!("it is no JSON value: {error}"))
    })
}

/// How far an expression is moved when it is made a template.
const BRACES: usize = "{{ ".len();

fn braced(expression: &str) -> String {
    format!("{{{{ {expression} }}}}")
}

/// The expression of a text that is one place and nothing else.
fn only_place(text: &str) -> Option<&str> {
    let inner = text.trim().strip_prefix("{{")?.strip_suffix("}}")?;
    (!inner.contains("{{") && !inner.contains("}}")).then(|| inner.trim_matches('-').trim())
}

/// Compiles a template, and looks for names that nothing stands for.
fn check(
    placed: &Placed<String>,
    template: &str,
    moved: usize,
    source: &Source,
    more: &[&str],
    errors: &mut Vec<FileError>,
) {
    let compiled = match ENGINE.template_from_str(template) {
        Ok(compiled) => compiled,
        Err(error) => {
            let place = place_in(source, placed, &error, moved);
            errors.push(FileError::new(FileErrorKind::Template, source, place, said(&error)));
            return;
        }
    };
    let mut undeclared: Vec<_> = compiled.undeclared_variables(false).into_iter().collect();
    undeclared.sort_unstable();
    let known = || NAMES.into_iter().chain(more.iter().copied());
    for name in undeclared {
        if known().chain(FUNCTIONS).any(|known| known == name) {
            continue;
        }
        let at = find_word(&placed.value, &name, moved == 0);
        let place = at.map_or(placed.place, |at| part(source, placed, at, name.len()));
        let message = super::error::unknown("name", &name, known());
        errors.push(FileError::new(FileErrorKind::Template, source, place, message));
    }
}

/// What became of a template in a run.
fn failed(source: &Source, placed: &Placed<String>, error: &minijinja::Error, moved: usize) -> Error {
    let place = place_in(source, placed, error, moved);
    let named = error
        .range()
        .and_then(|range| placed.value.get(range.start.checked_sub(moved)?..range.end.checked_sub(moved)?));
    let about = named.map(|text| format!(" in `{}`", text.trim())).unwrap_or_default();
    let file = FileError::new(FileErrorKind::Template, source, place, format!("{}{about}", said(error)));
    Error::new(ErrorKind::Node, file.to_string()).with_code("template.failed")
}

fn said(error: &minijinja::Error) -> String {
    match error.detail() {
        Some(detail) => format!("{}: {detail}", error.kind()),
        None => error.kind().to_string(),
    }
}

fn place_in(source: &Source, placed: &Placed<String>, error: &minijinja::Error, moved: usize) -> Place {
    let range = error.range().map(|range| (range.start.checked_sub(moved), range.len()));
    match range {
        Some((Some(start), length)) => part(source, placed, start.min(placed.value.len()), length),
        _ => placed.place,
    }
}

impl<'de> Deserialize<'de> for Template {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Placed::deserialize(deserializer).map(Self)
    }
}

impl<'de> Deserialize<'de> for Expression {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Placed::deserialize(deserializer).map(Self)
    }
}

impl<'de> Deserialize<'de> for ValueTemplate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Placed::deserialize(deserializer).map(Self)
    }
}

impl JsonSchema for Template {
    fn schema_name() -> Cow<'static, str> {
        "Template".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "A text with places: {{ input }}, {{ data.… }}, {{ state.… }}, {{ context.… }}, {{ client.… }}, {{ run }}, {{ session }}.",
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
            "description": "An expression over input, data, state, context, client, run and session: data.total > 100.",
        })
    }
}

impl JsonSchema for ValueTemplate {
    fn schema_name() -> Cow<'static, str> {
        "ValueTemplate".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({
            "description": "Any value. Its texts are templates; a text that is one {{ place }} and nothing else gives the value itself.",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_lone_place_gives_a_value() {
        assert_eq!(only_place("{{ data.items }}"), Some("data.items"));
        assert_eq!(only_place(" {{- 1 -}} "), Some("1"));
        assert_eq!(only_place("{{ a }}{{ b }}"), None);
        assert_eq!(only_place("x {{ a }}"), None);
    }
}
