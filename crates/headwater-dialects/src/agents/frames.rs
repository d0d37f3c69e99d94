//! The frames of the wire: an event's name and fields.

use headwater_protocol::{
    BlockKind, ErrorInfo, FrameWriter, Framing, MessageId, Piece, ToolCallId, ToolState, Usage, rfc3339,
};
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::Value;

use crate::encode::WriteChunk as _;

/// A tool call that the stream has shown.
#[derive(Debug, Clone)]
pub(super) struct ShownToolCall {
    pub(super) message: MessageId,
    pub(super) name: String,
    /// Its `tool.call` was sent.
    pub(super) called: bool,
}

/// A field's value.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(untagged)]
pub(super) enum Field<'a> {
    Text(&'a str),
    Json(&'a Value),
    Flag(bool),
    Usage(&'a Usage),
    Approval(EventFields<'a>),
}

/// The fields of an event; those without a value are left out.
#[derive(Debug, Clone, Copy)]
pub(super) struct EventFields<'a>(&'a [(&'static str, Option<Field<'a>>)]);

impl Serialize for EventFields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in self.0 {
            if let Some(value) = value {
                map.serialize_entry(name, value)?;
            }
        }
        map.end()
    }
}

pub(super) fn text<T: AsRef<str> + ?Sized>(text: &T) -> Option<Field<'_>> {
    Some(Field::Text(text.as_ref()))
}

pub(super) fn maybe<T: AsRef<str>>(text: Option<&T>) -> Option<Field<'_>> {
    text.map(|text| Field::Text(text.as_ref()))
}

pub(super) fn json(value: Option<&Value>) -> Option<Field<'_>> {
    value.map(Field::Json)
}

pub(super) fn date(time: u64) -> Option<String> {
    (time > 0).then(|| rfc3339(time))
}

pub(super) fn send(name: &'static str, fields: &[(&'static str, Option<Field<'_>>)], out: &mut FrameWriter) {
    if out.framing() == Framing::Sse {
        return out.chunk(Some(name), &EventFields(fields));
    }
    // In JSON lines the event name goes into the object.
    let typed: Vec<_> = [("type", text(name))].into_iter().chain(fields.iter().copied()).collect();
    out.chunk(None, &EventFields(&typed));
}

pub(super) fn delta_name(kind: BlockKind) -> &'static str {
    match kind {
        BlockKind::Text => "message.delta",
        BlockKind::Reasoning => "reasoning.delta",
    }
}

/// Serialised by hand: most of a stream is text deltas.
pub(super) fn send_delta(
    name: &'static str,
    message: &MessageId,
    part: &str,
    delta: &str,
    out: &mut FrameWriter,
) {
    if out.framing() != Framing::Sse {
        let fields = [("messageId", text(message)), ("partId", text(part)), ("delta", text(delta))];
        return send(name, &fields, out);
    }
    let pieces = [
        Piece::Json(r#"{"messageId":"#),
        Piece::Text(message.as_str()),
        Piece::Json(r#","partId":"#),
        Piece::Text(part),
        Piece::Json(r#","delta":"#),
        Piece::Text(delta),
        Piece::Json("}"),
    ];
    out.pieces(Some(name), &pieces);
}

pub(super) fn send_tool_delta(
    call: &ToolCallId,
    name: Option<&str>,
    delta: &str,
    message: &MessageId,
    out: &mut FrameWriter,
) {
    let fields = [
        ("toolCallId", text(call)),
        ("toolName", name.map(Field::Text)),
        ("delta", text(delta)),
        ("state", text(ToolState::InputStreaming.as_str())),
        ("messageId", text(message)),
    ];
    send("tool.delta", &fields, out);
}

pub(super) fn send_call(
    call: &ToolCallId,
    known: &ShownToolCall,
    state: ToolState,
    input: Option<Field<'_>>,
    approval: Option<Field<'_>>,
    out: &mut FrameWriter,
) {
    let fields = [
        ("toolCallId", text(call)),
        ("toolName", text(&known.name)),
        ("input", input),
        ("state", text(state.as_str())),
        ("messageId", text(&known.message)),
        ("approval", approval),
    ];
    send("tool.call", &fields, out);
}

pub(super) fn send_approval(
    call: &ToolCallId,
    known: &ShownToolCall,
    input: Option<Field<'_>>,
    approval: &[(&'static str, Option<Field<'_>>)],
    out: &mut FrameWriter,
) {
    let answered = approval.iter().any(|(name, _)| *name == "approved");
    let state = if answered { ToolState::ApprovalResponded } else { ToolState::ApprovalRequested };
    send_call(call, known, state, input, Some(Field::Approval(EventFields(approval))), out);
}

pub(super) fn send_result(
    call: &ToolCallId,
    known: &ShownToolCall,
    state: ToolState,
    outcome: (&'static str, Option<Field<'_>>),
    out: &mut FrameWriter,
) {
    let fields = [
        ("toolCallId", text(call)),
        ("toolName", text(&known.name)),
        outcome,
        ("state", text(state.as_str())),
        ("messageId", text(&known.message)),
    ];
    send("tool.result", &fields, out);
}

pub(super) fn send_data(
    name: &str,
    id: Option<&str>,
    data: &Value,
    message: Option<&MessageId>,
    out: &mut FrameWriter,
) {
    let fields = [
        ("name", text(name)),
        ("dataId", id.map(Field::Text)),
        ("data", json(Some(data))),
        ("transient", message.is_none().then_some(Field::Flag(true))),
        ("messageId", maybe(message)),
    ];
    send("data", &fields, out);
}

pub(super) fn send_error(error: &ErrorInfo, terminal: bool, out: &mut FrameWriter) {
    let fields = [
        ("message", text(&error.message)),
        ("code", maybe(error.code.as_ref())),
        ("retryable", error.retryable.map(Field::Flag)),
        ("terminal", Some(Field::Flag(terminal))),
    ];
    send("error", &fields, out);
}
