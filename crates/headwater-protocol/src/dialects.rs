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

use crate::dialect::Dialect;

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
