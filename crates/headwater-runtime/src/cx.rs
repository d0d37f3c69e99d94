//! The context that node code gets: the hooks, and what the run knows.

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

/// A node's hold on its run: the hooks. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Cx {
    pub(crate) node: Arc<NodeVisit>,
}

impl Cx {
    pub(crate) fn new(node: Arc<NodeVisit>) -> Self {
        Self { node }
    }

    /// The id of the run, for logs and for keys in other systems: it is the same when the node runs again.
    #[must_use]
    pub fn run(&self) -> &RunId {
        &self.node.run.id
    }

    /// The session that the run belongs to.
    #[must_use]
    pub fn session(&self) -> Option<&SessionId> {
        self.node.run.spec.session.as_ref()
    }

    /// What the person wrote.
    #[must_use]
    pub fn input(&self) -> &str {
        &self.node.input.raw
    }

    /// What the nodes before this one gave.
    #[must_use]
    pub fn data(&self) -> &Map<String, Value> {
        &self.node.input.data
    }

    /// The conversation before this run.
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        self.node.run.messages()
    }

    /// The message of the person as the page has it, with its files.
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

    /// Whose run it is.
    #[must_use]
    pub fn owner(&self) -> Option<&str> {
        self.node.run.spec.owner.as_deref()
    }

    /// The tools that the page can execute.
    #[must_use]
    pub fn client_tools(&self) -> &[ClientTool] {
        &self.node.run.spec.client_tools
    }

    /// The conversation before this run, in the form of a model's prompt: `cx.reason(model).messages(cx.conversation()?)`.
    ///
    /// # Errors
    /// When it has something that models do not take.
    pub fn conversation(&self) -> Result<Vec<ModelMessage>> {
        let options = PromptOptions::ignoring_incomplete_tool_calls();
        to_model_messages(self.messages(), &options).map_err(|error| {
            Error::new(ErrorKind::Input, format!("the conversation does not fit into a prompt: {error}"))
        })
    }

    /// A model of the agent, by its name there or as `provider:model`.
    ///
    /// # Errors
    /// When the agent has no such model.
    pub fn model(&self, name: &str) -> Result<ModelRef> {
        self.node.run.services.models.get(name).map(ModelRef::Model)
    }

    /// Asks a model.
    pub fn reason(&self, model: impl Into<ModelRef>) -> ReasonHook {
        ReasonHook::new(self.node.clone(), model.into())
    }

    /// Asks a person, and waits for as long as it takes: the run is parked meanwhile.
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

    /// Shows the answer of another server, which errors and readers know by this name: [`RelayHook`].
    pub fn relay(&self, source: impl Into<String>) -> RelayHook {
        RelayHook::new(self.node.clone(), source.into())
    }

    /// Asks a person whether a tool call of another server may be made. Readers must have seen the call.
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

    /// Waits for the output of a tool call of another server that the page makes, or the error that it failed with.
    /// Readers must have seen the call.
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
    /// When what is there is of another type, or `initial` does not serialise.
    pub fn node_state<T: Serialize + DeserializeOwned>(&self, key: &str, initial: T) -> Result<StateHook<T>> {
        StateHook::of_node(self.node.clone(), key, initial)
    }

    /// State that all nodes of the run share, also those of the workflows that follow. What a node writes is seen by the
    /// nodes that are entered after it was left; of parallel branches the one that is left last wins.
    ///
    /// # Errors
    /// When what is there is of another type, or `initial` does not serialise.
    pub fn workflow_state<T: Serialize + DeserializeOwned>(
        &self,
        key: &str,
        initial: T,
    ) -> Result<StateHook<T>> {
        StateHook::of_workflow(self.node.clone(), key, initial)
    }

    /// The state that the agent shares with its page: at first what the page sent along, or `initial` where that is nothing. The
    /// page is shown the whole once and then what changes, where its protocol has state (`STATE_SNAPSHOT` and `STATE_DELTA` of
    /// AG-UI). Do not trust what the page sent.
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
    /// When what is there is too large, or `initial` does not serialise.
    pub fn shared_state<T: Serialize + DeserializeOwned>(&self, initial: T) -> Result<StateHook<T>> {
        StateHook::of_shared(self.node.clone(), initial)
    }

    /// What the route approved for this run: never sent to a reader, and the same when the run is resumed.
    ///
    /// # Errors
    /// When it is not of that type.
    pub fn runtime_context<T: DeserializeOwned>(&self) -> Result<T> {
        self.node.run.spec.runtime_context.read().map_err(|error| {
            Error::new(ErrorKind::Input, format!("the runtime context cannot be read: {error}"))
        })
    }

    /// What the client said about itself. Do not trust it.
    #[must_use]
    pub fn client_context(&self) -> &Map<String, Value> {
        self.node.run.client_context()
    }

    /// Shows an object that grows: [`StructuredHook`].
    #[must_use]
    pub fn structured(&self, data_type: impl Into<String>) -> StructuredHook {
        StructuredHook::new(self.node.clone(), data_type.into())
    }

    /// Does something with an effect outside, once: what it gave is kept and returned when the node is run again.
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
    /// What the work failed with; it is kept too, until the node is retried.
    pub fn step<T, Fut>(&self, id: &str, work: impl FnOnce() -> Fut) -> impl Future<Output = Result<T>>
    where
        T: Serialize + DeserializeOwned,
        Fut: Future<Output = std::result::Result<T, crate::NodeError>>,
    {
        // The key is fixed here, not when the future is polled.
        let key = self.node.key("step", Some(id));
        async move {
            let key = key?;
            let work = async { work().await.map_err(crate::NodeError::into_error) };
            self.node.once(&key.text, key.kind, None, work).await
        }
    }

    /// Shows something: [`Emit`].
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
    /// When the journal cannot be written, or the system gives no random bytes.
    pub fn random(&self) -> Result<f64> {
        let key = self.node.key("random", None)?;
        self.node.once_now(&key.text, key.kind, || {
            // The 53 bits that a float can hold.
            Ok((random_bits()? >> 11) as f64 / (1_u64 << 53) as f64)
        })
    }

    /// A fresh identifier, the same when the node is run again.
    ///
    /// # Errors
    /// When the journal cannot be written, or the system gives no random bytes.
    pub fn id(&self) -> Result<String> {
        let key = self.node.key("id", None)?;
        self.node.once_now(&key.text, key.kind, || crate::id::fresh_id("id"))
    }

    /// What the run has used so far.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.node.run.journal.usage()
    }

    /// Tells when the run is stopped, for work of one's own that takes long.
    #[must_use]
    pub fn cancelled(&self) -> headwater_tools::Cancel {
        self.node.run.cancel.signal()
    }
}

fn random_bits() -> Result<u64> {
    getrandom::u64().map_err(|error| Error::new(ErrorKind::Hook, format!("no random bytes: {error}")))
}
