//! A turn as its sender describes it, and as the sender holds it afterwards.

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

/// How long a change of the session is waited for before it is read again: a store may deliver a notification late or not at
/// all.
pub(super) const POLL: Duration = Duration::from_secs(1);

/// What a person sends to a session.
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
    /// Those of its keys that name a request.
    pub(super) requests: Vec<String>,
    /// The key of a value that names its run, and for how long that is kept.
    pub(super) run_name: Option<(String, Duration)>,
    pub(super) after: Option<ShownMessages>,
    pub(super) when_busy: Option<WhenBusy>,
}

/// The messages that a turn comes after.
#[derive(Debug, Clone)]
pub(super) struct ShownMessages {
    pub(super) messages: Vec<Message>,
    /// Whether the session must have them all.
    pub(super) known: bool,
}

impl Turn {
    /// Says something.
    pub fn new(text: impl Into<String>) -> Self {
        Start::new(text).into()
    }

    /// Gives the person's message as the page has it, with files and its own id, instead of one that is made of the
    /// text.
    pub fn message(mut self, message: Message) -> Self {
        self.message = Some(message);
        self
    }

    /// Names the turn for people; otherwise the beginning of the text.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Names the turn for machines: a key of the request, the page's id of the message or of the run. May be called several
    /// times. What is sent with a key of the session's last turn is that turn again, and begins nothing.
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

    /// Names the request that asks for the turn. A request with the same key gets the same turn for as long as runs are
    /// kept, whatever the session has done since. May be called several times.
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

    /// Names the run: the value of this key becomes `{"run": "…"}`, for as long as given. It is written with the turn if that
    /// begins at once, which [`TurnHandle::named`] reports, and otherwise not at all.
    pub fn run_name(mut self, key: impl Into<String>, keep: Duration) -> Self {
        self.run_name = Some((key.into(), keep));
        self
    }

    /// Says after which messages it comes, as its page shows them. Where that is not where the session stands, the session
    /// goes back to the last turn that both have, and branches there: what the run gets of the conversation is what the
    /// page shows. The turns that were there are kept as variants. Messages that the session never had become a turn
    /// without a run.
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

    /// As [`Turn::after`], for messages that are all the session's own: others are refused.
    pub fn after_known(mut self, messages: Vec<Message>) -> Self {
        self.after = Some(ShownMessages { messages, known: true });
        self
    }

    /// Sets what happens if a run of the session is active; otherwise [`SessionOptions::when_busy`] does.
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

    /// What is said, as a message.
    pub(super) fn says(&self) -> Message {
        self.message.clone().unwrap_or_else(|| Message::text("", Role::User, self.start.input()))
    }

    /// Refuses what no turn can be begun with.
    pub(super) fn check(&self, runs: &Runs) -> Result<()> {
        self.start.check(&runs.env.options)?;
        match self.start.named_workflow() {
            Some(named) => runs.workflows.newest(named).map(drop),
            None => Ok(()),
        }
    }

    /// What names its run.
    pub(super) fn name_write(&self, run: &RunId) -> Option<WriteOp> {
        let (key, keep) = self.run_name.clone()?;
        let bytes = serde_json::json!({ "run": run }).to_string().into();
        Some(WriteOp::Put { key, bytes, expect: Expect::Any, ttl: Some(keep) })
    }

    pub(super) fn said(self, run: &RunId) -> TurnMessage {
        let (workflow, mut spec) = self.start.into_parts();
        // The session knows the conversation; the sender may have an older one.
        spec.messages.clear();
        let message = message(self.message, &spec.input, run);
        TurnMessage { message, keys: self.keys, label: self.label, workflow, spec }
    }

    /// What is said in the place of what was said before. What is not said now is as it was, but for the message.
    pub(super) fn edited(self, run: &RunId, before: TurnMessage) -> TurnMessage {
        let (workflow, spec) = self.start.replacing(before.workflow, before.spec);
        let message = message(self.message, &spec.input, run);
        TurnMessage { message, keys: self.keys, label: self.label, workflow, spec }
    }

    /// The message of before, for the request of now. Its keys still name it.
    pub(super) fn repeated(self, before: TurnMessage) -> TurnMessage {
        let TurnMessage { message, mut keys, label, workflow, spec } = before;
        let input = spec.input.clone();
        let (workflow, mut spec) = self.start.replacing(workflow, spec);
        spec.input = input;
        for key in self.keys {
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        TurnMessage { message, keys, label: self.label.or(label), workflow, spec }
    }
}

/// What a person wrote as a message: the page's own, or one that is made of the text.
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

/// A turn that was sent: durable, and going or waiting for its turn.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TurnHandle {
    /// The run of the turn.
    pub run: RunId,
    /// The checkpoint that it will leave.
    pub checkpoint: CheckpointId,
    /// Whether it waits for the turns before it.
    pub queued: bool,
    /// Whether it had been sent before: nothing was begun by sending it again.
    pub repeated: bool,
    /// Whether the value that [names its run](Turn::run_name) was written.
    pub named: bool,
    /// Whether it has begun, as far as its sender knows.
    pub(super) has_begun: bool,
    pub(super) session: Session,
}

impl TurnHandle {
    /// Waits until the turn has begun, and gives its run.
    ///
    /// # Errors
    /// When it can never begin, or the store fails.
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
            // A run is known by its name only a moment after it has a journal.
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
                // That another process has begun the run changes nothing in the head.
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
