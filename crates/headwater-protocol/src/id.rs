//! Identifiers, each its own type, so that a tool call's id cannot be passed for a message's.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident,)*) => {$(
        $(#[$doc])*
        ///
        /// Cheap to clone; compares and prints as its text.
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The identifier's text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text.into())
            }
        }

        impl From<std::borrow::Cow<'_, str>> for $name {
            fn from(text: std::borrow::Cow<'_, str>) -> Self {
                Self(text.into())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, f)
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                &*self.0 == other
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                &*self.0 == *other
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }
    )*};
}

ids! {
    /// One execution of an agent.
    RunId,
    /// A conversation of many runs.
    SessionId,
    /// One message of a conversation.
    MessageId,
    /// One block of text or reasoning within a message.
    PartId,
    /// One call of a tool.
    ToolCallId,
    /// One request for a person's approval of a tool call.
    ApprovalId,
    /// One question put to a person.
    RequestId,
    /// One try of a model call; what it said is taken back if it fails.
    AttemptId,
    /// The state of a session after a turn.
    CheckpointId,
}
