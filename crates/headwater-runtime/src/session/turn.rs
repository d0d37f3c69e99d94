//! Sending something to a session.

use headwater_protocol::{CheckpointId, Message, MessageId, Role, RunId};

use super::{
    Session,
    head::{Active, Doing, Said, Seen, key},
    look::fresh_checkpoint,
};
use crate::{Agent, Error, Result, Run, Start, WhenBusy, agent::fresh_run, error::ErrorKind};

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

    fn said(self, run: &RunId) -> Said {
        let (workflow, mut begun) = self.start.into_parts();
        // The session knows the conversation better than whoever sends something.
        begun.messages.clear();
        let message = self.message.unwrap_or_else(|| {
            Message::text(MessageId::from(format!("msg_user_{run}")), Role::User, begun.input.clone())
        });
        Said { message, label: self.label, workflow, begun }
    }
}

impl From<Start> for Turn {
    fn from(start: Start) -> Self {
        Self { start, message: None, label: None }
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
    session: Session,
}

impl Sent {
    /// Waits until the turn has begun, and gives its run.
    ///
    /// # Errors
    /// When it can never begin, or the store fails.
    pub async fn begun(&self) -> Result<Run> {
        let agent = &self.session.agent.0;
        let mut watch = agent.store.watch(&key(&self.session.id));
        loop {
            let Seen { head, .. } = self.session.seen().await?;
            if agent.store.info(&self.run.as_str().into()).await?.is_some() {
                return Ok(self.session.agent.run(self.run.clone()));
            }
            let mut turns = head.active.iter().chain(&head.queue);
            if !turns.any(|turn| turn.run == self.run) {
                let message = format!("the turn of run {} never began: send it again", self.run);
                return Err(Error::new(ErrorKind::UnknownRun, message));
            }
            watch.changed().await;
        }
    }
}

impl Session {
    /// Says something in the session. It is durable when this returns, and goes on by itself. If a run of the session is
    /// going, [`WhenBusy`] decides. If one waits for an answer, its question is taken back.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownSession`], [`ErrorKind::Foreign`], [`ErrorKind::SessionBusy`] where it is refused or too
    /// many wait already, [`ErrorKind::UnknownWorkflow`].
    pub async fn send(&self, turn: impl Into<Turn>) -> Result<Sent> {
        let run = fresh_run()?;
        let said = turn.into().said(&run);
        self.agent.0.chosen_workflow(said.workflow.as_deref())?;
        let doing = Doing::Message(Box::new(said));
        let turn = Active { run, checkpoint: fresh_checkpoint()?, doing };
        let agent = &self.agent.0;
        let busy = loop {
            let Seen { mut head, version } = self.seen().await?;
            let busy = head.active.as_ref().map(|active| active.run.clone());
            match busy {
                None => {
                    head.leave_waiting();
                    head.active = Some(turn.clone());
                }
                Some(_) if agent.sessions.when_busy == WhenBusy::Refuse => return Err(self.busy()),
                Some(_) if head.queue.len() >= agent.sessions.max_queue => {
                    let message =
                        format!("{} messages wait in session {} already", head.queue.len(), self.id);
                    return Err(Error::new(ErrorKind::SessionBusy, message).with_code("session.queue-full"));
                }
                Some(_) => {
                    // Before it is promised: if this process dies, another one finds the session.
                    agent.note_queue(&self.id).await?;
                    head.queue.push_back(turn.clone());
                }
            }
            if agent.swap(head, version).await? {
                break busy;
            }
        };
        agent.look(&self.id).await?;
        if let (Some(going), WhenBusy::Stop) = (&busy, agent.sessions.when_busy) {
            self.stop_run(going).await?;
        }
        let Active { run, checkpoint, .. } = turn;
        Ok(Sent { run, checkpoint, queued: busy.is_some(), session: self.clone() })
    }

    /// Stops what is going in the session. What was said is kept; what waits for its turn goes on.
    ///
    /// # Errors
    /// As [`Session::info`].
    pub async fn stop(&self) -> Result<()> {
        match self.seen().await?.head.active {
            Some(active) => self.stop_run(&active.run).await,
            None => Ok(()),
        }
    }

    async fn stop_run(&self, run: &RunId) -> Result<()> {
        match self.agent.stop(run, Some("another message came")).await {
            Err(error) if !matches!(error.kind(), ErrorKind::Ended | ErrorKind::UnknownRun) => Err(error),
            _ => Ok(()),
        }
    }

    /// Waits until nothing is going in the session: each turn has ended, or waits for an answer.
    ///
    /// # Errors
    /// As [`Session::info`].
    pub async fn settled(&self) -> Result<()> {
        let mut watch = self.agent.0.store.watch(&key(&self.id));
        loop {
            let head = self.seen().await?.head;
            if head.active.is_none() && head.queue.is_empty() {
                return Ok(());
            }
            watch.changed().await;
        }
    }

    pub(super) fn sent(&self, turn: Active) -> Sent {
        Sent { run: turn.run, checkpoint: turn.checkpoint, queued: false, session: self.clone() }
    }

    pub(super) fn busy(&self) -> Error {
        let message = format!("a run of session {} is going: wait for it, or stop it", self.id);
        Error::new(ErrorKind::SessionBusy, message)
    }
}

impl Sent {
    /// The agent of the session.
    #[must_use]
    pub fn agent(&self) -> &Agent {
        &self.session.agent
    }
}
