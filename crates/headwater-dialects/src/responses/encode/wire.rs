//! The events of the wire.

use headwater_protocol::{BlockKind, FrameWriter, Piece};
use serde::Serialize;

use super::super::{
    document::ResponseDocument,
    item::{Item, OutputText, SummaryText},
};
use crate::encode::WriteChunk as _;

#[derive(Serialize)]
struct NumberedEvent<'a, T> {
    #[serde(rename = "type")]
    kind: &'static str,
    sequence_number: u64,
    #[serde(flatten)]
    body: &'a T,
}

/// Writes an event with its number.
pub(super) fn send(next: &mut u64, kind: &'static str, body: &impl Serialize, out: &mut FrameWriter) {
    out.chunk(Some(kind), &NumberedEvent { kind, sequence_number: *next, body });
    *next += 1;
}

/// An event about the response.
#[derive(Serialize)]
pub(super) struct ResponseEvent<'a> {
    pub(super) response: ResponseDocument<'a>,
}

/// An event about an item.
#[derive(Serialize)]
pub(super) struct ItemEvent<'a> {
    pub(super) output_index: usize,
    pub(super) item: &'a Item,
}

/// The end of a text.
#[derive(Serialize)]
pub(super) struct TextEvent<'a> {
    item_id: &'a str,
    output_index: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_index: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary_index: Option<u8>,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    logprobs: Option<[(); 0]>,
}

impl<'a> TextEvent<'a> {
    pub(super) fn of_text(item_id: &'a str, output_index: usize, text: &'a str) -> Self {
        Self { item_id, output_index, content_index: Some(0), summary_index: None, text, logprobs: Some([]) }
    }

    pub(super) fn of_summary(item_id: &'a str, output_index: usize, text: &'a str) -> Self {
        Self { item_id, output_index, content_index: None, summary_index: Some(0), text, logprobs: None }
    }
}

/// The start or end of a part.
#[derive(Serialize)]
pub(super) struct PartEvent<'a, T> {
    item_id: &'a str,
    output_index: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_index: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary_index: Option<u8>,
    part: &'a T,
}

impl<'a> PartEvent<'a, OutputText> {
    pub(super) fn of_text(item_id: &'a str, output_index: usize, part: &'a OutputText) -> Self {
        Self { item_id, output_index, content_index: Some(0), summary_index: None, part }
    }
}

impl<'a> PartEvent<'a, SummaryText> {
    pub(super) fn of_summary(item_id: &'a str, output_index: usize, part: &'a SummaryText) -> Self {
        Self { item_id, output_index, content_index: None, summary_index: Some(0), part }
    }
}

/// An event about the progress of a call.
#[derive(Serialize)]
pub(super) struct CallEvent<'a> {
    pub(super) item_id: &'a str,
    pub(super) output_index: usize,
}

/// The whole arguments of a call.
#[derive(Serialize)]
pub(super) struct ArgumentsEvent<'a> {
    pub(super) item_id: &'a str,
    pub(super) output_index: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<&'a str>,
    pub(super) arguments: &'a str,
}

/// A delta of a text.
pub(super) fn send_delta(
    next: &mut u64,
    kind: BlockKind,
    item: &str,
    at: usize,
    delta: &str,
    out: &mut FrameWriter,
) {
    let (event, head, index, tail) = match kind {
        BlockKind::Text => (
            "response.output_text.delta",
            r#"{"type":"response.output_text.delta","sequence_number":"#,
            r#","content_index":0,"delta":"#,
            r#","logprobs":[]}"#,
        ),
        BlockKind::Reasoning => (
            "response.reasoning_summary_text.delta",
            r#"{"type":"response.reasoning_summary_text.delta","sequence_number":"#,
            r#","summary_index":0,"delta":"#,
            "}",
        ),
    };
    send_pieces(next, event, [head, index, tail], item, at, delta, out);
}

/// A delta of the arguments of a call that the agent executes.
pub(super) fn send_arguments(next: &mut u64, item: &str, at: usize, delta: &str, out: &mut FrameWriter) {
    let head = r#"{"type":"response.mcp_call_arguments.delta","sequence_number":"#;
    send_pieces(next, "response.mcp_call_arguments.delta", [head, r#","delta":"#, "}"], item, at, delta, out);
}

/// The arguments of a call that the client executes, in one piece.
pub(super) fn send_function_arguments(
    next: &mut u64,
    item: &str,
    at: usize,
    delta: &str,
    out: &mut FrameWriter,
) {
    let event = "response.function_call_arguments.delta";
    let head = r#"{"type":"response.function_call_arguments.delta","sequence_number":"#;
    send_pieces(next, event, [head, r#","delta":"#, "}"], item, at, delta, out);
}

fn send_pieces(
    next: &mut u64,
    event: &'static str,
    [head, index, tail]: [&'static str; 3],
    item: &str,
    at: usize,
    delta: &str,
    out: &mut FrameWriter,
) {
    let pieces = [
        Piece::Json(head),
        Piece::Number(*next),
        Piece::Json(r#","item_id":"#),
        Piece::Text(item),
        Piece::Json(r#","output_index":"#),
        Piece::Number(at as u64),
        Piece::Json(index),
        Piece::Text(delta),
        Piece::Json(tail),
    ];
    out.pieces(Some(event), &pieces);
    *next += 1;
}
