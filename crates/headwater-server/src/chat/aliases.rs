//! Names chosen by a page: its own id of a run, of a call, or of an answered question. Kept for a day, so
//! that a repeated request finds the same response.

use std::time::Duration;

use headwater_protocol::RunId;
use headwater_runtime::Agent;
use headwater_store::Expect;
use serde::{Deserialize, Serialize};

use crate::ApiError;

pub(crate) const KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// A response: a run, from a record on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ResponseAlias {
    pub(crate) run: RunId,
    /// The last record of the previous responses.
    #[serde(default)]
    pub(crate) since: u64,
}

/// Stores the alias of a response.
pub(crate) async fn note(
    agent: &Agent,
    owner: &str,
    names: &[String],
    known: &ResponseAlias,
) -> Result<(), ApiError> {
    let bytes = serde_json::to_vec(known).unwrap_or_default();
    for name in names {
        let value = bytes.clone().into();
        agent.store().put(&key(agent, owner, name), value, Expect::Any, Some(KEPT)).await?;
    }
    Ok(())
}

/// The response of that name.
pub(crate) async fn find(agent: &Agent, owner: &str, name: &str) -> Result<Option<ResponseAlias>, ApiError> {
    let value = agent.store().get(&key(agent, owner, name)).await?;
    Ok(value.and_then(|value| serde_json::from_slice(&value.bytes).ok()))
}

/// Removes the alias of a response.
pub(crate) async fn forget(agent: &Agent, owner: &str, name: &str) -> Result<(), ApiError> {
    let key = key(agent, owner, name);
    if agent.store().get(&key).await?.is_some() {
        agent.store().remove(&key, Expect::Any).await?;
    }
    Ok(())
}

/// The store key of an alias.
pub(crate) fn key(agent: &Agent, owner: &str, name: &str) -> String {
    headwater_store::key::join("known", &[agent.name(), owner, name])
}
