//! The stream protocols of chat UIs: serving them, and decoding their streams.
//!
//! Everything here is pure: bytes and events in, events and bytes out. No I/O, no async, no clock.
//!
//! - [`Dialect`] is a protocol as a server serves it: routes, requests, streams and documents. [`Encoder`]
//!   encodes a run in it.
//! - [`Reader`] is a protocol as its clients read it. [`Decoder`] decodes a stream of any sender, and
//!   [`lint()`] checks one.
//! - `axum` (feature `axum`) answers the requests of chat UIs from a stream of your own, in an axum
//!   application.
//! - [`find`] and [`reader`] look them up by name; [`ALL`] and [`READERS`] list them.
//!
//! ```
//! use headwater_dialects::{DecodeOutput, Decoder, EncodeOptions, Encoder};
//! use headwater_protocol::Framing;
//!
//! // Decode a Kortyx stream …
//! let body = b"data: {\"type\":\"message\",\"content\":\"Hello\"}\n\ndata: {\"type\":\"done\"}\n\ndata: [DONE]\n\n";
//! let mut decoder = Decoder::new(headwater_dialects::reader("kortyx").unwrap(), Framing::Sse);
//! let mut decoded = DecodeOutput::default();
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
mod attempt_buffer;
#[cfg(feature = "axum")]
pub mod axum;
mod chunk;
mod client_request;
mod decode;
mod decoder;
mod denial;
mod dialect;
mod documents;
mod encode;
mod encoder;
mod growing_objects;
mod json;
pub mod kortyx;
mod lint;
mod lint_stream;
pub mod mui;
mod names;
pub mod native;
mod profile;
mod reader;
mod request;
pub mod responses;
pub mod tanstack;
pub mod ui_message;

pub use client_request::ClientRequest;
pub use decode::{Decode, DecodeOutput};
pub use decoder::Decoder;
pub use dialect::{AnswerFlow, Dialect, Operations, Route, RouteBase, Support};
pub use documents::{
    AgentEntry, CheckpointEntry, CheckpointReply, ConversationPage, ErrorReply, PendingKind, PendingQuestion,
    SessionEntry, SessionList, WholeAnswer,
};
pub use encode::{Encode, EncodeOptions};
pub use encoder::Encoder;
pub use lint::{Finding, Findings, Lint, LintRule};
pub use lint_stream::lint;
pub use names::{ReaderNames, ServerNames};
pub use profile::{ContentMode, CursorSupport, KeepAlive, Profile, Reentry, Retraction};
pub use reader::Reader;
pub use request::{
    Action, AnswerRef, ApprovalAnswer, ChatRequest, CheckpointAction, InterruptAnswer, RawRequest,
    RequestCursor, ToolResult,
};

/// Lists each wire once, for both tables.
macro_rules! wires {
    ($($wire:expr,)*) => {
        /// All wires of a run: the native one first, then the dialects.
        pub static ALL: [&dyn Dialect; [$(stringify!($wire)),*].len()] = [$(&$wire,)*];

        /// The readers of the same wires, in the same order.
        pub static READERS: [&dyn Reader; ALL.len()] = [$(&$wire,)*];
    };
}

wires! {
    native::Native,
    kortyx::Kortyx,
    tanstack::TanStack,
    mui::Mui,
    agents::AgentsDialect,
    ai_sdk::AiSdk,
    ag_ui::AgUi,
    responses::Responses,
}

/// The native wire.
pub static NATIVE: &dyn Dialect = &native::Native;

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
