//! Sessions: conversations of turns, with a checkpoint after each, for rollback and branching.
//!
//! A session is one value, its head, which points into a tree of immutable checkpoints. Every change is a
//! compare-and-set of the head. Follow-up work is recorded there too, and done when the session is next
//! reconciled: by its next change, by the driver of its run, or by recovery. Reading changes nothing.

mod ancestry;
mod begin_turn;
mod budget;
mod checkpoint;
mod checkpoint_cache;
mod checkpoint_store;
mod copy_run;
mod delete;
mod document;
mod end_turn;
mod find_checkpoint;
mod find_turn;
mod garbage;
mod head;
mod history;
mod history_hash;
mod idempotency;
mod import;
mod label;
mod list;
mod metadata;
mod options;
mod position;
mod queue;
mod reconcile;
mod repeat_turn;
mod retention;
mod roll_back;
mod send;
mod turn;
mod turn_message;
mod turn_progress;
mod variants;
mod view;

use std::sync::Arc;

use headwater_protocol::{CheckpointId, Message, MessageId, RunId, SessionId};
use headwater_store::Watch;

use budget::ContextBudget;
pub use checkpoint::{Checkpoint, CheckpointStatus, TurnInput};
use checkpoint::{Node, StoredInput, fresh_tree};
use checkpoint_store::CheckpointTree;
pub use document::SessionDocument;
pub use find_checkpoint::TurnOfRun;
pub use find_turn::FoundTurn;
use garbage::Garbage;
use head::{Head, Heads, TurnWork, VersionedHead};
pub use history::{HistoryPage, SessionState};
pub use list::SessionPage;
pub use options::{SessionOptions, SummaryRequest, WhenBusy};
pub use queue::QueuedMessage;
pub use roll_back::RollbackSummary;
pub use turn::{Turn, TurnHandle};
pub use variants::Variant;
pub use view::SessionView;

use crate::{
    Error, Result,
    environment::Environment,
    error::ErrorKind,
    keys::{self, SessionKey},
    run::{Runs, SETTLING},
};

/// The sessions of an agent.
#[derive(Debug)]
pub(crate) struct Sessions {
    env: Arc<Environment>,
    pub(crate) options: SessionOptions,
    pub(crate) runs: Arc<Runs>,
    heads: Heads,
    tree: Arc<CheckpointTree>,
    budget: ContextBudget,
    garbage: Garbage,
}

impl Sessions {
    pub(crate) fn new(runs: Arc<Runs>, options: SessionOptions) -> Self {
        let env = runs.env.clone();
        let tree = Arc::new(CheckpointTree::new(env.clone()));
        let heads = Heads::new(env.clone());
        Self {
            budget: ContextBudget::new(env.clone(), options.clone(), tree.clone()),
            garbage: Garbage::new(env.clone(), options.clone(), tree.clone(), heads.clone(), runs.clone()),
            env,
            options,
            runs,
            heads,
            tree,
        }
    }

    /// A handle of an owner's session by id. Does not check that it exists.
    pub(crate) fn session(self: &Arc<Self>, id: impl Into<SessionId>, owner: Option<&str>) -> Session {
        let id = id.into();
        let key = SessionKey::new(owner, &id);
        Session { key, id, sessions: self.clone(), owner: owner.map(str::to_owned) }
    }

    /// Opens a session by the id that its page chose, and creates it if necessary.
    pub(crate) async fn open(
        self: &Arc<Self>,
        id: impl Into<SessionId>,
        owner: Option<&str>,
    ) -> Result<Session> {
        let session = self.session(id, owner);
        check_name(&session.id)?;
        if self.heads.load(&session.key).await?.is_none() {
            let head = Head::new(session.id.clone(), fresh_tree()?, &self.env, session.owner.clone());
            if self.heads.create(&head).await?.is_some() {
                return Ok(session);
            }
        }
        session.load().await?;
        Ok(session)
    }

    /// The session that created a checkpoint.
    pub(crate) async fn session_of_checkpoint(&self, id: &CheckpointId) -> Result<SessionId> {
        Ok(self.tree.node(id).await?.checkpoint.session.clone())
    }

    /// Refuses an id for a new session that is invalid or already used by its owner.
    async fn check_free(&self, session: &SessionKey) -> Result<()> {
        check_name(&session.id)?;
        match self.env.store.get(&keys::session(session)).await {
            Ok(None) => Ok(()),
            // A damaged session uses the id as well.
            Err(error) if *error.kind() != headwater_store::ErrorKind::Corrupt => Err(error.into()),
            _ => Err(session_exists(&session.id)),
        }
    }
}

/// Handle of a conversation. Cheap to keep.
///
/// ```
/// use std::sync::Arc;
/// use headwater_runtime::{Agent, Cx, END, Next, NodeResult, START, Workflow};
/// use headwater_store::Memory;
///
/// async fn greet(cx: Cx, name: String) -> NodeResult {
///     Ok(Next::message(format!("Hello {name}, after {} messages!", cx.messages().len())))
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let hello = Workflow::new("hello").node("greet", greet).edge(START, "greet").edge("greet", END).build()?;
/// let agent = Agent::builder().workflow(hello).store(Arc::new(Memory::new())).build()?;
///
/// let session = agent.new_session(Some("ann")).await?;
/// session.send("world").await?;
/// let second = session.send("again").await?;
/// session.settled().await?;
/// let said = session.history(None, None, 10).await?.messages;
/// assert_eq!(said[3].plain_text(), "Hello again, after 2 messages!");
///
/// session.undo().await?;
/// assert_eq!(session.history(None, None, 10).await?.messages.len(), 2);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Session {
    id: SessionId,
    key: SessionKey,
    sessions: Arc<Sessions>,
    owner: Option<String>,
}

/// Details of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionInfo {
    /// Its id, the argument of `Agent::session`.
    pub id: SessionId,
    /// The owner of the session.
    pub owner: Option<String>,
    /// Creation time, in milliseconds since 1970.
    pub created: u64,
    /// Time of the last change.
    pub updated: u64,
    /// The session and the checkpoint that it was forked from.
    pub forked: Option<(SessionId, CheckpointId)>,
    /// The current checkpoint; `None` in a new session.
    pub checkpoint: Option<CheckpointId>,
    /// The number of turns so far.
    pub turns: u64,
    /// The active run of the newest turn, in any process. It may be about to end.
    pub going: Option<RunId>,
    /// The run that waits for an answer.
    pub waiting: Option<RunId>,
    /// Number of queued messages.
    pub queued: usize,
    /// The label set by its owner, else that of its first turn, with at most 80 characters.
    pub label: Option<String>,
    /// Whether it is archived: [`Agent::sessions`](crate::Agent::sessions) leaves it out, and everything else
    /// works as before.
    pub archived: bool,
    /// The newest run: the active one, else the one that waits, else that of the newest checkpoint.
    pub last_run: Option<RunId>,
    /// The newest message: that of the active run, else the last one of the newest checkpoint.
    pub last_message: Option<MessageId>,
}

impl Session {
    /// The id of the session, as the page or the program chose it. It is unique for its owner only.
    #[must_use]
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// The details of the session.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownSession`], [`ErrorKind::Foreign`], or when the store fails.
    pub async fn info(&self) -> Result<SessionInfo> {
        Ok(self.view().await?.info())
    }

    /// Wakes when the session changes or is deleted, in this process or another. Start watching before you
    /// read [`Session::info`], so that no change is missed in between.
    #[must_use]
    pub fn watch(&self) -> Watch {
        self.sessions.env.store.watch(&keys::session(&self.key))
    }

    /// The stored checkpoints of the selected branch, newest first, before a turn.
    ///
    /// # Errors
    /// As [`Session::info`].
    pub async fn checkpoints(&self, before: Option<u64>, limit: usize) -> Result<Vec<Checkpoint>> {
        let sessions = &self.sessions;
        let retired = self.load().await?.head.retired;
        let mut next = self.at(None, before).await?;
        let mut found = Vec::new();
        while let Some(node) = next.filter(|node| found.len() < limit && node.turn() > retired) {
            next = match &node.checkpoint.parent {
                Some(parent) => Some(sessions.tree.node(parent).await?),
                None => None,
            };
            found.push(node.checkpoint.clone());
        }
        Ok(found)
    }

    /// The checkpoint before an active run, and the message that it answers, if it answers one.
    pub(crate) async fn active_turn(&self, run: &RunId) -> Result<Option<(Option<CheckpointId>, Message)>> {
        let head = self.load().await?.head;
        let going = head.active.filter(|active| active.run == *run);
        Ok(match going.map(|active| active.work) {
            Some(TurnWork::Message(said)) => Some((head.checkpoint, said.message)),
            _ => None,
        })
    }

    /// A checkpoint of the session, also of a variant.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownCheckpoint`], and as [`Session::info`].
    pub async fn checkpoint(&self, id: &CheckpointId) -> Result<Checkpoint> {
        let head = self.load().await?.head;
        Ok(self.sessions.tree.reach(&head, id).await?.0.checkpoint.clone())
    }

    /// The input of a turn.
    ///
    /// # Errors
    /// As [`Session::checkpoint`].
    pub async fn input(&self, id: &CheckpointId) -> Result<TurnInput> {
        let head = self.load().await?.head;
        Ok(match &self.sessions.tree.reach(&head, id).await?.0.input {
            StoredInput::Message(said) => TurnInput::Message(Box::new(said.message.clone())),
            StoredInput::Answers(given) => {
                TurnInput::Answers(given.iter().map(|given| given.answer.clone()).collect())
            }
            StoredInput::Seed => TurnInput::Seed,
        })
    }

    /// The messages up to a checkpoint, or of the selected branch: the last turns, or those before a turn. A
    /// page has whole messages, so it may have more turns than requested.
    ///
    /// # Errors
    /// As [`Session::checkpoint`].
    pub async fn history(
        &self,
        at: Option<&CheckpointId>,
        before: Option<u64>,
        turns: usize,
    ) -> Result<HistoryPage> {
        let from = self.at(at, before).await?;
        self.sessions.tree.history(from, turns).await
    }

    /// The complete content of the session at a checkpoint, or at the current one.
    ///
    /// # Errors
    /// As [`Session::checkpoint`].
    pub async fn state(&self, at: Option<&CheckpointId>) -> Result<SessionState> {
        let node = self.at(at, None).await?;
        self.sessions.tree.state_at(node.map(|node| node.id().clone())).await
    }

    /// A node, or its ancestor at a turn; none is the beginning.
    async fn at(&self, at: Option<&CheckpointId>, turn: Option<u64>) -> Result<Option<Arc<Node>>> {
        let sessions = &self.sessions;
        let head = self.load().await?.head;
        let node = match (at, &head.checkpoint) {
            (Some(at), _) => sessions.tree.reach(&head, at).await?.0,
            (None, Some(at)) => sessions.tree.node(at).await?,
            (None, None) => return Ok(None),
        };
        match turn {
            Some(0) => Ok(None),
            Some(turn) => sessions.tree.ancestor(node, turn).await,
            None => Ok(Some(node)),
        }
    }

    /// The current head. Writes nothing: work left by a dead process is done by [`Session::reconcile`].
    pub(super) async fn load(&self) -> Result<VersionedHead> {
        let sessions = &self.sessions;
        let load = async || {
            let head = sessions.heads.load(&self.key).await?.filter(|loaded| !loaded.head.deleted);
            head.ok_or_else(|| unknown_session(&self.id))
        };
        let loaded = load().await?;
        let Some(active) = &loaded.head.active else { return Ok(loaded) };
        // Readers of the run may have received the end of the turn, and expect to find it here.
        if sessions.runs.registry.is_settling(&active.run) {
            sessions.runs.registry.wait_until_settled(&active.run).await;
            return load().await;
        }
        let mut watch = self.watch();
        if !sessions.is_settling_elsewhere(active).await? {
            return Ok(loaded);
        }
        let current = load().await?;
        if current.version != loaded.version {
            return Ok(current);
        }
        let _ = tokio::time::timeout(SETTLING, watch.changed()).await;
        load().await
    }

    /// Reconciles the session: does pending chores, ends a turn whose run has ended, and starts the next one.
    /// Drivers of runs and recovery do that too; here it precedes a change of the session.
    ///
    /// # Errors
    /// As [`Session::info`], and when a turn cannot start.
    async fn reconcile(&self) -> Result<VersionedHead> {
        self.reconcile_from(None).await
    }

    /// As [`reconcile`](Self::reconcile), from a head that was loaded before.
    async fn reconcile_from(&self, seen: Option<VersionedHead>) -> Result<VersionedHead> {
        let sessions = &self.sessions;
        sessions.reconcile_from(&self.key, seen).await?.ok_or_else(|| unknown_session(&self.id))
    }
}

fn unknown_session(id: &SessionId) -> Error {
    let message = format!("there is no session {id}: begin one, or open it");
    Error::new(ErrorKind::UnknownSession, message)
}

fn check_name(id: &SessionId) -> Result<()> {
    headwater_protocol::check_id(id.as_str()).map_err(|error| {
        Error::new(ErrorKind::Input, format!("invalid session name: {error}")).with_code("session.invalid")
    })
}

fn session_exists(id: &SessionId) -> Error {
    Error::new(ErrorKind::SessionExists, format!("there is a session {id} already: choose another name"))
}
