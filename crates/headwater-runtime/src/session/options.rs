//! Session settings of an agent.

use std::{fmt, future::Future, pin::Pin, str::FromStr, sync::Arc, time::Duration};

use headwater_protocol::{Message, SessionId};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::Result;

/// Session settings of an agent.
///
/// ```
/// use headwater_runtime::{SessionOptions, WhenBusy};
///
/// let options = SessionOptions::default().when_busy(WhenBusy::Refuse).last_messages(20);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SessionOptions {
    /// Policy for a message that arrives while a run is active, unless its sender sets one: `Queue`. A server
    /// chooses its own default if this is not set, because a page's stop button may only close the
    /// connection.
    pub when_busy: Option<WhenBusy>,
    /// Maximum number of queued messages: 16.
    pub max_queue: usize,
    /// Number of earlier messages that a run receives, the newest ones: 50.
    pub last_messages: usize,
    /// Approximate token limit for these messages, at four characters per token.
    pub last_tokens: Option<usize>,
    /// Number of checkpoints kept for rollback; all by default.
    pub keep_checkpoints: Option<usize>,
    /// How long checkpoints are kept for rollback; forever by default.
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
    /// Sets the policy for messages that arrive while a run is active.
    #[must_use]
    pub fn when_busy(mut self, when: WhenBusy) -> Self {
        self.when_busy = Some(when);
        self
    }

    /// Sets the number of earlier messages that a run receives.
    #[must_use]
    pub fn last_messages(mut self, messages: usize) -> Self {
        self.last_messages = messages;
        self
    }

    /// Sets the approximate token limit for these messages.
    #[must_use]
    pub fn last_tokens(mut self, tokens: usize) -> Self {
        self.last_tokens = Some(tokens);
        self
    }

    /// Summarises the messages beyond the run's limits, with a model or otherwise. It is called when the
    /// messages since the last summary no longer fit, for the older half of them. The result is stored and
    /// survives restart, rollback and fork. The run receives it as a system message before the others; if the
    /// call fails, the run starts without it.
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

    /// Sets the number of checkpoints kept for rollback, at least one. The messages of older turns stay.
    #[must_use]
    pub fn keep_checkpoints(mut self, checkpoints: usize) -> Self {
        self.keep_checkpoints = Some(checkpoints.max(1));
        self
    }

    /// Sets how long checkpoints are kept for rollback; the newest one stays. The messages of older turns
    /// stay too.
    #[must_use]
    pub fn keep_for(mut self, time: Duration) -> Self {
        self.keep_for = Some(time);
        self
    }
}

/// Policy for a message that arrives while a run of its session is active.
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
    /// The message is queued.
    #[default]
    Queue,
    /// The message is refused.
    Refuse,
    /// The message stops the run, and runs next. The output of the stopped run is kept.
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

/// Messages to summarise, because they no longer fit into the context of a run.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SummaryRequest {
    /// The session.
    pub session: SessionId,
    /// The owner of the session.
    pub owner: Option<String>,
    /// The messages to drop, oldest first.
    pub dropped: Vec<Message>,
    /// The summary of the messages before them.
    pub previous: Option<String>,
}

pub(super) type Summing = Pin<Box<dyn Future<Output = Result<String>> + Send>>;

/// The function that summarises dropped messages.
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
