//! The state of a run, built from its events: messages, structured streams, open questions, the end.
//!
//! There is one reducer. Where the vendors' clients build different messages from the same events
//! (a call id that is used again, data with an id that was seen before), the dialect says so in its
//! [`Rules`]; our own rules are the default.

mod message;
mod reduce;
mod replay;
mod run;
mod view;

pub use message::{
    ASK_USER, Approval, FilePart, Message, MessageStatus, Part, PartState, QuestionPart, QuestionState,
    SourcePart, StructuredPart, TextPart, ToolPart, ToolState,
};
pub use reduce::{Rules, RunState, ToolScope};
pub use run::{RunInfo, RunStatus};
pub use view::View;
