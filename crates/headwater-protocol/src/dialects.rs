//! The dialects. To add one is to add its folder, its module and its line in [`ALL`].

pub mod ag_ui;
pub mod agents;
pub mod ai_sdk;
pub mod kortyx;
pub mod mui;
pub mod table;
pub mod tanstack;

use crate::dialect::Dialect;

/// Every dialect.
pub static ALL: [&dyn Dialect; 6] =
    [&kortyx::Kortyx, &tanstack::TanStack, &mui::Mui, &agents::Agents, &ai_sdk::AiSdk, &ag_ui::AgUi];

/// The dialect of that name.
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
