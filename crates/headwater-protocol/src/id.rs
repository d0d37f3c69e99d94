//! Identifiers, each with its own type, so that a tool call's id cannot be used as a message's. They are
//! cheap to clone, and compare and print as their text.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident,)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// A conversation of several runs.
    SessionId,
    /// One message of a conversation.
    MessageId,
    /// One text or reasoning block of a message.
    PartId,
    /// One call of a tool.
    ToolCallId,
    /// One request to approve a tool call.
    ApprovalId,
    /// One question to the user.
    RequestId,
    /// One attempt of a model call; its output is retracted if it fails.
    AttemptId,
    /// The state of a session after a turn.
    CheckpointId,
}

/// Maximum length of an identifier chosen by a client, in bytes.
pub const MAX_ID_BYTES: usize = 256;

/// Why an identifier chosen by a client is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidId {
    /// It is empty.
    Empty,
    /// It has this many bytes, more than [`MAX_ID_BYTES`].
    TooLong(usize),
    /// It has a control character.
    Control(char),
}

impl fmt::Display for InvalidId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("it is empty"),
            Self::TooLong(bytes) => write!(f, "it has {bytes} bytes, more than {MAX_ID_BYTES}"),
            Self::Control(char) => write!(f, "it contains the control character U+{:04X}", u32::from(*char)),
        }
    }
}

impl std::error::Error for InvalidId {}

/// Checks an identifier chosen by a client: 1 to [`MAX_ID_BYTES`] bytes, no control characters.
///
/// ```
/// use headwater_protocol::{InvalidId, check_id};
///
/// assert_eq!(check_id("tenant/chat-1"), Ok(()));
/// assert_eq!(check_id(""), Err(InvalidId::Empty));
/// assert_eq!(check_id("a\nb"), Err(InvalidId::Control('\n')));
/// ```
///
/// # Errors
/// The violated rule.
pub fn check_id(text: &str) -> Result<(), InvalidId> {
    if text.is_empty() {
        return Err(InvalidId::Empty);
    }
    if text.len() > MAX_ID_BYTES {
        return Err(InvalidId::TooLong(text.len()));
    }
    match text.chars().find(|char| char.is_control()) {
        Some(char) => Err(InvalidId::Control(char)),
        None => Ok(()),
    }
}

/// Whether an identifier is positional or a placeholder: an empty text, `default`, or a counter of a
/// framework. All visitors of such a page send the same one, so it identifies nothing.
///
/// | framework | forms |
/// |---|---|
/// | React, `useId` | `:r0:`, `:R1a:`, `«r0»`, `_r_1_`, `_R_1H1_`; with an `identifierPrefix` `:appr0:`, `_appr_1_` |
/// | Vue, `useId` | `v-0`, `v-0-1`; not with an `idPrefix` of the application, which looks like any other name |
/// | Solid, `createUniqueId` | `cl-0`; from a server `00`, `000a10`, in older versions `0-0-1` |
///
/// ```
/// use headwater_protocol::is_positional_id;
///
/// assert!([":r0:", ":R2l6:", "«r1a»", "_r_1_", "_R_0_", "default", ""].iter().all(|id| is_positional_id(id)));
/// assert!([":appr0:", "_appR_1H1_", "v-0", "v-0-12", "cl-3", "000a10", "0-0-1"].iter().all(|id| is_positional_id(id)));
/// assert!(!["chat-1", "r0", ":rows:", "_r_", "_random_", ":r-1:"].iter().any(|id| is_positional_id(id)));
/// assert!(!["v-", "v-1a", "cl-", "clue-1", "42", "0a1", "0-a", "v0"].iter().any(|id| is_positional_id(id)));
/// ```
#[must_use]
pub fn is_positional_id(text: &str) -> bool {
    text.is_empty()
        || text.eq_ignore_ascii_case("default")
        || is_react_id(text)
        || text.strip_prefix("v-").is_some_and(is_number_path)
        || text.strip_prefix("cl-").is_some_and(is_number_path)
        || (text.starts_with('0') && (is_number_path(text) || is_solid_path(text)))
}

/// An id of React's `useId`: a counter between two delimiters, after `r` or `R` and the application's prefix,
/// if any.
fn is_react_id(text: &str) -> bool {
    let between = |before: &str, after: &str| text.strip_prefix(before)?.strip_suffix(after);
    let plain = [between(":", ":"), between("\u{ab}", "\u{bb}")];
    let counted = |inner: &str| inner.rsplit_once(['r', 'R']).is_some_and(|(_, counter)| is_counter(counter));
    if plain
        .into_iter()
        .flatten()
        .any(|inner| inner.split_at_checked(1).is_some_and(is_bare) || counted(inner))
    {
        return true;
    }
    between("_", "_")
        .and_then(|inner| inner.rsplit_once('_'))
        .is_some_and(|(prefix, counter)| prefix.ends_with(['r', 'R']) && is_counter(counter))
}

/// Without a prefix the counter may contain an `r`, which is one of its digits.
fn is_bare((sign, counter): (&str, &str)) -> bool {
    matches!(sign, "r" | "R") && is_counter(counter)
}

/// A counter of React: digits in base 32; if a component has several ids, `H` and another counter.
fn is_counter(text: &str) -> bool {
    let digits = |text: &str| {
        text.len() <= 16 && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'v').contains(&byte))
    };
    match text.split_once('H') {
        Some((path, local)) => digits(path) && digits(local),
        None => !text.is_empty() && digits(text),
    }
}

/// Numbers separated by `-`.
fn is_number_path(text: &str) -> bool {
    text.split('-').all(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A path from Solid's root to a component: each step is a number, preceded by a letter for the number of
/// additional digits.
fn is_solid_path(text: &str) -> bool {
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = match first {
            b'0'..=b'9' => 0,
            b'a'..=b'i' => usize::from(first - b'a') + 2,
            _ => return false,
        };
        let Some((number, after)) = after.split_at_checked(digits) else { return false };
        if !number.iter().all(u8::is_ascii_digit) {
            return false;
        }
        rest = after;
    }
    true
}
