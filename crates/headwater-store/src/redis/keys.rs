//! The names of the store's keys.

use crate::JournalId;

/// The names of the keys.
#[derive(Debug)]
pub(super) struct Keys {
    pub(super) base: String,
    pub(super) format: String,
    /// The names of all journals, the keys of all values.
    pub(super) names: String,
    pub(super) keys: String,
    /// Journals by the end of their lease, closed journals and values by the time when they go.
    pub(super) leases: String,
    pub(super) going: String,
    pub(super) expiring: String,
    pub(super) numbers: String,
    pub(super) channel: String,
    pub(super) journal: String,
    pub(super) stream: String,
    pub(super) value: String,
    /// Streams of journals that are being restored, and the times when those that do not continue are removed.
    pub(super) staged: String,
    pub(super) unfinished: String,
}

impl Keys {
    pub(super) fn new(base: String) -> Self {
        let key = |name: &str| format!("{base}{name}");
        Self {
            format: key("format"),
            names: key("names"),
            keys: key("keys"),
            leases: key("leases"),
            going: key("going"),
            expiring: key("expiring"),
            numbers: key("numbers"),
            channel: key("changes"),
            journal: key("j:"),
            stream: key("s:"),
            value: key("v:"),
            staged: key("r:"),
            unfinished: key("unfinished"),
            base,
        }
    }

    pub(super) fn journal(&self, journal: &JournalId) -> String {
        format!("{}{journal}", self.journal)
    }

    pub(super) fn stream(&self, journal: &JournalId) -> String {
        format!("{}{journal}", self.stream)
    }

    pub(super) fn value(&self, key: &str) -> String {
        format!("{}{key}", self.value)
    }

    pub(super) fn staged(&self, journal: &JournalId) -> String {
        format!("{}{journal}", self.staged)
    }
}
