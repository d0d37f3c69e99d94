//! How an agent treats its sessions.

use std::{fmt, future::Future, pin::Pin, str::FromStr, sync::Arc, time::Duration};

use headwater_protocol::{Message, SessionId};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::Result;

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
    /// What happens to a message that arrives while a run of the session is active, unless its sender decides: it is queued.
    /// Servers know it better where this is not set: a page's stop button may only close the connection.
    pub when_busy: Option<WhenBusy>,
    /// How many messages may wait for their turn: 16.
    pub max_queue: usize,
    /// How many of the messages before a turn its run gets, the newest: 50.
    pub last_messages: usize,
    /// About how many tokens these may have, four characters being one.
    pub last_tokens: Option<usize>,
    /// How many checkpoints a session keeps to go back to: all.
    pub keep_checkpoints: Option<usize>,
    /// How long it keeps them: for ever.
    pub keep_for: Option<Duration>,
    pub(crate) summarise: Option<Summarise>,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self {
            when_busy: None,
            max_queue: 16,
            last_messages: 50,
            last_tokens: None,
            keep_checkpoints: None,
            keep_for: None,
            summarise: None,
        }
    }
}

impl SessionOptions {
    /// Sets what happens to a message that arrives while a run is active.
    #[must_use]
    pub fn when_busy(mut self, when: WhenBusy) -> Self {
        self.when_busy = Some(when);
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

    /// Sums up what a run does not get, by a model or otherwise. It is done when the messages since the last summary no
    /// longer fit, for the older half of them, and its result is kept: it is not done again after a restart, a roll back or a
    /// fork. The run gets it as a system message before the others. If it fails, the run goes without.
    ///
    /// ```
    /// use headwater_runtime::{SessionOptions, SummaryRequest};
    ///
    /// let options = SessionOptions::default().last_messages(20).summarise(|request: SummaryRequest| async move {
    ///     let before = request.previous.unwrap_or_default();
    ///     Ok(format!("{before} {} messages.", request.dropped.len()))
    /// });
    /// ```
    #[must_use]
    pub fn summarise<F, R>(mut self, sum_up: F) -> Self
    where
        F: Fn(SummaryRequest) -> R + Send + Sync + 'static,
        R: Future<Output = Result<String>> + Send + 'static,
    {
        self.summarise = Some(Summarise::new(sum_up));
        self
    }

    /// Says how many checkpoints a session keeps to go back to, at least one. What was said in older turns stays.
    #[must_use]
    pub fn keep_checkpoints(mut self, checkpoints: usize) -> Self {
        self.keep_checkpoints = Some(checkpoints.max(1));
        self
    }

    /// Says how long a session keeps checkpoints to go back to; the newest one stays. What was said in older turns stays
    /// too.
    #[must_use]
    pub fn keep_for(mut self, time: Duration) -> Self {
        self.keep_for = Some(time);
        self
    }
}

/// What happens to a message that arrives while a run of its session is active.
///
/// ```
/// use headwater_runtime::WhenBusy;
///
/// assert_eq!("stop".parse(), Ok(WhenBusy::Stop));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
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

impl FromStr for WhenBusy {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text {
            "queue" => Ok(Self::Queue),
            "refuse" => Ok(Self::Refuse),
            "stop" => Ok(Self::Stop),
            _ => Err(format!("`{text}` is not one of `stop`, `queue` and `refuse`")),
        }
    }
}

/// What is to be summed up, because it no longer fits in what a run gets of the conversation.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SummaryRequest {
    /// The session.
    pub session: SessionId,
    /// Whose it is.
    pub owner: Option<String>,
    /// The messages that go, oldest first.
    pub dropped: Vec<Message>,
    /// The summary of what went before them.
    pub previous: Option<String>,
}

pub(super) type Summing = Pin<Box<dyn Future<Output = Result<String>> + Send>>;

/// Sums up what a run does not get.
#[derive(Clone)]
pub(crate) struct Summarise(pub(super) Arc<dyn Fn(SummaryRequest) -> Summing + Send + Sync>);

impl fmt::Debug for Summarise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Summarise(..)")
    }
}

impl Summarise {
    fn new<F, R>(sum_up: F) -> Self
    where
        F: Fn(SummaryRequest) -> R + Send + Sync + 'static,
        R: Future<Output = Result<String>> + Send + 'static,
    {
        Self(Arc::new(move |request| Box::pin(sum_up(request))))
    }
}
