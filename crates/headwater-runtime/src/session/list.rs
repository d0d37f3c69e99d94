//! Whose sessions there are: a list for each owner, newest first, kept beside the heads.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use headwater_protocol::{MessageId, SessionId};
use headwater_store::Expect;
use sha2::{Digest as _, Sha256};

use super::{
    SessionInfo,
    checkpoint::Input,
    head::{Doing, Head, Seen},
    look::{label, short},
};
use crate::{Agent, Error, Result, agent::AgentInner, error::ErrorKind};

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
}

impl Agent {
    /// The sessions of an owner, newest first, after the `next` of the page before.
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
        let agent = &self.0;
        let prefix = agent.list_of(owner);
        let mut after = match after {
            Some(after) => Some(format!("{prefix}{}", place(after)?)),
            None => None,
        };
        let mut page = SessionPage::default();
        loop {
            let wanted = (limit - page.sessions.len()).clamp(1, 100);
            let entries = agent.store.list(&prefix, after.as_deref(), wanted + 1).await?;
            let more = entries.len() > wanted;
            for (key, value) in entries.into_iter().take(wanted) {
                let Some((created, id)) = listed(&key, &prefix) else { continue };
                match agent.load_head(&id).await? {
                    Some(Seen { head, .. }) if head.is_listed(created, owner) => {
                        page.sessions.push(agent.info(head).await?);
                    }
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
                let place = after.as_deref().and_then(|key| key.strip_prefix(&prefix)).filter(|_| more);
                page.next = place.map(|place| URL_SAFE_NO_PAD.encode(place));
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
            label: head.label.or(first),
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

    /// Lists a session for its owner, and among those that share its tree of checkpoints.
    pub(super) async fn enlist(&self, head: &Head) -> Result<()> {
        let (listed, shared) = (self.list_key(head), tree_key(&head.tree, &head.id));
        futures_util::try_join!(
            self.store.put(&listed, self.name.clone().into(), Expect::Any, None),
            self.store.put(&shared, self.name.clone().into(), Expect::Any, None),
        )?;
        Ok(())
    }

    /// Takes a session out of the lists, unless one that is there needs them.
    pub(super) async fn delist(&self, head: &Head, there: Option<&Head>) -> Result<()> {
        let listed = self.list_key(head);
        if there.is_none_or(|there| self.list_key(there) != listed) {
            self.store.remove(&listed, Expect::Any).await?;
        }
        if there.is_none_or(|there| there.tree != head.tree) {
            self.store.remove(&tree_key(&head.tree, &head.id), Expect::Any).await?;
        }
        Ok(())
    }

    fn list_key(&self, head: &Head) -> String {
        // The newest first.
        format!("{}{:020}/{}", self.list_of(head.owner.as_deref()), u64::MAX - head.created, head.id)
    }

    fn list_of(&self, owner: Option<&str>) -> String {
        format!("session-of/{}/", self.owned(owner))
    }

    /// An owner among those of this agent, as a part of a key: whatever characters the name has.
    pub(crate) fn owned(&self, owner: Option<&str>) -> String {
        let mut digest = Sha256::new();
        digest.update(&self.name);
        digest.update([0, u8::from(owner.is_some())]);
        digest.update(owner.unwrap_or_default());
        let short: Vec<u8> = digest.finalize().iter().copied().take(18).collect();
        URL_SAFE_NO_PAD.encode(short)
    }
}

/// Where the sessions are listed that share a tree of checkpoints.
pub(super) fn tree(tree: &str) -> String {
    format!("session-tree/{tree}/")
}

fn tree_key(name: &str, session: &SessionId) -> String {
    format!("{}{session}", tree(name))
}

/// When a session of a list was begun, and its name.
fn listed(key: &str, prefix: &str) -> Option<(u64, SessionId)> {
    let (time, id) = key.strip_prefix(prefix)?.split_once('/')?;
    Some((u64::MAX - time.parse::<u64>().ok()?, id.into()))
}

/// The place in a list that the `next` of a page names.
fn place(next: &str) -> Result<String> {
    let place = URL_SAFE_NO_PAD.decode(next).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    place.ok_or_else(|| {
        let message = format!("{next:?} is not the `next` of a page of sessions: leave it out to begin anew");
        Error::new(ErrorKind::Input, message).with_code("page.invalid")
    })
}
