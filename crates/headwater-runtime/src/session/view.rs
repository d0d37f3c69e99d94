//! A session as it was when its head was loaded: whatever a request asks about it then loads the head no more.

use std::sync::Arc;

use headwater_protocol::{CheckpointId, Message, RunId};

use super::{
    Checkpoint, FoundTurn, Session, SessionInfo,
    checkpoint::Node,
    head::{Head, VersionedHead},
    list::info,
    position::Position,
    turn::{Turn, TurnHandle},
};
use crate::Result;

/// A session as it was when its head was loaded.
///
/// A request that asks several things about a session and then sends a turn sees one state of it, and loads its head once.
/// A turn that is sent finds out by its write whether the session has changed meanwhile, and then loads it again.
///
/// ```
/// use headwater_protocol::Message;
/// use headwater_runtime::{Result, Session, TurnHandle};
///
/// /// Sends a message unless the page has missed something.
/// async fn send_if_current(session: &Session, shown: &[Message], text: &str) -> Result<Option<TurnHandle>> {
///     let seen = session.view().await?;
///     match seen.is_at(shown).await? {
///         true => seen.send(text).await.map(Some),
///         false => Ok(None),
///     }
/// }
/// ```
#[derive(Debug, Clone)]
pub struct SessionView {
    session: Session,
    pub(super) loaded: VersionedHead,
    newest: Option<Arc<Node>>,
}

impl Session {
    /// The session as it is now.
    ///
    /// # Errors
    /// As [`Session::info`].
    pub async fn view(&self) -> Result<SessionView> {
        let loaded = self.load().await?;
        let newest = self.sessions.newest(&loaded.head).await?;
        Ok(SessionView { session: self.clone(), loaded, newest })
    }
}

impl SessionView {
    /// The session.
    #[must_use]
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Its summary.
    #[must_use]
    pub fn info(&self) -> SessionInfo {
        info(self.loaded.head.clone(), self.newest.as_deref())
    }

    fn head(&self) -> &Head {
        &self.loaded.head
    }

    /// Whether a page that shows these messages stands where the session does.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn is_at(&self, shown: &[Message]) -> Result<bool> {
        let position = self.session.position(self.head(), self.newest.as_ref(), shown).await?;
        Ok(matches!(position, Position::Newest))
    }

    /// As [`Session::sent_before`].
    ///
    /// # Errors
    /// When the store fails.
    pub async fn sent_before(&self, keys: &[String]) -> Result<Option<TurnHandle>> {
        self.session.find_sent(self.head(), keys).await
    }

    /// As [`Session::turn_of`].
    ///
    /// # Errors
    /// When the store fails.
    pub async fn turn_of(&self, message: &Message) -> Result<Option<FoundTurn>> {
        self.session.find_turn(self.head(), message).await
    }

    /// As [`Session::checkpoints_of`].
    ///
    /// # Errors
    /// When the store fails.
    pub async fn checkpoints_of(&self, run: &RunId) -> Result<Vec<Checkpoint>> {
        self.session.find_checkpoints(self.head(), run).await
    }

    /// As [`Session::send`].
    ///
    /// # Errors
    /// As [`Session::send`].
    pub async fn send(self, turn: impl Into<Turn>) -> Result<TurnHandle> {
        let Self { session, loaded, newest } = self;
        session.send_from(Some(loaded), newest, turn.into()).await
    }

    /// As [`Session::edit`].
    ///
    /// # Errors
    /// As [`Session::edit`].
    pub async fn edit(self, turn: &CheckpointId, now: impl Into<Turn>) -> Result<TurnHandle> {
        let Self { session, loaded, .. } = self;
        session.edit_from(Some(loaded), turn, now.into()).await
    }

    /// As [`Session::regenerate_as`].
    ///
    /// # Errors
    /// As [`Session::regenerate_as`].
    pub async fn regenerate_as(self, turn: &CheckpointId, now: impl Into<Turn>) -> Result<TurnHandle> {
        let Self { session, loaded, .. } = self;
        session.regenerate_from(Some(loaded), turn, now.into()).await
    }
}
