//! Checks one node: it has exactly one kind, and everything it refers to exists.

use headwater_json::{FieldKind, Fields};
use headwater_tools::Schema;
use serde_json::{Map, Value};

use super::{KnownNames, twice};
use crate::file::{
    error::{FileError, FileErrorKind},
    format::node::{
        FieldsText, InterruptText, NodeText, ReasonText, RouteText, StructuredText, ToolChoiceText,
    },
    span::{SourceText, WithSpan},
    template::OUTPUT,
};

/// The condition when a person declines.
pub(in crate::file) const DECLINED: &str = "declined";

/// The fields that define the kind of a node.
pub(in crate::file) fn kinds(node: &NodeText) -> Vec<&'static str> {
    let kinds = [
        ("reason", node.reason.is_some()),
        ("interrupt", node.interrupt.is_some()),
        ("structured", node.structured.is_some()),
        ("message", node.message.is_some()),
        ("route", node.route.is_some()),
        ("transition", node.transition.is_some()),
        ("wait", node.wait.is_some()),
        ("function", node.function.is_some()),
    ];
    kinds.into_iter().filter(|(_, there)| *there).map(|(kind, _)| kind).collect()
}

pub(super) fn one_kind(
    name: &WithSpan<String>,
    node: &NodeText,
    source: &SourceText,
    errors: &mut Vec<FileError>,
) {
    let message = match kinds(node).as_slice() {
        [_] => return,
        [] => format!(
            "node `{}` does nothing: give it one of reason, interrupt, structured, message, route, transition, wait, \
             function",
            name.value
        ),
        several => format!(
            "node `{}` does several things ({}): make it several nodes",
            name.value,
            several.join(", ")
        ),
    };
    errors.push(FileError::new(FileErrorKind::Value, source, name.span, message));
}

/// The conditions that a node can return; `None` if they are only known at run time.
pub(super) fn conditions(node: &NodeText) -> Option<Vec<&WithSpan<String>>> {
    if node.function.is_some() {
        return None;
    }
    if let Some(route) = &node.route {
        let route = &route.value;
        let cases = route.cases.iter().map(|case| &case.then);
        let among = route.among.0.iter().map(|(name, _)| name);
        return route.by.is_none().then(|| cases.chain(among).collect());
    }
    let Some(interrupt) = &node.interrupt else { return Some(Vec::new()) };
    let interrupt = &interrupt.value;
    if interrupt.declinable || interrupt.options_from.is_some() {
        return None;
    }
    Some(if interrupt.multiple {
        Vec::new()
    } else {
        interrupt.options.iter().map(|option| &option.id).collect()
    })
}

pub(super) fn check(
    node: &NodeText,
    source: &SourceText,
    known: &KnownNames<'_>,
    errors: &mut Vec<FileError>,
) {
    if let Some(reason) = &node.reason {
        check_reason(reason, source, known, errors);
    }
    if let Some(interrupt) = &node.interrupt {
        check_interrupt(interrupt, source, errors);
    }
    if let Some(structured) = &node.structured {
        check_structured(structured, source, errors);
    }
    if let Some(message) = &node.message {
        message.check(source, errors);
    }
    if let Some(route) = &node.route {
        check_route(route, source, known, errors);
    }
    if let Some(transition) = &node.transition {
        known.workflow(source, &transition.to, errors);
        if let Some(payload) = &transition.payload {
            payload.check(source, &[], errors);
        }
    }
    if let Some(function) = &node.function {
        known.function(source, function, errors);
    }
    if let Some(result) = &node.result {
        result.check(source, &[OUTPUT], errors);
    }
}

fn check_reason(
    reason: &ReasonText,
    source: &SourceText,
    known: &KnownNames<'_>,
    errors: &mut Vec<FileError>,
) {
    for model in [&reason.model].into_iter().chain(&reason.fallback) {
        known.model(source, model, errors);
    }
    let chosen = match &reason.tool_choice {
        Some(ToolChoiceText::Tool(name)) => Some(name),
        _ => None,
    };
    // The tools of an MCP server are only known once it is connected.
    let chosen = chosen.filter(|_| reason.mcp.is_empty());
    for tool in reason.tools.iter().chain(chosen) {
        known.tool(source, tool, errors);
    }
    for server in &reason.mcp {
        known.server(source, server, errors);
    }
    for server in twice(reason.mcp.iter()) {
        let message = format!("the MCP server `{}` is listed twice", server.value);
        errors.push(FileError::new(FileErrorKind::Value, source, server.span, message));
    }
    for template in reason.system.iter().chain(&reason.prompt) {
        template.check(source, errors);
    }
    check_schema(reason.schema.as_ref(), source, errors);
    if let Some(ask) = &reason.interrupt {
        check_schema(ask.request.as_ref(), source, errors);
        check_schema(ask.response.as_ref(), source, errors);
    }
    if let Some(structured) = &reason.structured {
        check_fields(structured, reason.schema.is_some(), source, errors);
    }
}

fn check_fields(
    fields: &WithSpan<FieldsText>,
    has_schema: bool,
    source: &SourceText,
    errors: &mut Vec<FileError>,
) {
    let mut wrong =
        |message: String| errors.push(FileError::new(FileErrorKind::Value, source, fields.span, message));
    if !has_schema {
        wrong("`structured` needs a `schema` for the object that the model writes".to_owned());
    }
    let text = &fields.value;
    let kinds =
        [(FieldKind::Set, &text.set), (FieldKind::Text, &text.text), (FieldKind::Append, &text.append)];
    let mut builder = Fields::builder();
    for (kind, paths) in kinds {
        for path in paths {
            builder = builder.field(kind, path);
        }
    }
    if let Err(error) = builder.build() {
        wrong(format!("the fields cannot be shown: {error}"));
    }
}

fn check_interrupt(interrupt: &WithSpan<InterruptText>, source: &SourceText, errors: &mut Vec<FileError>) {
    let text = &interrupt.value;
    text.ask.check(source, errors);
    for option in &text.options {
        option.label.check(source, errors);
        if let Some(description) = &option.description {
            description.check(source, errors);
        }
    }
    if let Some(options) = &text.options_from {
        options.check(source, errors);
    }
    for option in twice(text.options.iter().map(|option| &option.id)) {
        let message = format!("duplicate option `{}`", option.value);
        errors.push(FileError::new(FileErrorKind::Value, source, option.span, message));
    }
    let message = match (text.options.is_empty(), &text.options_from) {
        (false, Some(_)) => "use either `options` or `options_from`, not both",
        (true, None) if text.multiple => "`multiple` needs `options` or `options_from`",
        _ => return check_schema(text.response.as_ref(), source, errors),
    };
    errors.push(FileError::new(FileErrorKind::Value, source, interrupt.span, message));
}

fn check_structured(structured: &StructuredText, source: &SourceText, errors: &mut Vec<FileError>) {
    let StructuredText { stream, set, text, append, finish, .. } = structured;
    for template in stream.iter().chain(text.0.iter().map(|(_, template)| template)) {
        template.check(source, errors);
    }
    let values = set.0.iter().chain(&append.0).map(|(_, value)| value);
    for value in values.chain(finish) {
        value.check(source, &[], errors);
    }
}

fn check_route(
    route: &WithSpan<RouteText>,
    source: &SourceText,
    known: &KnownNames<'_>,
    errors: &mut Vec<FileError>,
) {
    let text = &route.value;
    if let Some(model) = &text.model {
        known.model(source, model, errors);
    }
    let expressions = text.by.iter().chain(text.cases.iter().filter_map(|case| case.when.as_ref()));
    for expression in expressions {
        expression.check(source, errors);
    }
    for template in text.system.iter().chain(&text.prompt) {
        template.check(source, errors);
    }
    let ways = [text.by.is_some(), !text.cases.is_empty(), text.model.is_some()];
    let message = if ways.into_iter().filter(|way| *way).count() != 1 {
        "a route needs exactly one of `by`, `cases` and `model`"
    } else if text.model.is_some() == text.among.0.is_empty() {
        "`model` and `among` must be used together: the model chooses among the conditions"
    } else if text.model.is_none() && (text.system.is_some() || text.prompt.is_some()) {
        "`system` and `prompt` need a `model`"
    } else if text.cases.iter().rev().skip(1).any(|case| case.when.is_none()) {
        "a case without `when` always holds: it must be the last"
    } else {
        return;
    };
    errors.push(FileError::new(FileErrorKind::Value, source, route.span, message));
}

fn check_schema(
    schema: Option<&WithSpan<Map<String, Value>>>,
    source: &SourceText,
    errors: &mut Vec<FileError>,
) {
    let Some(schema) = schema else { return };
    if let Err(error) = Schema::new(Value::Object(schema.value.clone())) {
        errors.push(FileError::new(FileErrorKind::Value, source, schema.span, error.to_string()));
    }
}
