//! Sending something to a session.

use std::time::Duration;

use headwater_protocol::{CheckpointId, Message, MessageId, Role, RunId};
use headwater_store::Expect;

use super::{
    Session, check_name,
    checkpoint::fresh_tree,
    head::{Active, Doing, Head, Said, VersionedHead},
    idempotency::Claim,
    position::Position,
    reconcile::TurnBegin,
};
use crate::{
    Agent, Error, Result, Run, Start, WhenBusy, agent::AgentInner, error::ErrorKind, id::fresh_id, keys,
};

/// How long a change of the session is waited for before it is read again: a store may deliver a notification late or not at
/// all.
const POLL: Duration = Duration::from_secs(1);

/// How long a run that was stopped may take to end before a message that needs its place is refused.
const ROOM: Duration = Duration::from_secs(30);

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
    start: Start,
    message: Option<Message>,
    label: Option<String>,
    keys: Vec<String>,
    /// Those of its keys that name a request.
    requests: Vec<String>,
    after: Option<After>,
    when_busy: Option<WhenBusy>,
}

/// The messages that a turn comes after.
#[derive(Debug, Clone)]
struct After {
    messages: Vec<Message>,
    /// Whether the session must have them all.
    known: bool,
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
        self.after = Some(After { messages, known: false });
        self
    }

    /// As [`Turn::after`], for messages that are all the session's own: others are refused.
    pub fn after_known(mut self, messages: Vec<Message>) -> Self {
        self.after = Some(After { messages, known: true });
        self
    }

    /// Says what happens if a run of the session is going; otherwise [`SessionOptions::when_busy`] does.
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
    pub(super) fn check(&self, agent: &AgentInner) -> Result<()> {
        self.start.check(agent)?;
        match self.start.named_workflow() {
            Some(named) => agent.workflow(named).map(drop),
            None => Ok(()),
        }
    }

    fn said(self, run: &RunId) -> Said {
        let (workflow, mut begun) = self.start.into_parts();
        // The session knows the conversation better than whoever sends something.
        begun.messages.clear();
        let message = message(self.message, &begun.input, run);
        Said { message, keys: self.keys, label: self.label, workflow, begun }
    }

    /// What is said in the place of what was said before. What is not said now is as it was, but for the message.
    pub(super) fn edited(self, run: &RunId, before: Said) -> Said {
        let (workflow, begun) = self.start.instead_of(before.workflow, before.begun);
        let message = message(self.message, &begun.input, run);
        Said { message, keys: self.keys, label: self.label, workflow, begun }
    }

    /// What was said before, for whoever asks now. It is still known by what it was known by.
    pub(super) fn repeated(self, before: Said) -> Said {
        let Said { message, mut keys, label, workflow, begun } = before;
        let input = begun.input.clone();
        let (workflow, mut begun) = self.start.instead_of(workflow, begun);
        begun.input = input;
        for key in self.keys {
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        Said { message, keys, label: self.label.or(label), workflow, begun }
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
pub struct Sent {
    /// The run of the turn.
    pub run: RunId,
    /// The checkpoint that it will leave.
    pub checkpoint: CheckpointId,
    /// Whether it waits for the turns before it.
    pub queued: bool,
    /// Whether it had been sent before: nothing was begun by sending it again.
    pub repeated: bool,
    /// Whether it has begun, as far as its sender knows.
    pub(super) has_begun: bool,
    pub(super) session: Session,
}

impl Sent {
    /// Waits until the turn has begun, and gives its run.
    ///
    /// # Errors
    /// When it can never begin, or the store fails.
    pub async fn begun(&self) -> Result<Run> {
        let agent = &self.session.agent.0;
        if self.has_begun {
            return Ok(self.session.agent.run(self.run.clone()));
        }
        let mut watches = None;
        loop {
            let VersionedHead { head, .. } = self.session.reconcile().await?;
            let run = self.session.agent.run(self.run.clone());
            let there = agent.store.info(&self.run.as_str().into()).await?.is_some();
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
                let session = agent.store.watch(&keys::session(&self.session.key));
                watches = Some((session, agent.store.watch(&keys::run(&self.run))));
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

impl Session {
    /// Says something in the session. It is durable when this returns, and goes on by itself. If a run of the session is
    /// going, [`WhenBusy`] decides. If one waits for an answer, its question is taken back. If it has a [key](Turn::key) of
    /// the session's last turn, or the [key of a request](Turn::request_key) that asked for any turn, that turn is given
    /// back, however it stands.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownSession`], [`ErrorKind::Foreign`], [`ErrorKind::SessionBusy`] where it is refused or too
    /// many wait already, and as [`Agent::check_turn`].
    pub async fn send(&self, turn: impl Into<Turn>) -> Result<Sent> {
        let given = turn.into();
        self.agent.check_turn(&given)?;
        let agent = &self.agent.0;
        let when_busy = given.when_busy.or(agent.sessions.when_busy).unwrap_or_default();
        let (busy, run, checkpoint) = loop {
            let VersionedHead { mut head, version } = self.reconcile().await?;
            if let Some(sent) = self.last_turn_of(&head, given.keys(), None).await? {
                return Ok(sent);
            }
            let (Claim { run, checkpoint }, begun) = self.claim(&head, &given).await?;
            if let Some(sent) = begun {
                return Ok(sent);
            }
            if let Some(after) = &given.after {
                match self.position(&head, &after.messages).await? {
                    Position::Newest => {}
                    Position::Variant(variant) => {
                        self.select(&variant).await?;
                        continue;
                    }
                    // A page that waits its turn has not seen what comes before it yet.
                    _ if head.active.is_some() && when_busy == WhenBusy::Queue => {}
                    _ if head.active.is_some() && when_busy == WhenBusy::Refuse => return Err(self.busy()),
                    _ if head.active.is_some() => {
                        self.make_room().await?;
                        continue;
                    }
                    Position::Earlier(to) => self.branch_at(&mut head, to.as_ref(), Vec::new()).await?,
                    Position::Apart(..) if after.known => {
                        let message = format!(
                            "the page shows messages that session {} does not have: load the conversation again",
                            self.id
                        );
                        return Err(Error::new(ErrorKind::Input, message).with_code("history.differs"));
                    }
                    Position::Apart(to, messages) => self.branch_at(&mut head, to.as_ref(), messages).await?,
                }
            }
            let mut said = given.clone().said(&run);
            // Until it begins: when it was sent.
            said.begun.created = agent.now();
            let doing = Doing::Message(Box::new(said));
            let turn = Active { run: run.clone(), checkpoint: checkpoint.clone(), doing };
            let busy = head.active.as_ref().map(|active| active.run.clone());
            match busy {
                None => {
                    head.leave_waiting();
                    head.active = Some(turn);
                }
                Some(_) if when_busy == WhenBusy::Refuse => return Err(self.busy()),
                Some(_) if head.queue.len() >= agent.sessions.max_queue => {
                    let message =
                        format!("{} messages wait in session {} already", head.queue.len(), self.id);
                    return Err(Error::new(ErrorKind::SessionBusy, message).with_code("session.queue-full"));
                }
                Some(_) => {
                    // Before it is promised: if this process dies, another one finds the session.
                    agent.note_queue(&self.key).await?;
                    head.queue.push_back(turn);
                }
            }
            if busy.is_none() {
                match agent.begin_turn(head, Expect::Version(version)).await? {
                    TurnBegin::Conflict => continue,
                    begin => return Ok(self.sent_as(run, checkpoint, begin)),
                }
            }
            if agent.swap(head, version).await? {
                break (busy, run, checkpoint);
            }
        };
        agent.reconcile(&self.key).await?;
        if let (Some(going), WhenBusy::Stop) = (&busy, when_busy) {
            self.stop_run(going, Some("another message came")).await?;
        }
        Ok(Sent { queued: true, ..self.sent_as(run, checkpoint, TurnBegin::Written) })
    }

    /// Stops what is going in the session, and gives its run. What was said is kept; what waits for its turn goes on. The
    /// reason is shown to readers of the run.
    ///
    /// # Errors
    /// As [`Session::info`].
    pub async fn stop(&self, reason: Option<&str>) -> Result<Option<Run>> {
        match self.reconcile().await?.head.active {
            Some(active) => self.stop_run(&active.run, reason).await,
            None => Ok(None),
        }
    }

    /// Stops what is going, takes back what waits for its turn, and waits until nothing goes on.
    ///
    /// # Errors
    /// [`ErrorKind::SessionBusy`] when what is going does not end within half a minute, and as [`Session::info`].
    pub async fn make_room(&self) -> Result<()> {
        let agent = &self.agent.0;
        let deadline = tokio::time::Instant::now() + ROOM;
        let mut watch = agent.store.watch(&keys::session(&self.key));
        loop {
            let VersionedHead { mut head, version } = self.reconcile().await?;
            if !head.queue.is_empty() {
                head.queue.clear();
                agent.swap(head, version).await?;
                continue;
            }
            let Some(active) = head.active else { return Ok(()) };
            // Its process may have died a moment ago, or its workflow may not be known here.
            if tokio::time::Instant::now() >= deadline {
                return Err(self.busy());
            }
            self.stop_run(&active.run, Some("another message came")).await?;
            let _ = tokio::time::timeout(POLL, watch.changed()).await;
        }
    }

    async fn stop_run(&self, run: &RunId, reason: Option<&str>) -> Result<Option<Run>> {
        match self.agent.stop(run, reason).await {
            Err(error) if matches!(error.kind(), ErrorKind::Ended | ErrorKind::UnknownRun) => Ok(None),
            stopped => stopped.map(Some),
        }
    }

    /// Waits until nothing is going in the session: each turn has ended, or waits for an answer.
    ///
    /// # Errors
    /// As [`Session::info`].
    pub async fn settled(&self) -> Result<()> {
        let mut watch = self.agent.0.store.watch(&keys::session(&self.key));
        loop {
            let head = self.reconcile().await?.head;
            if head.active.is_none() && head.queue.is_empty() {
                return Ok(());
            }
            let _ = tokio::time::timeout(POLL, watch.changed()).await;
        }
    }

    /// A turn that was sent just now.
    pub(super) fn sent_as(&self, run: RunId, checkpoint: CheckpointId, begin: TurnBegin) -> Sent {
        let has_begun = begin == TurnBegin::Begun;
        Sent { run, checkpoint, queued: false, repeated: false, has_begun, session: self.clone() }
    }

    pub(super) fn busy(&self) -> Error {
        let message = format!("a run of session {} is going: wait for it, or stop it", self.id);
        Error::new(ErrorKind::SessionBusy, message)
    }
}

impl Agent {
    /// Begins a session with its first turn. A session that is there gets it as its next turn.
    ///
    /// # Errors
    /// As [`Agent::open_session`] and [`Session::send`].
    pub async fn send_to(
        &self,
        id: Option<&str>,
        owner: Option<&str>,
        turn: impl Into<Turn>,
    ) -> Result<Sent> {
        let given = turn.into();
        let id = match id {
            Some(id) => id.to_owned(),
            None => fresh_id("session")?,
        };
        // A request that can come again claims names in the tree of a session, so the session must be there.
        if !given.requests.is_empty() {
            return self.open_session(id, owner).await?.send(given).await;
        }
        self.check_turn(&given)?;
        let session = self.session(id, owner);
        check_name(&session.id)?;
        if self.0.load_head(&session.key).await?.is_none() {
            let mut head = Head::new(session.id.clone(), fresh_tree()?, &self.0, session.owner.clone());
            let Claim { run, checkpoint } = Claim::fresh(&head.tree)?;
            let mut said = given.clone().said(&run);
            said.begun.created = self.0.now();
            let doing = Doing::Message(Box::new(said));
            head.active = Some(Active { run: run.clone(), checkpoint: checkpoint.clone(), doing });
            match self.0.begin_turn(head, Expect::Absent).await? {
                TurnBegin::Conflict => {}
                begin => return Ok(session.sent_as(run, checkpoint, begin)),
            }
        }
        session.send(given).await
    }

    /// Refuses a turn that could not begin, before a session is begun for it.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownWorkflow`], [`ErrorKind::Input`] when the tool choice is invalid, or [`ErrorKind::Limit`] when
    /// data or context is too large.
    pub fn check_turn(&self, turn: &Turn) -> Result<()> {
        turn.check(&self.0)?;
        self.0.chosen_workflow(turn.start.named_workflow()).map(drop)
    }
}

impl Sent {
    /// The agent of the session.
    #[must_use]
    pub fn agent(&self) -> &Agent {
        &self.session.agent
    }
}
