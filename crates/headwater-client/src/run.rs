//! One run of a server.

use headwater_protocol::RunId;
use serde::Serialize;

use crate::{
    Answer, Client, Error, Result,
    documents::{RunDetails, StopResult, TurnReply},
    http::{Request, path},
};

/// A run of the server, by its id. Dropping it does nothing to the run.
///
/// ```no_run
/// # async fn example(client: headwater_client::Client) -> headwater_client::Result<()> {
/// let run = client.send("Write a poem").await?;
/// println!("{}", run.id());
/// run.stop().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct RunHandle {
    client: Client,
    id: RunId,
    agent: Option<String>,
    session: Option<String>,
    is_queued: bool,
    is_repeated: bool,
}

impl Client {
    /// A run by its id. Nothing is requested yet.
    pub fn run(&self, id: impl Into<String>) -> RunHandle {
        RunHandle::new(self.clone(), id.into())
    }

    /// Answers a request by its id alone, and returns the resumed run.
    ///
    /// # Errors
    /// If no run waits for it, or if the answer is invalid.
    pub async fn answer(&self, request: &str, answer: &Answer) -> Result<RunHandle> {
        #[derive(serde::Deserialize)]
        struct AnswerReply {
            run: String,
        }
        let request = Request::post(path(["interrupts", request]), answer);
        let AnswerReply { run } = self.http.json_once(&request).await?;
        Ok(self.run(run))
    }
}

impl RunHandle {
    pub(crate) fn new(client: Client, id: String) -> Self {
        Self { client, id: id.into(), agent: None, session: None, is_queued: false, is_repeated: false }
    }

    pub(crate) fn of_turn(client: Client, reply: TurnReply, session: Option<String>) -> Self {
        let TurnReply { run, agent, queued, repeated } = reply;
        Self { agent, session, is_queued: queued, is_repeated: repeated, ..Self::new(client, run) }
    }

    /// Id of the run.
    #[must_use]
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// The agent, if the run was started with this handle.
    #[must_use]
    pub fn agent(&self) -> Option<&str> {
        self.agent.as_deref()
    }

    /// The session of the run, if it was started with this handle.
    #[must_use]
    pub fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// Whether the run is queued behind others of its session. Its stream starts when the run does.
    #[must_use]
    pub fn is_queued(&self) -> bool {
        self.is_queued
    }

    /// Whether the run had been started before with the same `Idempotency-Key`.
    #[must_use]
    pub fn is_repeated(&self) -> bool {
        self.is_repeated
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// The current run, with its open requests.
    ///
    /// # Errors
    /// If there is no such run, or the server cannot be reached.
    pub async fn show(&self) -> Result<RunDetails> {
        self.client.http.json(&Request::get(path(["runs", self.id.as_str()]))).await
    }

    /// Stops the run, and waits a few seconds for its end. Its output so far is kept.
    ///
    /// # Errors
    /// If there is no such run, or the server cannot be reached.
    pub async fn stop(&self) -> Result<StopResult> {
        self.client.http.json_once(&Request::post_empty(path(["runs", self.id.as_str(), "stop"]))).await
    }

    /// Answers a request of the run. Without an id the run must wait for one thing only.
    ///
    /// ```no_run
    /// use headwater_client::{Answer, RunHandle};
    ///
    /// # async fn example(run: RunHandle) -> headwater_client::Result<()> {
    /// run.answer(None, &Answer::value("Oslo")).await?;
    /// run.answer(Some("req_1"), &Answer::deny("too expensive")).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If nothing waits for it, if it was answered otherwise, or if the answer does not fit.
    pub async fn answer(&self, request: Option<&str>, answer: &Answer) -> Result<()> {
        #[derive(Serialize)]
        struct AnswerBody<'a> {
            #[serde(skip_serializing_if = "Option::is_none")]
            request: Option<&'a str>,
            #[serde(flatten)]
            answer: &'a Answer,
        }
        let body = AnswerBody { request, answer };
        self.client.http.empty_once(&Request::post(path(["runs", self.id.as_str(), "answer"]), &body)).await
    }

    /// Approves a tool call.
    ///
    /// # Errors
    /// As [`answer`](Self::answer).
    pub async fn approve(&self, request: &str) -> Result<()> {
        self.answer(Some(request), &Answer::approve()).await
    }

    /// Denies a tool call; an empty reason is left out.
    ///
    /// # Errors
    /// As [`answer`](Self::answer).
    pub async fn deny(&self, request: &str, reason: &str) -> Result<()> {
        self.answer(Some(request), &Answer::deny(reason)).await
    }

    /// Sends the output of a client tool, by the id of the call.
    ///
    /// # Errors
    /// If nothing waits for the call.
    pub async fn answer_call(&self, call: &str, answer: &Answer) -> Result<()> {
        // The stream contains the call id, an answer needs the request id.
        let details = self.show().await?;
        let is_call = |tool: &headwater_protocol::ToolCall| tool.call == *call;
        let waiting = details.waits_for.iter().find(|open| open.tool.as_ref().is_some_and(is_call));
        let Some(waiting) = waiting else {
            let message = format!("run {} does not wait for the call `{call}`", self.id);
            return Err(Error::new("request.unknown", message));
        };
        self.answer(Some(&waiting.request), answer).await
    }
}
