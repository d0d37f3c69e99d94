//! The parts of a message as lines, other than its text.

use headwater_protocol::{
    Approval, DataEvent, Executor, FilePart, QuestionPart, QuestionState, SourcePart, ToolPart, ToolState,
};
use serde_json::Value;

use super::{
    markdown::MarkdownLook,
    object::{self, indented, summary},
    styled::StyledLine,
};
use crate::style::{BOLD, CYAN, DIM, GREEN, PLAIN, RED, YELLOW};

/// A tool call with its input, and its result in one line.
pub(super) fn tool(tool: &ToolPart, spinner: &str, look: MarkdownLook) -> Vec<StyledLine> {
    let (mark, style) = match tool.state {
        _ if tool.executor == Executor::Client && !tool.state.is_settled() => ("◦", YELLOW),
        ToolState::InputStreaming | ToolState::InputAvailable | ToolState::ApprovalResponded => {
            (spinner, CYAN)
        }
        ToolState::ApprovalRequested => ("?", YELLOW),
        ToolState::OutputAvailable if tool.preliminary => (spinner, CYAN),
        ToolState::OutputAvailable if tool.is_error => ("✗", RED),
        ToolState::OutputAvailable => ("✓", GREEN),
        ToolState::OutputError => ("✗", RED),
        ToolState::OutputDenied => ("⊘", YELLOW),
    };
    let mut head =
        StyledLine::of(style, mark).add(PLAIN, " ").add(BOLD, tool.title.as_deref().unwrap_or(&tool.name));
    if let Some(input) = tool.input_so_far().map(|input| summary(&input)).filter(|input| !input.is_empty()) {
        head.push(DIM, &format!("  {input}"));
    }
    let mut lines = vec![head.truncate(look.width)];
    lines.extend(tool_result(tool).map(|result| result.truncate(look.width)));
    lines
}

fn tool_result(tool: &ToolPart) -> Option<StyledLine> {
    let result = |style, text: &str| Some(StyledLine::dim("  └ ").add(style, text));
    let decision = |approval: &Approval| approval.reason.clone().filter(|reason| !reason.is_empty());
    match tool.state {
        ToolState::OutputAvailable => {
            let output = tool.structured.as_ref().or(tool.output.as_ref());
            let text = output.map(summary).filter(|text| !text.is_empty())?;
            result(if tool.is_error { RED } else { DIM }, &text)
        }
        ToolState::OutputError => result(RED, tool.error.as_deref().unwrap_or("failed")),
        ToolState::OutputDenied => match tool.approval.as_ref().and_then(decision) {
            Some(reason) => result(YELLOW, &format!("denied: {reason}")),
            None => result(YELLOW, "denied"),
        },
        _ if tool.executor == Executor::Client => result(YELLOW, "a tool of the page: not available here"),
        _ => None,
    }
}

/// A tool call in full: input and output as JSON.
pub(super) fn tool_details(tool: &ToolPart, look: MarkdownLook) -> Vec<StyledLine> {
    let mut lines = self::tool(tool, "…", look);
    lines.truncate(1);
    let json = |value: &Value| serde_json::to_string_pretty(value).unwrap_or_default();
    for (name, value) in [("input", tool.input_so_far()), ("output", tool.output.clone())] {
        let Some(value) = value else { continue };
        let within = StyledLine::plain(&json(&value)).wrap(look.width.saturating_sub(4));
        lines.push(StyledLine::dim(&format!("  {name}")));
        lines.extend(indented(within, "    "));
    }
    if let Some(error) = &tool.error {
        lines.extend(indented(StyledLine::of(RED, error).wrap(look.width.saturating_sub(2)), "  "));
    }
    lines
}

/// An object that is streamed.
pub(super) fn structured(
    data_type: &str,
    value: Option<&Value>,
    mark: &str,
    look: MarkdownLook,
) -> Vec<StyledLine> {
    let mut lines = vec![StyledLine::of(CYAN, mark).add(PLAIN, " ").add(BOLD, data_type)];
    let within = MarkdownLook { width: look.width.saturating_sub(2).max(16), ..look };
    lines.extend(indented(value.map(|value| object::lines(value, within)).unwrap_or_default(), "  "));
    lines
}

/// A question that was answered, or has expired.
pub(super) fn question(part: &QuestionPart, look: MarkdownLook) -> Vec<StyledLine> {
    let question = part.interrupt.question.as_deref().unwrap_or("The run asked.");
    let label = |value: &Value| {
        let known = part.interrupt.options.iter().find(|option| value == option.id.as_str());
        known.map_or_else(|| summary(value), |option| option.label.clone())
    };
    let answer = match (&part.answer, part.state) {
        (_, QuestionState::Expired) => "no answer in time".to_owned(),
        (_, QuestionState::Open) => "not answered".to_owned(),
        (None | Some(Value::Null), QuestionState::Answered) => "declined".to_owned(),
        (Some(Value::Array(items)), _) => items.iter().map(label).collect::<Vec<_>>().join(", "),
        (Some(value), _) => label(value),
    };
    let (first, rest) = (StyledLine::of(YELLOW, "? "), StyledLine::plain("  "));
    let mut lines = StyledLine::plain(question).wrap_behind(&first, &rest, look.width);
    lines.push(StyledLine::dim("  └ ").add(PLAIN, &answer).truncate(look.width));
    lines
}

/// A page or document that the answer cites.
pub(super) fn source(source: &SourcePart, look: MarkdownLook) -> Vec<StyledLine> {
    let title = source.title.as_deref().or(source.filename.as_deref());
    let mut line = StyledLine::dim("↗ ");
    match (title, source.url.as_deref()) {
        (Some(title), Some(url)) => {
            line.push(PLAIN, title);
            line.push(DIM, &format!("  {url}"));
        }
        (Some(only), None) | (None, Some(only)) => line.push(PLAIN, only),
        (None, None) => line.push(PLAIN, &source.source),
    }
    vec![line.truncate(look.width)]
}

pub(super) fn file(file: &FilePart, look: MarkdownLook) -> Vec<StyledLine> {
    let mut line = StyledLine::dim("▤ ").add(PLAIN, file.filename.as_deref().unwrap_or("file"));
    line.push(DIM, &format!("  {}", file.media_type));
    match file.url.split_once(";base64,") {
        Some((kind, data)) if kind.starts_with("data:") => {
            let bytes = (data.trim_end_matches('=').len() * 3 / 4) as u64;
            line.push(DIM, &format!(", {}", crate::style::count(bytes, "byte")));
        }
        _ if file.url.starts_with("data:") => {}
        _ => line.push(DIM, &format!("  {}", file.url)),
    }
    vec![line.truncate(look.width)]
}

/// Data of the application.
pub(super) fn data(data: &DataEvent, look: MarkdownLook) -> Vec<StyledLine> {
    let text = summary(&data.data);
    if text.is_empty() {
        return Vec::new();
    }
    vec![StyledLine::dim(&format!("◦ {}  {text}", data.name)).truncate(look.width)]
}

#[cfg(test)]
mod tests {
    use headwater_protocol::{Interrupt, ToolPart};
    use serde_json::json;

    use super::*;

    const LOOK: MarkdownLook = MarkdownLook { width: 40, colour: true };

    fn texts(lines: &[StyledLine]) -> Vec<String> {
        lines.iter().map(StyledLine::text).collect()
    }

    #[test]
    fn tool_takes_a_line_and_its_result_another() {
        let mut part = ToolPart::new("c", "get_weather");
        part.input_text = r#"{"city":"Par"#.to_owned();
        assert_eq!(texts(&tool(&part, "⠋", LOOK)), ["⠋ get_weather  city: Par"]);
        part.title = Some("Weather".to_owned());
        part.input = Some(json!({ "city": "Paris" }));
        part.state = ToolState::OutputAvailable;
        part.output = Some(json!({ "celsius": 12, "sky": "sunny", "wind": "from the north-west" }));
        let lines = texts(&tool(&part, "⠋", LOOK));
        assert_eq!(lines, ["✓ Weather  city: Paris", "  └ celsius: 12, sky: sunny, wind: from…"]);
        let details = texts(&tool_details(&part, LOOK));
        assert!(details.contains(&"      \"wind\": \"from the north-west\"".to_owned()), "{details:?}");
    }

    #[test]
    fn page_tools_are_named_as_not_available() {
        let mut part = ToolPart::new("c", "locate");
        part.executor = Executor::Client;
        part.state = ToolState::InputAvailable;
        assert_eq!(texts(&tool(&part, "⠋", LOOK)), ["◦ locate", "  └ a tool of the page: not available h…"]);
    }

    #[test]
    fn answer_is_shown_by_its_label() {
        let options =
            vec![headwater_protocol::Choice { id: "s".into(), label: "Send".into(), description: None }];
        let interrupt = Interrupt::choice("r", "Send it?", options);
        let part = QuestionPart { interrupt, state: QuestionState::Answered, answer: Some("s".into()) };
        assert_eq!(texts(&question(&part, LOOK)), ["? Send it?", "  └ Send"]);
    }
}
