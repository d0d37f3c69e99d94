//! The sessions of an agent.

use headwater_protocol::{CheckpointId, Message, Part, Role, SessionId};
use serde_json::Value;

use super::Agent;
use crate::{Result, Session, SessionPage, Turn, TurnHandle, id::fresh_id};

impl Agent {
    /// Creates a session of an owner, with a random id.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn new_session(&self, owner: Option<&str>) -> Result<Session> {
        self.open_session(fresh_id("session")?, owner).await
    }

    /// Opens a session by the id that its page chose, and creates it if necessary. Two owners may use the
    /// same id.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) when the id is invalid,
    /// [`ErrorKind::Foreign`](crate::ErrorKind::Foreign) when the owner has a session of that id with another
    /// agent.
    pub async fn open_session(&self, id: impl Into<SessionId>, owner: Option<&str>) -> Result<Session> {
        self.sessions.open(id, owner).await
    }

    /// A handle of an owner's session by id. Does not check that it exists.
    #[must_use]
    pub fn session(&self, id: impl Into<SessionId>, owner: Option<&str>) -> Session {
        self.sessions.session(id, owner)
    }

    /// Creates a session with these messages, from a page that kept its own history. They form one turn
    /// without a run, which supports rollback and fork.
    ///
    /// # Errors
    /// [`ErrorKind::SessionExists`](crate::ErrorKind::SessionExists) when there is a session of that name, or when the
    /// store fails.
    pub async fn seed_session(
        &self,
        id: Option<&str>,
        owner: Option<&str>,
        messages: Vec<Message>,
    ) -> Result<Session> {
        self.sessions.seed_session(id, owner, messages).await
    }

    /// Creates a session with its first turn. An existing session gets it as its next turn.
    ///
    /// # Errors
    /// As [`Agent::open_session`] and [`Session::send`].
    pub async fn send_to(
        &self,
        id: Option<&str>,
        owner: Option<&str>,
        turn: impl Into<Turn>,
    ) -> Result<TurnHandle> {
        self.sessions.send_to(id, owner, turn.into()).await
    }

    /// Begins a session that the caller has looked for and not found, with its first turn. If it was begun meanwhile, it gets
    /// the turn as its next one. Without an id, it gets a random name.
    ///
    /// # Errors
    /// As [`Agent::send_to`].
    pub async fn begin_session(
        &self,
        id: Option<&str>,
        owner: Option<&str>,
        turn: impl Into<Turn>,
    ) -> Result<TurnHandle> {
        let id = id.map_or_else(|| fresh_id("session"), |id| Ok(id.to_owned()))?;
        self.sessions.begin_session(self.session(id, owner), turn.into()).await
    }

    /// Refuses a turn that could not begin, before a session is begun for it.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownWorkflow`](crate::ErrorKind::UnknownWorkflow), [`ErrorKind::Input`](crate::ErrorKind::Input) when the tool choice is invalid, or [`ErrorKind::Limit`](crate::ErrorKind::Limit) when
    /// data or context is too large.
    pub fn check_turn(&self, turn: &Turn) -> Result<()> {
        self.sessions.check_turn(turn)
    }

    /// The sessions of an owner that are not archived, newest first, after the `next` of the previous page.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use headwater_runtime::{Agent, Cx, END, Next, NodeResult, START, Workflow};
    /// # use headwater_store::Memory;
    /// # async fn greet(_cx: Cx, name: String) -> NodeResult { Ok(Next::message(name)) }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let hello = Workflow::new("hello").node("greet", greet).edge(START, "greet").edge("greet", END).build()?;
    /// # let agent = Agent::builder().workflow(hello).store(Arc::new(Memory::new())).build()?;
    /// let session = agent.new_session(Some("ann")).await?;
    /// let page = agent.sessions(Some("ann"), None, 20).await?;
    /// assert_eq!(page.sessions[0].id, *session.id());
    /// assert!(agent.sessions(Some("bob"), None, 20).await?.sessions.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) when `after` is not the `next` of a page, or when the store fails.
    pub async fn sessions(
        &self,
        owner: Option<&str>,
        after: Option<&str>,
        limit: usize,
    ) -> Result<SessionPage> {
        self.sessions.list(owner, after, limit, false).await
    }

    /// As [`Agent::sessions`], including archived ones.
    ///
    /// # Errors
    /// As [`Agent::sessions`].
    pub async fn all_sessions(
        &self,
        owner: Option<&str>,
        after: Option<&str>,
        limit: usize,
    ) -> Result<SessionPage> {
        self.sessions.list(owner, after, limit, true).await
    }

    /// The sessions of all owners, newest first, after the `next` of the previous page: for operators.
    ///
    /// # Errors
    /// As [`Agent::sessions`].
    pub async fn sessions_of_all_owners(
        &self,
        after: Option<&str>,
        limit: usize,
        archived: bool,
    ) -> Result<SessionPage> {
        self.sessions.list_all(after, limit, archived).await
    }

    /// Deletes a session, with its checkpoints and the journals of its runs. The active run is stopped. Data
    /// shared with a fork stays until the fork is deleted too. An unreadable session can be deleted as well.
    ///
    /// It is unreachable when this returns. Data of runs driven elsewhere is removed by the process that
    /// [recovers](Agent::recover) next.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownSession`](crate::ErrorKind::UnknownSession), [`ErrorKind::Foreign`](crate::ErrorKind::Foreign), or when the store fails.
    pub async fn delete_session(&self, id: impl Into<SessionId>, owner: Option<&str>) -> Result<()> {
        self.sessions.delete(id, owner).await
    }

    /// Creates a session from a document made by [`Session::export`], of this store or another. It has the
    /// messages, checkpoints and variants; an open question is lost, because its run is not part of the
    /// document.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) when the document is invalid, with the place;
    /// [`ErrorKind::SessionExists`](crate::ErrorKind::SessionExists); or when the store fails.
    pub async fn import_session(
        &self,
        document: impl Into<Value>,
        owner: Option<&str>,
        name: Option<&str>,
    ) -> Result<Session> {
        self.sessions.import(document.into(), owner, name, None).await
    }

    /// Creates a session from an untrusted document: `takes` decides about each part of its messages, by
    /// their role, and may change it. Left out are messages without parts, changes of a message's role,
    /// metadata of messages, workflow state, the data of the first node, and structured streams.
    ///
    /// # Errors
    /// As [`Agent::import_session`].
    pub async fn import_untrusted_session(
        &self,
        document: impl Into<Value>,
        owner: Option<&str>,
        name: Option<&str>,
        takes: impl Fn(Role, &mut Part) -> bool + Send + Sync,
    ) -> Result<Session> {
        self.sessions.import(document.into(), owner, name, Some(&takes)).await
    }

    /// The session that created a checkpoint.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownCheckpoint`](crate::ErrorKind::UnknownCheckpoint), or when the store fails.
    pub async fn session_of_checkpoint(&self, id: &CheckpointId) -> Result<SessionId> {
        self.sessions.session_of_checkpoint(id).await
    }
}
