//! Sending a message.

use std::future::IntoFuture;

use serde::Serialize;
use serde_json::Value;

use crate::{
    Client, Result, RunHandle, client::new_key, documents::TurnReply, http::Request, platform::BoxFuture,
};

impl Client {
    /// Sends a message: awaiting it starts a run.
    pub fn send(&self, text: impl Into<String>) -> SendMessage {
        SendMessage {
            client: self.clone(),
            body: SendBody { input: text.into(), ..SendBody::default() },
            key: None,
        }
    }
}

#[derive(Debug, Clone, Default, Serialize)]
struct SendBody {
    input: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    workflow: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<Value>,
}

/// A message to send. Awaiting it returns the run that answers it.
///
/// It is sent again if the network fails, with the same `Idempotency-Key`, so that it counts once.
#[derive(Debug, Clone)]
#[must_use = "a message is sent when it is awaited"]
pub struct SendMessage {
    client: Client,
    body: SendBody,
    key: Option<String>,
}

impl SendMessage {
    /// Makes the run a turn of this session, which is created if it does not exist.
    pub fn session(mut self, session: impl Into<String>) -> Self {
        self.body.session = Some(session.into());
        self
    }

    /// Sends it to this agent instead of the default one.
    pub fn agent(mut self, agent: impl Into<String>) -> Self {
        self.body.agent = Some(agent.into());
        self
    }

    /// Runs this workflow instead of the agent's default.
    pub fn workflow(mut self, workflow: impl Into<String>) -> Self {
        self.body.workflow = Some(workflow.into());
        self
    }

    /// An object for the first node, if the agent takes one from clients.
    pub fn data(mut self, data: impl Into<Value>) -> Self {
        self.body.data = Some(data.into());
        self
    }

    /// Sets the context, an object in which the client describes itself.
    pub fn context(mut self, context: impl Into<Value>) -> Self {
        self.body.context = Some(context.into());
        self
    }

    /// Sets the `Idempotency-Key`. Without one a random key covers the retries of this call.
    pub fn idempotency_key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }
}

impl IntoFuture for SendMessage {
    type Output = Result<RunHandle>;
    type IntoFuture = BoxFuture<Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let Self { client, body, key } = self;
            let request = Request::post("/v1/runs", &body);
            let request = request.header("idempotency-key", key.unwrap_or_else(new_key));
            let reply: TurnReply = client.http.json_once(&request).await?;
            Ok(RunHandle::of_turn(client, reply, body.session))
        })
    }
}
