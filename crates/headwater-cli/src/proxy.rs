//! `headwater proxy`: an agent that forwards each turn to another server, and shows its answer.
//!
//! [`ProxySettings`] is what the operator allows, [`Upstream`] the server behind, and [`forward`] the one node of the agent.

mod answer;
mod failure;
mod forward;
mod shown;
mod steps;
mod upstream;

use std::{sync::Arc, time::Duration};

use axum::http::{HeaderName, request::Parts};
use headwater_dialects::Reader;
use headwater_runtime::{Agent, AgentOptions, Cx, END, START, SessionOptions, Workflow};
use headwater_server::{ApiError, Options, Principal, Visibility};
use headwater_store::Store;
use serde_json::{Map, Value, json};

use crate::failure::CommandFailure;
use forward::forward;
use upstream::Upstream;

/// What the operator says about the server behind.
pub(crate) struct ProxySettings {
    /// The name of the agent.
    pub(crate) name: String,
    pub(crate) url: String,
    pub(crate) from: &'static dyn Reader,
    /// The dialects to serve; none is all of them.
    pub(crate) to: Vec<&'static str>,
    /// Headers with values that each request gets.
    pub(crate) headers: Vec<(HeaderName, String)>,
    /// The headers of clients that are passed on.
    pub(crate) pass_headers: Vec<HeaderName>,
    /// How long the server behind may be silent.
    pub(crate) stall: Duration,
    /// Whether a request may be made again after a crash.
    pub(crate) repeat: bool,
    /// Whether readers see the text of errors.
    pub(crate) show_errors: bool,
}

impl ProxySettings {
    /// The agent, its name, and what its readers see.
    pub(crate) fn agent(
        &self,
        store: &Arc<dyn Store>,
        options: AgentOptions,
        has_principals: bool,
    ) -> Result<(String, Agent, Visibility), CommandFailure> {
        let failed = |error: headwater_runtime::Error| CommandFailure::new(error.to_string());
        let upstream = Arc::new(Upstream::new(self, has_principals)?);
        let description = format!("Answers of {} ({})", upstream.name, self.from.name());
        let node = move |cx: Cx, (): ()| forward(cx, upstream.clone());
        let workflow = Workflow::new("proxy")
            .node("forward", node)
            .edge(START, "forward")
            .edge("forward", END)
            .build()
            .map_err(failed)?;
        let agent = Agent::builder()
            .name(&self.name)
            .description(description)
            .workflow(workflow)
            .store(store.clone())
            .options(options)
            // The server behind gets the whole conversation.
            .sessions(SessionOptions::default().last_messages(usize::MAX))
            .build()
            .map_err(failed)?;
        let visibility = Visibility { errors: self.show_errors, state: true, ..Visibility::default() };
        Ok((self.name.clone(), agent, visibility))
    }

    /// Adds what the proxy needs of each request, and which dialects are served.
    pub(crate) fn server_options(&self, mut options: Options) -> Options {
        if !self.to.is_empty() {
            options.dialects = Some(self.to.iter().map(|name| (*name).to_owned()).collect());
        }
        let names: Arc<[HeaderName]> = self.pass_headers.clone().into();
        options.context(move |principal, parts, _client| {
            let context = request_context(&names, &principal, &parts);
            async move { Ok::<_, ApiError>(context) }
        })
    }
}

/// What a run keeps of its request: who asked, and the headers that are passed on.
fn request_context(names: &[HeaderName], principal: &Principal, parts: &Parts) -> Value {
    let passed = names.iter().filter_map(|name| {
        let value = parts.headers.get(name)?.to_str().ok()?;
        Some((name.as_str().to_owned(), Value::from(value)))
    });
    let headers: Map<_, _> = passed.collect();
    let mut context =
        json!({ "principal": principal.id(), "claims": principal.claims(), "headers": headers });
    if let (Some(operator), Some(fields)) = (principal.acting_operator(), context.as_object_mut()) {
        fields.insert("operator".to_owned(), operator.into());
    }
    context
}
