//! How an agent treats its sessions.

use std::{future::Future, str::FromStr, time::Duration};

use schemars::JsonSchema;
use serde::Deserialize;

use super::budget::{Summarise, SummaryRequest};
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
    /// What happens to a message that comes while a run of the session is going, where its sender does not say: it waits.
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
    /// Says what happens to a message that comes while a run is going.
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

/// What happens to a message that comes while a run of its session is going.
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
