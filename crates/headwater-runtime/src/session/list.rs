//! Whose sessions there are: a list for each owner, newest first, kept beside the heads.

use headwater_protocol::{MessageId, SessionId};
use headwater_store::{Expect, WriteOp};

use super::{
    SessionInfo,
    checkpoint::Input,
    head::{Doing, Head, UNREADABLE, VersionedHead},
    reconcile::{label, short},
};
use crate::{
    Agent, Error, Result,
    agent::AgentInner,
    error::ErrorKind,
    keys::{self, OwnerTag, SessionKey},
    page::{open_page, seal_page},
};

/// After so long a name in a list that leads nowhere was left by a process that died.
const FORGOTTEN: u64 = 60 * 60 * 1_000;

/// Some sessions of an owner, the newest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SessionPage {
    /// The sessions.
    pub sessions: Vec<SessionInfo>,
    /// What to ask for the next page with; none if this is the last.
    pub next: Option<String>,
    /// The sessions of this page that cannot be read. They can be deleted.
    pub unreadable: Vec<SessionId>,
}

impl SessionPage {
    fn skip(&mut self, agent: &AgentInner, id: SessionId, error: &Error) {
        agent.unlisted("session", id.as_str(), error);
        self.unreadable.push(id);
    }
}

impl Agent {
    /// The sessions of an owner that are not archived, newest first, after the `next` of the page before.
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
    /// [`ErrorKind::Input`] when `after` is not the `next` of a page, or when the store fails.
    pub async fn sessions(
        &self,
        owner: Option<&str>,
        after: Option<&str>,
        limit: usize,
    ) -> Result<SessionPage> {
        self.list_sessions(owner, after, limit, |head| !head.archived).await
    }

    /// The same with those that are archived.
    ///
    /// # Errors
    /// As [`Agent::sessions`].
    pub async fn all_sessions(
        &self,
        owner: Option<&str>,
        after: Option<&str>,
        limit: usize,
    ) -> Result<SessionPage> {
        self.list_sessions(owner, after, limit, |_| true).await
    }

    async fn list_sessions(
        &self,
        owner: Option<&str>,
        after: Option<&str>,
        limit: usize,
        wants: impl Fn(&Head) -> bool,
    ) -> Result<SessionPage> {
        let agent = &self.0;
        let tag = agent.owned(owner);
        let prefix = keys::sessions_of(&tag);
        let mut after = match after {
            Some(after) => {
                let (created, id) = open_page(agent.secret().await?, "sessions", owner, after)?;
                Some(keys::listed_session(&tag, created, &id.into()))
            }
            None => None,
        };
        let mut page = SessionPage::default();
        loop {
            let wanted = (limit - page.sessions.len()).clamp(1, 100);
            let entries = agent.store.list(&prefix, after.as_deref(), wanted + 1).await?;
            let more = entries.len() > wanted;
            for (key, value) in entries.into_iter().take(wanted) {
                let Some((created, id)) = keys::read_listed(&prefix, &key) else { continue };
                let id = SessionId::from(id);
                let head = match agent.load_head(&SessionKey::new(owner, &id)).await {
                    Err(error) if error.code() == UNREADABLE => {
                        page.skip(agent, id, &error);
                        after = Some(key);
                        continue;
                    }
                    // The owner has a session of that name with another agent.
                    Err(error) if error.kind() == ErrorKind::Foreign => None,
                    head => head?,
                };
                match head {
                    Some(seen) if seen.head.is_listed(created, owner) && !wants(&seen.head) => {}
                    Some(seen) if seen.head.is_listed(created, owner) => match agent.info_of(seen).await {
                        Ok(info) => page.sessions.push(info),
                        Err(error) if error.code() == UNREADABLE => page.skip(agent, id, &error),
                        Err(error) => return Err(error),
                    },
                    _ if created + FORGOTTEN < agent.now() => {
                        let gone = agent.store.remove(&key, Expect::Version(value.version)).await;
                        tracing::debug!(%id, ?gone, "a session that never came to be is no longer listed");
                    }
                    // It is being begun.
                    _ => {}
                }
                after = Some(key);
            }
            if page.sessions.len() >= limit || !more {
                let last = after.as_deref().and_then(|key| keys::read_listed(&prefix, key)).filter(|_| more);
                if let Some((created, id)) = last {
                    page.next = Some(seal_page(agent.secret().await?, "sessions", owner, created, &id));
                }
                return Ok(page);
            }
        }
    }
}

impl Head {
    /// Whether a name in an owner's list means it.
    fn is_listed(&self, created: u64, owner: Option<&str>) -> bool {
        !self.deleted && self.created == created && self.owner.as_deref() == owner
    }
}

impl AgentInner {
    /// What is known about a session of a list. One whose checkpoint is lost cannot be read.
    async fn info_of(&self, VersionedHead { head, version }: VersionedHead) -> Result<SessionInfo> {
        let session = head.key();
        match self.info(head).await {
            Err(error) if error.kind() == ErrorKind::UnknownCheckpoint => {
                // The session may have left the checkpoint since its head was read.
                let moved = self.load_head(&session).await?.filter(|now| now.version != version);
                let error = error.with_code(UNREADABLE);
                match moved {
                    Some(now) => self.info(now.head).await.map_err(|_| error),
                    None => Err(error),
                }
            }
            info => info,
        }
    }

    /// What is known about a session.
    pub(super) async fn info(&self, head: Head) -> Result<SessionInfo> {
        let newest = match &head.checkpoint {
            Some(id) => Some(self.node(id).await?),
            None => None,
        };
        let said = head.active.as_ref().and_then(|active| match &active.doing {
            Doing::Message(said) => Some((active, said)),
            _ => None,
        });
        let last_message = match said {
            Some((active, said)) => {
                let message = said.begun.message.clone();
                Some(message.unwrap_or_else(|| MessageId::from(format!("msg_{}", active.run))))
            }
            None => newest.as_ref().and_then(|node| Some(node.messages.last()?.message.id.clone())),
        };
        let first = said.and_then(|(_, said)| label(&Input::Message(said.clone()))).map(short);
        let going = head.active.map(|active| active.run);
        let waiting = head.live.map(|live| live.run);
        let left = newest
            .filter(|node| !node.imported && !matches!(node.input, Input::Seed))
            .map(|node| node.checkpoint.run);
        Ok(SessionInfo {
            label: head.own_label.or(head.label).or(first),
            archived: head.archived,
            last_run: going.clone().or_else(|| waiting.clone()).or(left),
            last_message,
            id: head.id,
            owner: head.owner,
            created: head.created,
            updated: head.updated,
            forked: head.forked,
            checkpoint: head.checkpoint,
            turns: head.turn,
            going,
            waiting,
            queued: head.queue.len(),
        })
    }

    /// What lists a session for its owner, and among those that share its tree of checkpoints.
    pub(super) fn list_writes(&self, head: &Head) -> Vec<WriteOp> {
        let listed = [self.list_key(head), keys::session_in_tree(&head.tree, &head.key())];
        let put = |key| WriteOp::Put { key, bytes: self.name.clone().into(), expect: Expect::Any, ttl: None };
        listed.map(put).to_vec()
    }

    /// Takes a session out of the lists, unless one that is there needs them.
    pub(super) async fn delist(&self, head: &Head, there: Option<&Head>) -> Result<()> {
        let listed = self.list_key(head);
        if there.is_none_or(|there| self.list_key(there) != listed) {
            self.store.remove(&listed, Expect::Any).await?;
        }
        if there.is_none_or(|there| there.tree != head.tree) {
            self.store.remove(&keys::session_in_tree(&head.tree, &head.key()), Expect::Any).await?;
        }
        Ok(())
    }

    fn list_key(&self, head: &Head) -> String {
        keys::listed_session(&self.owned(head.owner.as_deref()), head.created, &head.id)
    }

    /// An owner among those of this agent.
    pub(crate) fn owned(&self, owner: Option<&str>) -> OwnerTag {
        OwnerTag::of_agent(&self.name, owner)
    }
}
