//! The context of node code: its hooks, and the data of the run.

use std::{future::Future, sync::Arc};

use headwater_models::{ModelMessage, PromptOptions, to_model_messages};
use headwater_protocol::{ClientTool, Message, Role, RunId, SessionId, ToolCall, Usage};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use crate::{
    Error, ModelRef, Result,
    error::ErrorKind,
    hooks::{
        CallDecision, Emit, InterruptHook, Question, ReasonHook, RelayHook, StateHook, StructuredHook,
        approve, call_client,
    },
    node::NodeVisit,
};

/// The context of a node: its hooks and its run. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Cx {
    pub(crate) node: Arc<NodeVisit>,
}

impl Cx {
    pub(crate) fn new(node: Arc<NodeVisit>) -> Self {
        Self { node }
    }

    /// The id of the run, for logs and for keys in other systems: it stays the same when the node runs again.
    #[must_use]
    pub fn run(&self) -> &RunId {
        &self.node.run.id
    }

    /// The session that the run belongs to.
    #[must_use]
    pub fn session(&self) -> Option<&SessionId> {
        self.node.run.spec.session.as_ref()
    }

    /// The text of the run's input.
    #[must_use]
    pub fn input(&self) -> &str {
        &self.node.input.raw
    }

    /// The merged data of the previous nodes.
    #[must_use]
    pub fn data(&self) -> &Map<String, Value> {
        &self.node.input.data
    }

    /// The conversation before this run.
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        self.node.run.messages()
    }

    /// The input message as the page sent it, with its files.
    #[must_use]
    pub fn user_message(&self) -> Message {
        let spec = &self.node.run.spec;
        let text = |id: &str| Message::text(id, Role::User, self.input());
        match &spec.user_message {
            // The text of a plain message is the input.
            Some(message) if message.parts.is_empty() => text(message.id.as_str()),
            Some(message) => message.clone(),
            None => text(&format!("msg_user_{}", self.run())),
        }
    }

    /// The owner of the run.
    #[must_use]
    pub fn owner(&self) -> Option<&str> {
        self.node.run.spec.owner.as_deref()
    }

    /// The tools that the page can execute.
    #[must_use]
    pub fn client_tools(&self) -> &[ClientTool] {
        &self.node.run.spec.client_tools
    }

    /// The conversation before this run, as a model prompt: `cx.reason(model).messages(cx.conversation()?)`.
    ///
    /// # Errors
    /// When it contains parts that models do not accept.
    pub fn conversation(&self) -> Result<Vec<ModelMessage>> {
        let options = PromptOptions::ignoring_incomplete_tool_calls();
        to_model_messages(self.messages(), &options).map_err(|error| {
            Error::new(ErrorKind::Input, format!("the conversation does not fit into a prompt: {error}"))
        })
    }

    /// A model of the agent, by its alias or as `provider:model`.
    ///
    /// # Errors
    /// When the agent has no such model.
    pub fn model(&self, name: &str) -> Result<ModelRef> {
        self.node.run.services.models.get(name).map(ModelRef::Model)
    }

    /// Calls a model.
    pub fn reason(&self, model: impl Into<ModelRef>) -> ReasonHook {
        ReasonHook::new(self.node.clone(), model.into())
    }

    /// Asks a person, and waits as long as necessary: the run is parked in the meantime.
    ///
    /// ```no_run
    /// # use headwater_runtime::{Choice, Cx, Next, NodeResult};
    /// async fn approve(cx: Cx, _: ()) -> NodeResult {
    ///     let question = Choice::new("Send this draft?").option("send", "Send").option("revise", "Revise");
    ///     let answer = cx.interrupt(question).id("approve").await?;
    ///     Ok(Next::condition(answer))
    /// }
    /// ```
    pub fn interrupt<Q: Question>(&self, question: Q) -> InterruptHook<Q> {
        InterruptHook::new(self.node.clone(), question)
    }

    /// Relays the answer of another server, which has this name in errors and for readers: [`RelayHook`].
    pub fn relay(&self, source: impl Into<String>) -> RelayHook {
        RelayHook::new(self.node.clone(), source.into())
    }

    /// Asks a person to approve a tool call of another server. Readers must have received the call.
    ///
    /// # Errors
    /// When the question cannot be stored.
    pub fn approve_call(
        &self,
        tool: ToolCall,
        input: Value,
    ) -> impl Future<Output = Result<CallDecision>> + Send + use<> {
        approve(self.node.clone(), tool, input)
    }

    /// Waits for the page to execute a tool call of another server, and returns its output or error. Readers
    /// must have received the call.
    ///
    /// # Errors
    /// When the request cannot be stored.
    pub fn call_client(
        &self,
        tool: ToolCall,
        input: Value,
    ) -> impl Future<Output = Result<std::result::Result<Value, String>>> + Send + use<> {
        call_client(self.node.clone(), tool, input)
    }

    /// State of this node, for its next visit in this run.
    ///
    /// # Errors
    /// When the stored value is of another type, or `initial` does not serialise.
    pub fn node_state<T: Serialize + DeserializeOwned>(&self, key: &str, initial: T) -> Result<StateHook<T>> {
        StateHook::of_node(self.node.clone(), key, initial)
    }

    /// State shared by all nodes of the run, also of following workflows. Writes of a node are visible to
    /// nodes entered after it was left; of parallel branches the one left last wins.
    ///
    /// # Errors
    /// When the stored value is of another type, or `initial` does not serialise.
    pub fn workflow_state<T: Serialize + DeserializeOwned>(
        &self,
        key: &str,
        initial: T,
    ) -> Result<StateHook<T>> {
        StateHook::of_workflow(self.node.clone(), key, initial)
    }

    /// State shared between agent and page, initially the state sent by the page, or `initial` without one.
    /// The page gets the whole state once and then the changes, if its protocol supports state
    /// (`STATE_SNAPSHOT` and `STATE_DELTA` of AG-UI). Do not trust the page's state.
    ///
    /// ```no_run
    /// # use headwater_runtime::{Cx, Next, NodeResult};
    /// async fn add(cx: Cx, item: String) -> NodeResult {
    ///     let list = cx.shared_state(Vec::<String>::new())?;
    ///     list.update(|items| items.into_iter().chain([item]).collect())?;
    ///     Ok(Next::go())
    /// }
    /// ```
    ///
    /// # Errors
    /// When the stored value is too large, or `initial` does not serialise.
    pub fn shared_state<T: Serialize + DeserializeOwned>(&self, initial: T) -> Result<StateHook<T>> {
        StateHook::of_shared(self.node.clone(), initial)
    }

    /// The context that the route approved for this run: never sent to a reader, and unchanged when the run
    /// resumes.
    ///
    /// # Errors
    /// When it is not of that type.
    pub fn runtime_context<T: DeserializeOwned>(&self) -> Result<T> {
        self.node.run.spec.runtime_context.read().map_err(|error| {
            Error::new(ErrorKind::Input, format!("the runtime context cannot be read: {error}"))
        })
    }

    /// The context that the client sent about itself. Do not trust it.
    #[must_use]
    pub fn client_context(&self) -> &Map<String, Value> {
        self.node.run.client_context()
    }

    /// Emits an object that grows: [`StructuredHook`].
    #[must_use]
    pub fn structured(&self, data_type: impl Into<String>) -> StructuredHook {
        StructuredHook::new(self.node.clone(), data_type.into())
    }

    /// Does work with an external effect once: its result is recorded, and returned when the node is run
    /// again.
    ///
    /// ```no_run
    /// # use headwater_runtime::{Cx, Next, NodeResult};
    /// # async fn charge(_: u32) -> Result<String, std::io::Error> { Ok(String::new()) }
    /// async fn pay(cx: Cx, _: ()) -> NodeResult {
    ///     let receipt = cx.step("charge", || async { Ok(charge(100).await?) }).await?;
    ///     Ok(Next::message(format!("Paid: {receipt}")))
    /// }
    /// ```
    ///
    /// # Errors
    /// The error of the work, which is recorded too, until the node is retried.
    pub fn step<T, Fut>(&self, id: &str, work: impl FnOnce() -> Fut) -> impl Future<Output = Result<T>>
    where
        T: Serialize + DeserializeOwned,
        Fut: Future<Output = std::result::Result<T, crate::NodeError>>,
    {
        // The hook key is fixed here, not when the future is polled.
        let key = self.node.key("step", Some(id));
        async move {
            let key = key?;
            let work = async { work().await.map_err(crate::NodeError::into_error) };
            self.node.once(&key.text, key.kind, None, work).await
        }
    }

    /// Emits events to readers: [`Emit`].
    #[must_use]
    pub fn emit(&self) -> Emit<'_> {
        Emit::new(&self.node)
    }

    /// The time in milliseconds since 1970, the same when the node is run again.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub fn now(&self) -> Result<u64> {
        let key = self.node.key("now", None)?;
        self.node.once_now(&key.text, key.kind, || Ok(self.node.run.services.env.now()))
    }

    /// A random number from 0 up to 1, the same when the node is run again.
    ///
    /// # Errors
    /// When the journal cannot be written, or the system has no random bytes.
    pub fn random(&self) -> Result<f64> {
        let key = self.node.key("random", None)?;
        self.node.once_now(&key.text, key.kind, || {
            // A float holds 53 random bits.
            Ok((random_bits()? >> 11) as f64 / (1_u64 << 53) as f64)
        })
    }

    /// A fresh identifier, the same when the node is run again.
    ///
    /// # Errors
    /// When the journal cannot be written, or the system has no random bytes.
    pub fn id(&self) -> Result<String> {
        let key = self.node.key("id", None)?;
        self.node.once_now(&key.text, key.kind, || crate::id::fresh_id("id"))
    }

    /// The run's usage so far.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.node.run.journal.usage()
    }

    /// A token that is cancelled when the run is stopped, for long-running work of the node.
    #[must_use]
    pub fn cancelled(&self) -> headwater_tools::Cancel {
        self.node.run.cancel.signal()
    }
}

fn random_bits() -> Result<u64> {
    getrandom::u64().map_err(|error| Error::new(ErrorKind::Hook, format!("no random bytes: {error}")))
}
