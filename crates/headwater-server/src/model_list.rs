//! `GET /v1/models`: the models of the agents, and how their calls went.

use axum::{Extension, Json, extract::State};
use headwater_runtime::{AgentModel, ModelKey};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{ApiError, Principal, Server, timestamp::Timestamp};

/// The models of the server's agents. It has no keys and no addresses.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ModelList", deny_unknown_fields)]
pub(crate) struct ModelList {
    models: Vec<ModelDocument>,
}

/// A model of an agent.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Model", deny_unknown_fields)]
struct ModelDocument {
    /// The agent whose model it is.
    agent: String,
    /// `provider:model`.
    model: String,
    /// The agent's names for it.
    aliases: Vec<String>,
    /// Whether the server has the key that it needs.
    key: KeyDocument,
    state: ModelState,
    /// When it last answered, at this server since it was started.
    last_success_at: Option<Timestamp>,
    /// When a call last failed.
    last_failure_at: Option<Timestamp>,
    /// The code of that failure; `docs/models.md` lists them. Operators only.
    last_error: Option<String>,
    /// Number of failures since the last success.
    failures: u32,
}

/// Whether there is a key.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "ModelKey")]
enum KeyDocument {
    Configured,
    Missing,
    NotNeeded,
}

/// How the calls of a model go.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ModelState {
    /// It was not called since the server was started.
    Unknown,
    /// Its last call was answered, or it failed less than three times since.
    Healthy,
    /// Three or more calls in a row failed.
    Failing,
}

impl ModelDocument {
    fn new(agent: &str, model: AgentModel, is_operator: bool) -> Self {
        let calls = &model.calls;
        let state = match (model.is_failing(), calls.last_success.or(calls.last_failure)) {
            (true, _) => ModelState::Failing,
            (false, Some(_)) => ModelState::Healthy,
            (false, None) => ModelState::Unknown,
        };
        Self {
            agent: agent.to_owned(),
            key: match model.key {
                ModelKey::Configured => KeyDocument::Configured,
                ModelKey::Missing => KeyDocument::Missing,
                ModelKey::NotNeeded => KeyDocument::NotNeeded,
            },
            state,
            last_success_at: calls.last_success.map(Timestamp),
            last_failure_at: calls.last_failure.map(Timestamp),
            last_error: calls.last_error.clone().filter(|_| is_operator),
            failures: calls.failures,
            aliases: model.aliases,
            model: model.model,
        }
    }
}

/// `GET /v1/models`.
pub(crate) async fn models(
    State(server): State<Server>,
    Extension(principal): Extension<Principal>,
) -> Result<Json<ModelList>, ApiError> {
    let is_operator = principal.is_operator() || principal.acting_operator().is_some();
    let mut models = Vec::new();
    for served in server.agents().named() {
        let of_agent = served.agent.models();
        models.extend(of_agent.into_iter().map(|model| ModelDocument::new(&served.name, model, is_operator)));
    }
    Ok(Json(ModelList { models }))
}
