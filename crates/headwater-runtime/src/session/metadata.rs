//! Changes to a session outside of its turns: its label, and whether it is archived.

use super::{Session, SessionInfo, head::VersionedHead, label::short};
use crate::{Error, Result, error::ErrorKind};

impl Session {
    /// Sets the label, or archives or unarchives the session; `None` changes nothing. An archived session
    /// works as before; only [`Agent::sessions`](crate::Agent::sessions) leaves it out.
    ///
    /// ```
    /// # use headwater_runtime::{Result, Session};
    /// async fn tidy_up(session: &Session) -> Result<()> {
    ///     let info = session.change(Some("The harbour trip"), Some(true)).await?;
    ///     assert_eq!(info.label.as_deref(), Some("The harbour trip"));
    ///     assert!(info.archived);
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Input`] when the label is empty, and as [`Session::info`].
    pub async fn change(&self, label: Option<&str>, archived: Option<bool>) -> Result<SessionInfo> {
        let label = label.map(str::trim);
        if label == Some("") {
            let message = "invalid label: a label must have at least one character".to_owned();
            return Err(Error::new(ErrorKind::Input, message).with_code("label.invalid"));
        }
        loop {
            let VersionedHead { mut head, version } = self.reconcile().await?;
            if let Some(label) = label {
                head.own_label = Some(short(label.to_owned()));
            }
            head.archived = archived.unwrap_or(head.archived);
            if self.sessions.heads.swap(head, version).await? {
                return self.info().await;
            }
        }
    }
}
