//! Lists of sessions: one for each owner and one for operators, newest first, stored beside the heads.

use std::sync::Arc;

use headwater_protocol::{MessageId, SessionId};
use headwater_store::Expect;

use super::{
    SessionInfo, Sessions,
    checkpoint::{Node, StoredInput},
    head::{Head, TurnWork, UNREADABLE, VersionedHead},
    label::{label, short},
};
use crate::{
    Error, Result,
    error::ErrorKind,
    keys::{self, OwnerTag, SessionKey},
    page::{open_page, seal_page},
    skip::SkipList,
};

/// An entry of this age without a session was left by a process that died.
const FORGOTTEN: u64 = 60 * 60 * 1_000;

/// Name of the list of all owners in its cursors.
const ALL_OWNERS: &str = "sessions of all owners";

/// A page of an owner's sessions, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SessionPage {
    /// The sessions.
    pub sessions: Vec<SessionInfo>,
    /// Cursor for the next page; `None` on the last one.
    pub next: Option<String>,
    /// The unreadable sessions of this page. They can be deleted.
    pub unreadable: Vec<SessionId>,
}

impl SessionPage {
    fn skip(&mut self, skipped: &SkipList, id: SessionId, error: &Error) {
        skipped.unlisted("session", id.as_str(), error);
        self.unreadable.push(id);
    }
}

impl Sessions {
    /// An owner's sessions, newest first, after the `next` of the previous page. Archived ones are left out
    /// unless `archived` is set.
    pub(crate) async fn list(
        &self,
        owner: Option<&str>,
        after: Option<&str>,
        limit: usize,
        archived: bool,
    ) -> Result<SessionPage> {
        let wants = |head: &Head| archived || !head.archived;
        let tag = self.env.owner_tag(owner);
        let prefix = keys::sessions_of(&tag);
        let mut after = match after {
            Some(after) => {
                let (created, id) = open_page(self.env.secret().await?, "sessions", owner, after)?;
                Some(keys::listed_session(&tag, created, &id.into()))
            }
            None => None,
        };
        let mut page = SessionPage::default();
        loop {
            let wanted = (limit - page.sessions.len()).clamp(1, 100);
            let entries = self.env.store.list(&prefix, after.as_deref(), wanted + 1).await?;
            let more = entries.len() > wanted;
            for (key, value) in entries.into_iter().take(wanted) {
                let Some((created, id)) = keys::read_listed(&prefix, &key) else { continue };
                let id = SessionId::from(id);
                let head = match self.heads.load(&SessionKey::new(owner, &id)).await {
                    Err(error) if error.code() == UNREADABLE => {
                        page.skip(&self.env.skipped, id, &error);
                        after = Some(key);
                        continue;
                    }
                    // The owner has a session of that id with another agent.
                    Err(error) if error.kind() == ErrorKind::Foreign => None,
                    head => head?,
                };
                match head {
                    Some(seen) if seen.head.is_listed(created, owner) && !wants(&seen.head) => {}
                    Some(seen) if seen.head.is_listed(created, owner) => match self.info_of(seen).await {
                        Ok(info) => page.sessions.push(info),
                        Err(error) if error.code() == UNREADABLE => page.skip(&self.env.skipped, id, &error),
                        Err(error) => return Err(error),
                    },
                    _ if created + FORGOTTEN < self.env.now() => {
                        let gone = self.env.store.remove(&key, Expect::Version(value.version)).await;
                        tracing::debug!(%id, ?gone, "removed the list entry of a session that was never created");
                    }
                    // It is being created.
                    _ => {}
                }
                after = Some(key);
            }
            if page.sessions.len() >= limit || !more {
                let last = after.as_deref().and_then(|key| keys::read_listed(&prefix, key)).filter(|_| more);
                if let Some((created, id)) = last {
                    page.next = Some(seal_page(self.env.secret().await?, "sessions", owner, created, &id));
                }
                return Ok(page);
            }
        }
    }
}

impl Sessions {
    /// The sessions of all owners, newest first, after the `next` of the previous page.
    pub(crate) async fn list_all(
        &self,
        after: Option<&str>,
        limit: usize,
        archived: bool,
    ) -> Result<SessionPage> {
        let prefix = keys::sessions_of(&OwnerTag::all_of_agent(&self.env.agent));
        let secret = self.env.secret().await?;
        let mut after = match after {
            // The cursor is the end of a key, since an id alone does not identify a session.
            Some(after) => Some(prefix.clone() + &open_page(secret, ALL_OWNERS, None, after)?.1),
            None => None,
        };
        let mut page = SessionPage::default();
        while page.sessions.len() < limit {
            let wanted = (limit - page.sessions.len()).clamp(1, 100);
            let entries = self.env.store.list(&prefix, after.as_deref(), wanted + 1).await?;
            let more = entries.len() > wanted;
            for (key, _) in entries.into_iter().take(wanted) {
                if let Some((created, session)) = keys::read_listed_of_all(&prefix, &key) {
                    self.add_listed(&mut page, created, &session, archived).await?;
                }
                after = Some(key);
            }
            if !more {
                return Ok(page);
            }
        }
        let last = after.as_deref().and_then(|key| key.strip_prefix(&prefix));
        page.next = last.map(|last| seal_page(secret, ALL_OWNERS, None, 0, last));
        Ok(page)
    }
}

impl Head {
    /// Whether an entry in an owner's list refers to this head.
    fn is_listed(&self, created: u64, owner: Option<&str>) -> bool {
        !self.deleted && self.created == created && self.owner.as_deref() == owner
    }
}

impl Sessions {
    /// The details of a listed session. It counts as unreadable if its checkpoint is lost.
    async fn info_of(&self, VersionedHead { head, version }: VersionedHead) -> Result<SessionInfo> {
        let session = head.key();
        match self.info(head).await {
            Err(error) if error.kind() == ErrorKind::UnknownCheckpoint => {
                // The session may have left the checkpoint since its head was read.
                let moved = self.heads.load(&session).await?.filter(|now| now.version != version);
                let error = error.with_code(UNREADABLE);
                match moved {
                    Some(now) => self.info(now.head).await.map_err(|_| error),
                    None => Err(error),
                }
            }
            info => info,
        }
    }

    /// The summary of a session.
    async fn info(&self, head: Head) -> Result<SessionInfo> {
        let newest = self.newest(&head).await?;
        Ok(info(head, newest.as_deref()))
    }

    /// The newest checkpoint of a session; none at the beginning.
    pub(super) async fn newest(&self, head: &Head) -> Result<Option<Arc<Node>>> {
        match &head.checkpoint {
            Some(id) => self.tree.node(id).await.map(Some),
            None => Ok(None),
        }
    }

    /// Adds an entry of the list of all owners to a page, if its session exists.
    async fn add_listed(
        &self,
        page: &mut SessionPage,
        created: u64,
        session: &SessionKey,
        archived: bool,
    ) -> Result<()> {
        let seen = match self.heads.load(session).await {
            Err(error) if error.code() == UNREADABLE => {
                page.skip(&self.env.skipped, session.id.clone(), &error);
                return Ok(());
            }
            // Its owner has a session of that id with another agent.
            Err(error) if error.kind() == ErrorKind::Foreign => None,
            seen => seen?,
        };
        let is_listed =
            |head: &Head| !head.deleted && head.created == created && (archived || !head.archived);
        let Some(seen) = seen.filter(|seen| is_listed(&seen.head)) else { return Ok(()) };
        match self.info_of(seen).await {
            Ok(info) => page.sessions.push(info),
            Err(error) if error.code() == UNREADABLE => {
                page.skip(&self.env.skipped, session.id.clone(), &error);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// The summary of a session with this head and this newest checkpoint.
pub(super) fn info(head: Head, newest: Option<&Node>) -> SessionInfo {
    let said = head.active.as_ref().and_then(|active| match &active.work {
        TurnWork::Message(said) => Some((active, said)),
        _ => None,
    });
    let last_message = match said {
        Some((active, said)) => {
            let message = said.spec.message.clone();
            Some(message.unwrap_or_else(|| MessageId::from(format!("msg_{}", active.run))))
        }
        None => newest.and_then(|node| Some(node.messages.last()?.message.id.clone())),
    };
    let first = said.and_then(|(_, said)| label(&StoredInput::Message(said.clone()))).map(short);
    let going = head.active.map(|active| active.run);
    let waiting = head.live.map(|live| live.run);
    let left = newest
        .filter(|node| !node.imported && !matches!(node.input, StoredInput::Seed))
        .map(|node| node.checkpoint.run.clone());
    SessionInfo {
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
    }
}
