//! One session of a server.

use headwater_protocol::Message;
use serde_json::{Map, Value, json};

use crate::{
    Client, Result, RunHandle,
    client::new_key,
    documents::{
        Checkpoint, CheckpointDetails, CheckpointPage, MessagePage, QueueReply, QueuedMessage,
        RollbackResult, SessionStopReply, SessionSummary, TurnReply, Variant, VariantsReply,
    },
    http::{Request, path, query},
    send_message::SendMessage,
};

/// A session of the server, by its id.
///
/// `at` is a turn: the id of a checkpoint or of a message, or `latest`.
///
/// ```no_run
/// # async fn example(client: headwater_client::Client) -> headwater_client::Result<()> {
/// let session = client.session("s1");
/// session.send("Hello").await?.follow().finish().await?;
/// session.undo().await?;
/// let forked = session.fork("latest").await?;
/// println!("{} has {} turns", forked.id, forked.turns);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct SessionHandle {
    client: Client,
    id: String,
}

impl Client {
    /// A session by its id. Nothing is requested yet, and the session need not exist: its first message creates it.
    pub fn session(&self, id: impl Into<String>) -> SessionHandle {
        SessionHandle::new(self.clone(), id.into())
    }
}

impl SessionHandle {
    pub(crate) fn new(client: Client, id: String) -> Self {
        Self { client, id }
    }

    /// Id of the session.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    fn path<'a>(&'a self, rest: impl IntoIterator<Item = &'a str>) -> String {
        path(["sessions", &self.id].into_iter().chain(rest))
    }

    /// Sends a message. While a run is active it waits in the queue, or stops the run, as the agent is set up.
    pub fn send(&self, text: impl Into<String>) -> SendMessage {
        self.client.send(text).session(&self.id)
    }

    /// The session as it is.
    ///
    /// # Errors
    /// If there is no such session, or the server cannot be reached.
    pub async fn show(&self) -> Result<SessionSummary> {
        self.client.http.json(&Request::get(self.path([]))).await
    }

    /// The run to follow: active, or waiting for an answer.
    ///
    /// # Errors
    /// As [`show`](Self::show).
    pub async fn active_run(&self) -> Result<Option<RunHandle>> {
        let session = self.show().await?;
        Ok(session.active_run.or(session.waiting_run).map(|run| self.client.run(run)))
    }

    /// All messages, including those of the active run.
    ///
    /// # Errors
    /// As [`show`](Self::show).
    pub async fn messages(&self) -> Result<Vec<Message>> {
        let mut pages = vec![self.messages_before(None).await?];
        while let Some(before) = pages.last().and_then(|page| page.before) {
            pages.push(self.messages_before(Some(before)).await?);
        }
        Ok(pages.into_iter().rev().flat_map(|page| page.messages).collect())
    }

    /// A page of messages, oldest first: the newest page, or the one that ends at `before`.
    ///
    /// # Errors
    /// As [`show`](Self::show).
    pub async fn messages_before(&self, before: Option<u64>) -> Result<MessagePage> {
        let query = query([("before", before.map(|before| before.to_string()))]);
        self.client.http.json(&Request::get(self.path(["messages"]) + &query)).await
    }

    /// Stops the active run, and returns its id.
    ///
    /// # Errors
    /// As [`show`](Self::show).
    pub async fn stop(&self) -> Result<Option<String>> {
        let reply: SessionStopReply =
            self.client.http.json_once(&Request::post_empty(self.path(["stop"]))).await?;
        Ok(reply.stopped)
    }

    /// Undoes the last turn.
    ///
    /// # Errors
    /// If there is no turn, or a run is active.
    pub async fn undo(&self) -> Result<RollbackResult> {
        // Sent again it would undo another turn, so a lost response is an error.
        self.client.http.json(&Request::post_empty(self.path(["undo"]))).await
    }

    /// Sets the label.
    ///
    /// # Errors
    /// If the label is empty, or there is no such session.
    pub async fn rename(&self, label: &str) -> Result<SessionSummary> {
        self.client.http.json_once(&Request::patch(self.path([]), &json!({ "label": label }))).await
    }

    /// Sets whether lists leave it out.
    ///
    /// # Errors
    /// If there is no such session.
    pub async fn archive(&self, archived: bool) -> Result<SessionSummary> {
        self.client.http.json_once(&Request::patch(self.path([]), &json!({ "archived": archived }))).await
    }

    /// Deletes the session and everything that belongs to it.
    ///
    /// # Errors
    /// If there is no such session.
    pub async fn delete(&self) -> Result<()> {
        self.client.http.empty_once(&Request::delete(self.path([]))).await
    }

    /// The session as a document for [`Client::import_session`].
    ///
    /// # Errors
    /// If there is no such session.
    pub async fn export(&self) -> Result<Value> {
        self.client.http.json(&Request::get(self.path(["export"]))).await
    }

    /// A page of checkpoints, newest first: the newest page, or the one before that of a `before`.
    ///
    /// # Errors
    /// If there is no such session.
    pub async fn checkpoints(&self, before: Option<u64>) -> Result<CheckpointPage> {
        let query = query([("before", before.map(|before| before.to_string()))]);
        self.client.http.json(&Request::get(self.path(["checkpoints"]) + &query)).await
    }

    /// A checkpoint, and the session in that state.
    ///
    /// # Errors
    /// If there is no such checkpoint.
    pub async fn checkpoint(&self, at: &str) -> Result<CheckpointDetails> {
        self.client.http.json(&Request::get(self.path(["checkpoints", at]))).await
    }

    /// Rolls back to the end of a turn. Later turns are removed.
    ///
    /// # Errors
    /// If there is no such turn, or a run is active.
    pub async fn rollback(&self, at: &str) -> Result<RollbackResult> {
        let request = Request::post_empty(self.path(["checkpoints", at, "rollback"]));
        // `latest` is another turn the second time.
        match at {
            "latest" => self.client.http.json(&request).await,
            _ => self.client.http.json_once(&request).await,
        }
    }

    /// A new session that continues from the end of a turn.
    ///
    /// # Errors
    /// If there is no such turn.
    pub async fn fork(&self, at: &str) -> Result<SessionSummary> {
        self.fork_as(at, None).await
    }

    /// A new session with this id that continues from the end of a turn.
    ///
    /// # Errors
    /// If there is no such turn, or a session of that id exists.
    pub async fn fork_as(&self, at: &str, id: Option<&str>) -> Result<SessionSummary> {
        let body = id.map_or_else(|| json!({}), |id| json!({ "id": id }));
        self.client.http.json(&Request::post(self.path(["checkpoints", at, "fork"]), &body)).await
    }

    /// Answers a turn again. The old answer is kept as a variant.
    ///
    /// # Errors
    /// If there is no such turn, or a run is active and the agent does not stop it.
    pub async fn regenerate(&self, at: &str) -> Result<RunHandle> {
        self.turn(self.path(["checkpoints", at, "regenerate"]), &Map::new().into()).await
    }

    /// Replaces the message of a turn, and answers it.
    ///
    /// # Errors
    /// As [`regenerate`](Self::regenerate).
    pub async fn edit(&self, at: &str, text: &str) -> Result<RunHandle> {
        self.turn(self.path(["checkpoints", at, "edit"]), &json!({ "text": text })).await
    }

    /// The alternatives of a turn, in the order of creation.
    ///
    /// # Errors
    /// If there is no such turn.
    pub async fn variants(&self, at: &str) -> Result<Vec<Variant>> {
        let reply: VariantsReply =
            self.client.http.json(&Request::get(self.path(["checkpoints", at, "variants"]))).await?;
        Ok(reply.variants)
    }

    /// Continues with another variant of a turn.
    ///
    /// # Errors
    /// If there is no such checkpoint, or a run is active.
    pub async fn select(&self, checkpoint: &Checkpoint) -> Result<RollbackResult> {
        self.client
            .http
            .json_once(&Request::post_empty(self.path(["checkpoints", &checkpoint.id, "select"])))
            .await
    }

    /// The messages that wait behind the active run, the next one first.
    ///
    /// # Errors
    /// If there is no such session.
    pub async fn queue(&self) -> Result<Vec<QueuedMessage>> {
        let reply: QueueReply = self.client.http.json(&Request::get(self.path(["queue"]))).await?;
        Ok(reply.queue)
    }

    /// Replaces the text of a queued message; `run` is the run that will answer it.
    ///
    /// # Errors
    /// `queue.begun` if its turn has begun.
    pub async fn edit_queued(&self, run: &str, text: &str) -> Result<QueuedMessage> {
        let request = Request::post(self.path(["queue", run, "edit"]), &json!({ "text": text }));
        self.client.http.json_once(&request).await
    }

    /// Removes a queued message: its run never starts.
    ///
    /// # Errors
    /// `queue.begun` if its turn has begun.
    pub async fn remove_queued(&self, run: &str) -> Result<()> {
        self.client.http.empty_once(&Request::delete(self.path(["queue", run]))).await
    }

    /// Stops the active run, and sends a queued message next.
    ///
    /// # Errors
    /// `queue.begun` if its turn has begun.
    pub async fn send_queued(&self, run: &str) -> Result<RunHandle> {
        self.turn(self.path(["queue", run, "send"]), &Map::new().into()).await
    }

    async fn turn(&self, path: String, body: &Value) -> Result<RunHandle> {
        let request = Request::post(path, body).header("idempotency-key", new_key());
        let reply: TurnReply = self.client.http.json_once(&request).await?;
        Ok(RunHandle::of_turn(self.client.clone(), reply, Some(self.id.clone())))
    }
}
