//! The stream protocols of chat UIs: serving them, and decoding their streams.
//!
//! Everything here is pure: bytes and events in, events and bytes out. No I/O, no async, no clock.
//!
//! - [`Dialect`] is a protocol as a server serves it: routes, requests, streams and documents. [`Encoder`]
//!   encodes a run in it.
//! - [`Reader`] is a protocol as its clients read it. [`Decoder`] decodes a stream of any sender, and
//!   [`lint()`] checks one.
//! - [`find`] and [`reader`] look them up by name; [`ALL`] and [`READERS`] list them.
//!
//! ```
//! use headwater_dialects::{Decoded, Decoder, EncodeOptions, Encoder};
//! use headwater_protocol::Framing;
//!
//! // Decode a Kortyx stream …
//! let body = b"data: {\"type\":\"message\",\"content\":\"Hello\"}\n\ndata: {\"type\":\"done\"}\n\ndata: [DONE]\n\n";
//! let mut decoder = Decoder::new(headwater_dialects::reader("kortyx").unwrap(), Framing::Sse);
//! let mut decoded = Decoded::default();
//! decoder.feed(body, &mut decoded);
//! decoder.finish(&mut decoded);
//!
//! // … and encode it for the AI SDK.
//! let mut encoder = Encoder::new(headwater_dialects::find("ai-sdk").unwrap(), &EncodeOptions::default());
//! decoded.records.iter().for_each(|record| encoder.record(record));
//! encoder.finish();
//! assert!(String::from_utf8_lossy(encoder.bytes()).contains("\"delta\":\"Hello\""));
//! ```
//!
//! To add a dialect, add its folder, its module and its line in [`ALL`], and in [`READERS`] if its streams
//! are to be decoded.

pub mod ag_ui;
pub mod agents;
pub mod ai_sdk;
mod chunk;
mod decode;
mod dialect;
mod documents;
mod encode;
mod growing;
mod hold;
mod json;
pub mod kortyx;
mod lint;
pub mod mui;
pub mod native;
mod reader;
mod request;
pub mod responses;
pub mod tanstack;
pub mod ui_message;

pub use decode::{Decode, Decoded, Decoder};
pub use dialect::{
    AnswerFlow, ContentMode, CursorSupport, Dialect, KeepAlive, Operations, Profile, ReaderNames, Reentry,
    Retraction, Route, RouteBase, ServerNames, Support,
};
pub use documents::{
    AgentEntry, CheckpointEntry, CheckpointReply, ErrorReply, HistoryPage, PendingKind, PendingQuestion,
    SessionEntry, SessionList, WholeAnswer,
};
pub use encode::{Encode, EncodeOptions, Encoder};
pub use lint::{Finding, Findings, Lint, Rule, lint};
pub use reader::Reader;
pub use request::{
    Action, AnswerRef, ApprovalAnswer, ChatRequest, CheckpointAction, InterruptAnswer, RawRequest,
    RequestCursor, ToolResult,
};

/// All wires of a run: the native one first, then the dialects.
pub static ALL: [&dyn Dialect; 8] = [
    &native::Native,
    &kortyx::Kortyx,
    &tanstack::TanStack,
    &mui::Mui,
    &agents::Agents,
    &ai_sdk::AiSdk,
    &ag_ui::AgUi,
    &responses::Responses,
];

/// The native wire.
pub static NATIVE: &dyn Dialect = &native::Native;

/// The readers of the same wires, in the same order.
pub static READERS: [&dyn Reader; ALL.len()] = [
    &native::Native,
    &kortyx::Kortyx,
    &tanstack::TanStack,
    &mui::Mui,
    &agents::Agents,
    &ai_sdk::AiSdk,
    &ag_ui::AgUi,
    &responses::Responses,
];

/// The dialects of other projects' chat clients. Each has a chat route; the native wire has its own routes.
pub static CHAT: &[&dyn Dialect] = match ALL.split_first() {
    Some((_, dialects)) => dialects,
    None => &[],
};

/// The wire with this name.
///
/// ```
/// assert_eq!(headwater_dialects::find("ai-sdk").unwrap().name(), "ai-sdk");
/// assert!(headwater_dialects::find("morse").is_none());
/// ```
#[must_use]
pub fn find(name: &str) -> Option<&'static dyn Dialect> {
    ALL.into_iter().find(|dialect| dialect.name() == name)
}

/// The reader of the wire with this name.
///
/// ```
/// assert_eq!(headwater_dialects::reader("ai-sdk").unwrap().name(), "ai-sdk");
/// ```
#[must_use]
pub fn reader(name: &str) -> Option<&'static dyn Reader> {
    READERS.into_iter().find(|reader| reader.name() == name)
}
