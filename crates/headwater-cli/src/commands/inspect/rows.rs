//! Turns items into rows: a sign, a label, and the content.

use anstyle::Style;
use headwater_protocol::{
    ApprovalAnswered, ApprovalRequested, AttemptRetracted, AttemptStarted, BlockKind, CheckpointEvent,
    DataEvent, ErrorEvent, Event, Executor, FileEvent, FinishReason, Interrupt, InterruptAnswered,
    MessageStarted, RunFinished, RunId, RunStarted, RunWaiting, SessionId, SourceDocument, SourceUrl,
    StatusEvent, StructuredInvalidated, StructuredState, ToolCall, ToolCallId, ToolDenied, ToolOutput,
    ToolOutputError, TraceEvent, TransitionEvent, UnknownEvent, WarningEvent,
};
use serde_json::Value;

use super::{
    entry::Problem,
    summary::seconds,
    timeline::{BlockItem, InputItem, ItemBody, ObjectItem, TimelineItem},
};
use crate::style::{BLUE, BOLD, CYAN, DIM, GREEN, MAGENTA, PLAIN, RED, YELLOW, count};

/// An item, ready to be printed.
#[derive(Debug)]
pub(super) struct TimelineRow {
    pub(super) sign: &'static str,
    pub(super) word: &'static str,
    pub(super) style: Style,
    pub(super) pieces: Vec<RowPiece>,
}

/// A part of the content; each begins on a new line, except a note that fits on the current one.
#[derive(Debug)]
pub(super) enum RowPiece {
    Text(Style, String),
    /// Secondary information.
    Note(String),
    /// A value that may be abbreviated.
    Value(Value),
}

impl TimelineRow {
    fn new(sign: &'static str, word: &'static str, style: Style) -> Self {
        Self { sign, word, style, pieces: Vec::new() }
    }

    fn text(self, text: impl Into<String>) -> Self {
        self.styled(PLAIN, text)
    }

    fn styled(mut self, style: Style, text: impl Into<String>) -> Self {
        let text = text.into();
        if !text.is_empty() {
            self.pieces.push(RowPiece::Text(style, text));
        }
        self
    }

    fn note(mut self, note: impl Into<String>) -> Self {
        let note = note.into();
        if !note.is_empty() {
            self.pieces.push(RowPiece::Note(note));
        }
        self
    }

    fn value(mut self, value: Option<&Value>) -> Self {
        self.pieces.extend(value.cloned().map(RowPiece::Value));
        self
    }
}

/// Lays out one item.
pub(super) fn row(item: &TimelineItem) -> TimelineRow {
    let mut row = match &item.body {
        ItemBody::Text(block) => text(block, item.record.as_ref().map_or(0, |record| record.time)),
        ItemBody::Input(input) => tool_input(input),
        ItemBody::Structured(object) => structured(object),
        ItemBody::Event => match &item.record {
            Some(record) => of_event(&record.event, item.tool.as_deref()),
            None => TimelineRow::new("?", "unknown", YELLOW),
        },
        ItemBody::Problem(problem) => {
            self::problem(problem, item.place.map(|place| (place.frame, place.offset)))
        }
    };
    let origin = item.record.as_ref().map(|record| &record.origin);
    if let Some(node) = origin.and_then(|origin| origin.node.as_deref()) {
        // Pieces after the first follow the notes on the first line.
        let mut behind = row.pieces.iter().skip(1);
        let at = behind
            .position(|piece| !matches!(piece, RowPiece::Note(_)))
            .map_or(row.pieces.len(), |at| at + 1);
        row.pieces.insert(at, RowPiece::Note(format!("[{node}]")));
    }
    if item.retracted {
        row.style = DIM;
        for piece in &mut row.pieces {
            if let RowPiece::Text(style, _) = piece {
                *style = DIM.strikethrough();
            }
        }
        row = row.note("(retracted)");
    }
    row
}

fn text(block: &BlockItem, began: u64) -> TimelineRow {
    let (row, style) = if block.kind == BlockKind::Reasoning {
        (TimelineRow::new("~", "thinking", DIM), DIM.italic())
    } else {
        (TimelineRow::new("¶", "text", BOLD), PLAIN)
    };
    let mut note = format!("({}, {}", count(block.deltas, "delta"), count(block.text.len() as u64, "byte"));
    if began > 0 && block.last > began {
        note = format!("{note}, {}", seconds(block.last - began));
    }
    let open = if block.ended { ")" } else { ", not ended)" };
    row.styled(style, block.text.clone()).note(note + open)
}

fn tool_input(input: &InputItem) -> TimelineRow {
    let style = if input.error.is_some() { RED } else { CYAN };
    let row = TimelineRow::new("→", "tool", style)
        .styled(BOLD, if input.name.is_empty() { "(unnamed)" } else { &input.name })
        .note(format!("{} {}", input.call, input.state()));
    let row = if input.deltas > 0 { row.note(format!("({})", count(input.deltas, "delta"))) } else { row };
    let row = row.styled(RED, input.error.as_deref().unwrap_or_default());
    match &input.input {
        Some(value) => row.value(Some(value)),
        None => row.text(input.text.clone()),
    }
}

fn structured(object: &ObjectItem) -> TimelineRow {
    let state = object.state.as_ref();
    let mut row = TimelineRow::new("▣", "structured", MAGENTA)
        .styled(BOLD, state.map_or("(refused)", StructuredState::data_type))
        .note(object.stream.clone());
    if object.invalidated {
        row = row.note("invalidated");
    }
    let operations = object.operations.iter().map(|(name, times)| match times {
        1 => name.clone(),
        times => format!("{name} ×{times}"),
    });
    row.styled(DIM, operations.collect::<Vec<_>>().join(", ")).value(state.and_then(StructuredState::data))
}

fn problem(problem: &Problem, place: Option<(u64, u64)>) -> TimelineRow {
    let (sign, word, style) =
        if problem.unreadable { ("✗", "unreadable", RED) } else { ("⚠", "lint", YELLOW) };
    let place = place.map_or_else(
        || "at the end of the stream".to_owned(),
        |(frame, offset)| format!("frame {frame} at byte {offset}"),
    );
    let row = TimelineRow::new(sign, word, style).styled(style, problem.rule).note(place);
    let row = row.styled(style, problem.message.clone());
    if problem.fatal { row.styled(RED.bold(), "the dialect's own client gives up here") } else { row }
}

fn of_event(event: &Event, tool: Option<&str>) -> TimelineRow {
    match event {
        Event::RunStarted(started) => run_started(started),
        Event::RunFinished(RunFinished { reason, data, .. }) => TimelineRow::new("■", "finished", GREEN)
            .text(reason.as_ref().map(FinishReason::as_str).unwrap_or_default())
            .value(data.as_ref()),
        Event::RunFailed(error) => {
            TimelineRow::new("✗", "failed", RED).styled(RED, &error.message).note(opt(error.code.as_deref()))
        }
        Event::RunCancelled { reason } => {
            TimelineRow::new("■", "cancelled", YELLOW).text(opt(reason.as_deref()))
        }
        Event::RunWaiting(RunWaiting { tool_calls, .. }) => {
            let calls: Vec<_> = tool_calls.iter().map(ToolCallId::as_str).collect();
            let calls = if calls.is_empty() { String::new() } else { format!("for {}", calls.join(", ")) };
            TimelineRow::new("‖", "waiting", YELLOW).text(calls)
        }
        Event::AttemptStarted(AttemptStarted { attempt, model, .. }) => {
            TimelineRow::new("·", "attempt", DIM).text(attempt.as_str()).note(opt(model.as_deref()))
        }
        Event::AttemptRetracted(AttemptRetracted { attempt, reason, .. }) => {
            TimelineRow::new("↺", "retracted", YELLOW).text(attempt.as_str()).note(opt(reason.as_deref()))
        }
        Event::MessageStarted(MessageStarted { message, role, .. }) => {
            TimelineRow::new("┌", "message", BLUE).text(role.as_str()).note(message.as_str())
        }
        Event::MessageMetadata { metadata } => TimelineRow::new("·", "metadata", DIM).value(Some(metadata)),
        Event::Message { content } => TimelineRow::new("¶", "message", BOLD).text(content),
        Event::StepStarted { name } => TimelineRow::new("┄", "step", DIM).text(opt(name.as_deref())),
        Event::StepFinished { name } => TimelineRow::new("┄", "step ended", DIM).text(opt(name.as_deref())),
        Event::Structured(_)
        | Event::BlockStarted(_)
        | Event::BlockDelta(_)
        | Event::BlockEnded(_)
        | Event::ToolInputStart(_)
        | Event::ToolInputDelta(_)
        | Event::ToolInputAvailable(_)
        | Event::ToolInputError(_)
        | Event::MessageFinished { .. }
        | Event::AttemptFinished { .. } => TimelineRow::new("·", event.kind().name(), DIM),
        Event::ApprovalRequested(ApprovalRequested { approval, tool: call, input, .. }) => {
            approval_requested(approval.as_str(), call).value(input.as_ref())
        }
        Event::ApprovalAnswered(ApprovalAnswered { approval, approved, reason, .. }) => {
            let (sign, answer, style) =
                if *approved { ("✓", "approved", GREEN) } else { ("✗", "refused", RED) };
            TimelineRow::new(sign, "approval", style)
                .text(answer)
                .note(approval.as_str())
                .text(opt(reason.as_deref()))
        }
        Event::ToolOutput(ToolOutput { call, name, output, structured, is_error, preliminary, .. }) => {
            let state = if *preliminary { "output-available (preliminary)" } else { "output-available" };
            let (sign, style) = if *is_error { ("✗", RED) } else { ("←", CYAN) };
            let row = TimelineRow::new(sign, "tool", style);
            let row = row.styled(BOLD, opt(name.as_deref().or(tool))).note(format!("{call} {state}"));
            let row = if *is_error { row.note("(the tool reports a failure)") } else { row };
            row.value(Some(output)).value(structured.as_ref())
        }
        Event::ToolOutputError(ToolOutputError { call, name, error, .. }) => {
            TimelineRow::new("✗", "tool", RED)
                .styled(BOLD, opt(name.as_deref().or(tool)))
                .note(format!("{call} output-error"))
                .styled(RED, error)
        }
        Event::ToolDenied(ToolDenied { call, name, reason, .. }) => TimelineRow::new("✗", "tool", YELLOW)
            .styled(BOLD, opt(name.as_deref().or(tool)))
            .note(format!("{call} output-denied"))
            .text(opt(reason.as_deref())),
        Event::SourceUrl(SourceUrl { source, url, title, .. }) => TimelineRow::new("@", "source", BLUE)
            .text(title.as_deref().unwrap_or(url))
            .note(source)
            .styled(DIM, if title.is_some() { url.as_str() } else { "" }),
        Event::SourceDocument(SourceDocument { source, title, filename, text, .. }) => {
            TimelineRow::new("@", "source", BLUE)
                .text(title.as_deref().or(filename.as_deref()).unwrap_or_default())
                .note(source)
                .styled(DIM, opt(text.as_deref()))
        }
        Event::File(FileEvent { url, media_type, filename, .. }) => TimelineRow::new("▤", "file", BLUE)
            .text(filename.as_deref().unwrap_or_else(|| url.get(..60).unwrap_or(url)))
            .note(media_type),
        Event::Data(DataEvent { name, id, data, transient, .. }) => TimelineRow::new("◇", "data", MAGENTA)
            .styled(BOLD, name)
            .note(opt(id.as_deref()))
            .note(if *transient { "(transient)" } else { "" })
            .value(Some(data)),
        Event::StructuredInvalidated(StructuredInvalidated { stream, .. }) => {
            TimelineRow::new("↺", "invalid", YELLOW).text(stream)
        }
        Event::StateSnapshot { state } => TimelineRow::new("▣", "state", MAGENTA).value(Some(state)),
        Event::StateDelta { patch } => {
            TimelineRow::new("▣", "state", MAGENTA).note("patch").value(Some(&Value::Array(patch.clone())))
        }
        Event::MessagesSnapshot { messages } => {
            TimelineRow::new("▤", "snapshot", BLUE).text(count(messages.len() as u64, "message"))
        }
        Event::InterruptRequested(interrupt) => self::interrupt(interrupt),
        Event::InterruptAnswered(InterruptAnswered { request, answer, .. }) => {
            TimelineRow::new("✓", "answered", GREEN).text(request.as_str()).value(answer.as_ref())
        }
        Event::InterruptExpired { request } => {
            TimelineRow::new("✗", "expired", YELLOW).text(request.as_str())
        }
        Event::Status(StatusEvent { state, message, .. }) => {
            let text = message.as_deref().or(state.as_deref());
            let state = state.as_deref().filter(|_| message.is_some());
            TimelineRow::new("●", "status", DIM).text(opt(text)).note(opt(state))
        }
        Event::Transition(TransitionEvent { to, payload, .. }) => {
            TimelineRow::new("⇒", "transition", BLUE).styled(BOLD, to).value(payload.as_ref())
        }
        Event::Checkpoint(CheckpointEvent { checkpoint, turn, label, .. }) => {
            TimelineRow::new("⚑", "checkpoint", BLUE)
                .text(opt(label.as_deref()))
                .note(format!("{checkpoint} turn {turn}"))
        }
        Event::Usage(usage) => {
            TimelineRow::new("·", "usage", DIM).value(serde_json::to_value(usage).ok().as_ref())
        }
        Event::Warning(WarningEvent { message, code, .. }) => {
            TimelineRow::new("⚠", "warning", YELLOW).styled(YELLOW, message).note(opt(code.as_deref()))
        }
        Event::Error(ErrorEvent { error, terminal, .. }) => TimelineRow::new("✗", "error", RED)
            .styled(RED, &error.message)
            .note(opt(error.code.as_deref()))
            .note(if *terminal { "(ends the run)" } else { "" }),
        Event::Trace(TraceEvent { trace, .. }) => TimelineRow::new("·", "trace", DIM).text(trace),
        Event::Unknown(UnknownEvent { name, data, .. }) => {
            TimelineRow::new("?", "unknown", YELLOW).styled(BOLD, name).value(Some(data))
        }
        other => TimelineRow::new("?", other.kind().name(), YELLOW),
    }
}

fn run_started(started: &RunStarted) -> TimelineRow {
    let facts = [
        ("run", started.run.as_ref().map(RunId::as_str)),
        ("session", started.session.as_ref().map(SessionId::as_str)),
        ("conversation", started.conversation.as_deref()),
        ("workflow", started.workflow.as_deref()),
        ("model", started.model.as_deref()),
    ];
    let facts = facts.iter().filter_map(|(word, fact)| fact.map(|fact| format!("{word} {fact}")));
    TimelineRow::new("▶", "started", GREEN).text(facts.collect::<Vec<_>>().join(" · "))
}

fn approval_requested(approval: &str, tool: &ToolCall) -> TimelineRow {
    let who = if tool.executor == Executor::Client { " (the page executes it)" } else { "" };
    TimelineRow::new("?", "approval", YELLOW)
        .styled(BOLD, format!("may {} be called?", tool.name))
        .note(format!("{} approval-requested {approval}{who}", tool.call))
}

fn interrupt(interrupt: &Interrupt) -> TimelineRow {
    let kind = serde_json::to_value(interrupt.kind).ok();
    let kind = kind.as_ref().and_then(Value::as_str).unwrap_or_default();
    let question = interrupt.question.as_deref().unwrap_or("(no question)");
    let mut row = TimelineRow::new("?", "interrupt", YELLOW)
        .styled(BOLD, question)
        .note(format!("{kind} {}", interrupt.request));
    let column = interrupt.options.iter().map(|option| crate::style::width(&option.id)).max().unwrap_or(0);
    for option in &interrupt.options {
        let blanks = " ".repeat(column.saturating_sub(crate::style::width(&option.id)));
        let more = option.description.as_ref().map(|more| format!(": {more}")).unwrap_or_default();
        row = row.text(format!("○ {}{blanks}  {}{more}", option.id, option.label));
    }
    row
}

fn opt(text: Option<&str>) -> &str {
    text.unwrap_or_default()
}
