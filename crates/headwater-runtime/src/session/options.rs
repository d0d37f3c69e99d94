//! How an agent treats its sessions.

/// How an agent treats its sessions.
///
/// ```
/// use headwater_runtime::{SessionOptions, WhenBusy};
///
/// let options = SessionOptions::default().when_busy(WhenBusy::Refuse).last_messages(20);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SessionOptions {
    /// What happens to a message that comes while a run of the session is going.
    pub when_busy: WhenBusy,
    /// How many messages may wait for their turn: 16.
    pub max_queue: usize,
    /// How many of the messages before a turn its run gets, the newest: 50.
    pub last_messages: usize,
    /// About how many tokens these may have, four characters being one.
    pub last_tokens: Option<usize>,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self { when_busy: WhenBusy::Queue, max_queue: 16, last_messages: 50, last_tokens: None }
    }
}

impl SessionOptions {
    /// Says what happens to a message that comes while a run is going.
    #[must_use]
    pub fn when_busy(mut self, when: WhenBusy) -> Self {
        self.when_busy = when;
        self
    }

    /// Says how many messages a run gets of the conversation before it.
    #[must_use]
    pub fn last_messages(mut self, messages: usize) -> Self {
        self.last_messages = messages;
        self
    }

    /// Says about how many tokens these may have.
    #[must_use]
    pub fn last_tokens(mut self, tokens: usize) -> Self {
        self.last_tokens = Some(tokens);
        self
    }
}

/// What happens to a message that comes while a run of its session is going.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum WhenBusy {
    /// It waits for its turn.
    #[default]
    Queue,
    /// It is refused.
    Refuse,
    /// It stops the run, and then has its turn. What the run had said is kept.
    Stop,
}
