//! A turn as the sender describes it, and the handle returned to the sender.

use std::time::Duration;

use headwater_protocol::{CheckpointId, Message, MessageId, Role, RunId};
use headwater_store::{Expect, WriteOp};

use super::{Session, head::VersionedHead, options::WhenBusy, turn_message::TurnMessage};
use crate::{
    Error, Result,
    error::ErrorKind,
    keys,
    run::{Run, Runs, Start},
};

/// Polling interval for changes of a session: a store may deliver a notification late or not at all.
pub(super) const POLL: Duration = Duration::from_secs(1);

/// Input of a session: a message with its options.
///
/// ```
/// use headwater_runtime::{Start, Turn};
///
/// let turn = Turn::new("Write a launch email").label("the email");
/// let other = Turn::from(Start::new("And now in French").workflow("translate"));
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct Turn {
    pub(super) start: Start,
    message: Option<Message>,
    label: Option<String>,
    keys: Vec<String>,
    /// Those of its keys that identify a request.
    pub(super) requests: Vec<String>,
    /// The key of a value that maps to its run, and how long that value is kept.
    pub(super) run_name: Option<(String, Duration)>,
    pub(super) after: Option<ShownMessages>,
    pub(super) when_busy: Option<WhenBusy>,
}

/// The messages that a turn follows.
#[derive(Debug, Clone)]
pub(super) struct ShownMessages {
    pub(super) messages: Vec<Message>,
    /// Whether all of them must be known to the session.
    pub(super) known: bool,
}

impl Turn {
    /// A turn with a text message.
    pub fn new(text: impl Into<String>) -> Self {
        Start::new(text).into()
    }

    /// Sets the person's message as the page has it, with files and its own id, instead of one built from the
    /// text.
    pub fn message(mut self, message: Message) -> Self {
        self.message = Some(message);
        self
    }

    /// Sets the label; the default is the beginning of the text.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Adds an idempotency key: a key of the request, or the page's id of the message or of the run. May be
    /// called several times. Sending with a key of the session's last turn returns that turn and starts
    /// nothing.
    ///
    /// ```
    /// use headwater_runtime::Turn;
    ///
    /// let turn = Turn::new("Pay the invoice").key("request-17").key("message-4");
    /// ```
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.keys.push(key.into());
        self
    }

    /// Adds the key of a request. A later request with the same key returns the same turn for as long as runs
    /// are kept, even if other turns followed. May be called several times.
    ///
    /// ```
    /// use headwater_runtime::Turn;
    ///
    /// let turn = Turn::new("Pay the invoice").request_key("request-17");
    /// ```
    pub fn request_key(mut self, key: impl Into<String>) -> Self {
        let key = key.into();
        self.requests.push(key.clone());
        self.key(key)
    }

    /// Writes `{"run": "…"}` as the value of this key, kept for the given time. It is written together with
    /// the turn if that starts at once, which [`TurnHandle::named`] reports, and otherwise not at all.
    pub fn run_name(mut self, key: impl Into<String>, keep: Duration) -> Self {
        self.run_name = Some((key.into(), keep));
        self
    }

    /// Sets the messages that the turn follows, as its page shows them. If the session is elsewhere, it goes
    /// back to the last common turn and branches there: the run sees the conversation of the page. The
    /// replaced turns are kept as variants. Messages unknown to the session become a turn without a run.
    ///
    /// ```
    /// use headwater_runtime::Turn;
    ///
    /// // The page was cleared, and begins anew.
    /// let turn = Turn::new("Another question").after(Vec::new());
    /// ```
    pub fn after(mut self, messages: Vec<Message>) -> Self {
        self.after = Some(ShownMessages { messages, known: false });
        self
    }

    /// As [`Turn::after`], but refuses messages that are unknown to the session.
    pub fn after_known(mut self, messages: Vec<Message>) -> Self {
        self.after = Some(ShownMessages { messages, known: true });
        self
    }

    /// Sets the policy if a run of the session is active; the default is [`SessionOptions::when_busy`].
    ///
    /// [`SessionOptions::when_busy`]: crate::SessionOptions::when_busy
    pub fn when_busy(mut self, when: WhenBusy) -> Self {
        self.when_busy = Some(when);
        self
    }

    pub(super) fn requests(&self) -> &[String] {
        &self.requests
    }

    pub(super) fn keys(&self) -> &[String] {
        &self.keys
    }

    /// The message that the turn sends.
    pub(super) fn says(&self) -> Message {
        self.message.clone().unwrap_or_else(|| Message::text("", Role::User, self.start.input()))
    }

    /// Refuses turns that can never start.
    pub(super) fn check(&self, runs: &Runs) -> Result<()> {
        self.start.check(&runs.env.options)?;
        match self.start.named_workflow() {
            Some(named) => runs.workflows.newest(named).map(drop),
            None => Ok(()),
        }
    }

    /// The write that maps the name to its run.
    pub(super) fn name_write(&self, run: &RunId) -> Option<WriteOp> {
        let (key, keep) = self.run_name.clone()?;
        let bytes = serde_json::json!({ "run": run }).to_string().into();
        Some(WriteOp::Put { key, bytes, expect: Expect::Any, ttl: Some(keep) })
    }

    pub(super) fn said(self, run: &RunId) -> TurnMessage {
        let (workflow, mut spec) = self.start.into_parts();
        // The session holds the conversation; the sender's copy may be older.
        spec.messages.clear();
        let message = message(self.message, &spec.input, run);
        TurnMessage { message, keys: self.keys, label: self.label, workflow, spec }
    }

    /// The edited turn: fields not given keep their old values, except for the message.
    pub(super) fn edited(self, run: &RunId, before: TurnMessage) -> TurnMessage {
        let (workflow, spec) = self.start.instead_of(before.workflow, before.spec);
        let message = message(self.message, &spec.input, run);
        TurnMessage { message, keys: self.keys, label: self.label, workflow, spec }
    }

    /// The old message with the new request's fields. Its keys still identify it.
    pub(super) fn repeated(self, before: TurnMessage) -> TurnMessage {
        let TurnMessage { message, mut keys, label, workflow, spec } = before;
        let input = spec.input.clone();
        let (workflow, mut spec) = self.start.instead_of(workflow, spec);
        spec.input = input;
        for key in self.keys {
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        TurnMessage { message, keys, label: self.label.or(label), workflow, spec }
    }
}

/// The message of a person: the page's own, or one built from the text.
fn message(given: Option<Message>, text: &str, run: &RunId) -> Message {
    given.unwrap_or_else(|| Message::text(MessageId::from(format!("msg_user_{run}")), Role::User, text))
}

impl From<Start> for Turn {
    fn from(start: Start) -> Self {
        Self {
            start,
            message: None,
            label: None,
            keys: Vec::new(),
            requests: Vec::new(),
            run_name: None,
            after: None,
            when_busy: None,
        }
    }
}

impl From<&str> for Turn {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Turn {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

/// A durable turn, running or queued.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TurnHandle {
    /// The run of the turn.
    pub run: RunId,
    /// The checkpoint that it will write.
    pub checkpoint: CheckpointId,
    /// Whether it is queued behind other turns.
    pub queued: bool,
    /// Whether it was sent before, so that this call started nothing.
    pub repeated: bool,
    /// Whether the value that [maps to its run](Turn::run_name) was written.
    pub named: bool,
    /// Whether it has started, as far as its sender knows.
    pub(super) has_begun: bool,
    pub(super) session: Session,
}

impl TurnHandle {
    /// Waits until the turn has started, and returns its run.
    ///
    /// # Errors
    /// When it can never start, or the store fails.
    pub async fn begun(&self) -> Result<Run> {
        let sessions = &self.session.sessions;
        if self.has_begun {
            return Ok(self.session.sessions.runs.handle(self.run.clone()));
        }
        let mut watches = None;
        loop {
            let VersionedHead { head, .. } = self.session.reconcile().await?;
            let run = self.session.sessions.runs.handle(self.run.clone());
            let there = sessions.env.store.info(&self.run.as_str().into()).await?.is_some();
            let going = head.active.iter().chain(&head.queue).any(|turn| turn.run == self.run);
            // A run has a journal a moment before its summary exists.
            match run.summary().await {
                Ok(_) if there => return Ok(run),
                Err(error) if error.kind() != ErrorKind::UnknownRun => return Err(error),
                _ if there && !going => return Ok(run),
                _ => {}
            }
            if !going {
                let message =
                    format!("the turn of run {} never began: another message came before it", self.run);
                return Err(Error::new(ErrorKind::SessionBusy, message).with_code("turn.replaced"));
            }
            let Some((session, summary)) = &mut watches else {
                // A run started by another process does not change the head.
                let session = sessions.env.store.watch(&keys::session(&self.session.key));
                watches = Some((session, sessions.env.store.watch(&keys::run(&self.run))));
                continue;
            };
            tokio::select! {
                () = session.changed() => {}
                () = summary.changed() => {}
                () = tokio::time::sleep(POLL) => {}
            }
        }
    }
}
