//! The wires: our own, and the dialects of other projects. To add a dialect is to add its folder, its module and its
//! line in [`ALL`].

pub mod ag_ui;
pub mod agents;
pub mod ai_sdk;
pub mod kortyx;
pub mod mui;
pub mod native;
pub mod table;
pub mod tanstack;

use crate::{dialect::Dialect, reader::Reader};

/// Every wire that a run can be read in: our own first, then the dialects.
pub static ALL: [&dyn Dialect; 7] = [
    &native::Native,
    &kortyx::Kortyx,
    &tanstack::TanStack,
    &mui::Mui,
    &agents::Agents,
    &ai_sdk::AiSdk,
    &ag_ui::AgUi,
];

/// Our own wire.
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
];

/// The dialects of other projects' chat clients. Each has a chat route; our own wire has routes of its own.
pub static CHAT: &[&dyn Dialect] = match ALL.split_first() {
    Some((_, dialects)) => dialects,
    None => &[],
};

/// The wire of that name.
///
/// ```
/// use headwater_protocol::dialects;
///
/// assert_eq!(dialects::find("ai-sdk").unwrap().name(), "ai-sdk");
/// assert!(dialects::find("morse").is_none());
/// ```
#[must_use]
pub fn find(name: &str) -> Option<&'static dyn Dialect> {
    ALL.into_iter().find(|dialect| dialect.name() == name)
}

/// The reader of the wire of that name.
///
/// ```
/// use headwater_protocol::dialects;
///
/// assert_eq!(dialects::reader("ai-sdk").unwrap().name(), "ai-sdk");
/// ```
#[must_use]
pub fn reader(name: &str) -> Option<&'static dyn Reader> {
    READERS.into_iter().find(|reader| reader.name() == name)
}
