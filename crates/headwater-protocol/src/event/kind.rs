//! The kinds of events, for the tables of the dialects.

use std::fmt;

use super::Event;

macro_rules! kinds {
    ($($variant:ident $name:literal,)*) => {
        /// The kind of an event, without its content.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum EventKind {
            $(#[doc = concat!("[`Event::", stringify!($variant), "`]")] $variant,)*
        }

        impl EventKind {
            /// Every kind, in the order of [`Event`].
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name in our own JSON format.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }

        impl Event {
            /// The kind of the event.
            #[must_use]
            pub const fn kind(&self) -> EventKind {
                match self {
                    $(Self::$variant { .. } => EventKind::$variant,)*
                }
            }
        }
    };
}

kinds! {
    RunStarted "run-started",
    RunFinished "run-finished",
    RunFailed "run-failed",
    RunCancelled "run-cancelled",
    RunWaiting "run-waiting",
    AttemptStarted "attempt-started",
    AttemptFinished "attempt-finished",
    AttemptRetracted "attempt-retracted",
    MessageStarted "message-started",
    MessageFinished "message-finished",
    MessageMetadata "message-metadata",
    Message "message",
    StepStarted "step-started",
    StepFinished "step-finished",
    BlockStarted "block-started",
    BlockDelta "block-delta",
    BlockEnded "block-ended",
    ToolInputStart "tool-input-start",
    ToolInputDelta "tool-input-delta",
    ToolInputAvailable "tool-input-available",
    ToolInputError "tool-input-error",
    ApprovalRequested "approval-requested",
    ApprovalAnswered "approval-answered",
    ToolOutput "tool-output",
    ToolOutputError "tool-output-error",
    ToolDenied "tool-denied",
    SourceUrl "source-url",
    SourceDocument "source-document",
    File "file",
    Data "data",
    Structured "structured",
    StructuredInvalidated "structured-invalidated",
    StateSnapshot "state-snapshot",
    StateDelta "state-delta",
    MessagesSnapshot "messages-snapshot",
    InterruptRequested "interrupt-requested",
    InterruptAnswered "interrupt-answered",
    InterruptExpired "interrupt-expired",
    Status "status",
    Transition "transition",
    Checkpoint "checkpoint",
    Usage "usage",
    Warning "warning",
    Error "error",
    Trace "trace",
    Unknown "unknown",
}

impl EventKind {
    /// Whether it is the last event of a run: finished, failed or cancelled.
    #[must_use]
    pub const fn ends_run(self) -> bool {
        matches!(self, Self::RunFinished | Self::RunFailed | Self::RunCancelled)
    }

    /// Whether a run waits after it, which `waited` before it.
    ///
    /// ```
    /// use headwater_protocol::EventKind;
    ///
    /// assert!(EventKind::RunWaiting.waits_after(false));
    /// assert!(EventKind::Usage.waits_after(true));
    /// assert!(!EventKind::Usage.waits_after(false));
    /// ```
    #[must_use]
    pub const fn waits_after(self, waited: bool) -> bool {
        matches!(self, Self::RunWaiting) || (waited && self.leaves_waiting())
    }

    /// Whether a waiting run still waits after it: it neither answers the question nor comes from a node that runs again.
    ///
    /// This is the only definition. [`RunState`](crate::RunState), the encoders and the readers of a journal use it.
    ///
    /// ```
    /// use headwater_protocol::EventKind;
    ///
    /// assert!(EventKind::Usage.leaves_waiting());
    /// assert!(!EventKind::InterruptAnswered.leaves_waiting());
    /// ```
    #[must_use]
    pub const fn leaves_waiting(self) -> bool {
        // Every kind is named, so that a new one is decided here.
        match self {
            // A run may ask several questions, and some vendors close what was open only after they said that they wait.
            Self::InterruptRequested
            | Self::ApprovalRequested
            | Self::AttemptFinished
            | Self::MessageFinished
            | Self::StepFinished
            // About the run, from outside its nodes.
            | Self::Checkpoint
            | Self::MessageMetadata
            | Self::Status
            | Self::Trace
            | Self::Unknown
            | Self::Usage
            | Self::Warning => true,
            Self::RunStarted
            | Self::RunFinished
            | Self::RunFailed
            | Self::RunCancelled
            | Self::RunWaiting
            | Self::AttemptStarted
            | Self::AttemptRetracted
            | Self::MessageStarted
            | Self::Message
            | Self::StepStarted
            | Self::BlockStarted
            | Self::BlockDelta
            | Self::BlockEnded
            | Self::ToolInputStart
            | Self::ToolInputDelta
            | Self::ToolInputAvailable
            | Self::ToolInputError
            | Self::ApprovalAnswered
            | Self::ToolOutput
            | Self::ToolOutputError
            | Self::ToolDenied
            | Self::SourceUrl
            | Self::SourceDocument
            | Self::File
            | Self::Data
            | Self::Structured
            | Self::StructuredInvalidated
            | Self::StateSnapshot
            | Self::StateDelta
            | Self::MessagesSnapshot
            | Self::InterruptAnswered
            | Self::InterruptExpired
            | Self::Transition
            | Self::Error => false,
        }
    }
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
