//! Whether the agents can be loaded, and their models be called.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures_util::future::join_all;
use headwater_client::{Client, Options};
use headwater_models::{ModelKey, Models, http::Provider};
use headwater_runtime::AgentModel;
use headwater_store::{Memory, Store};

use super::CheckResult;
use crate::{
    ProgramAgents,
    config::{ServerSettings, without_secrets},
    serve,
};

/// How long the address of a model may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) async fn check(settings: &ServerSettings, program: &ProgramAgents) -> Vec<CheckResult> {
    let store: Arc<dyn Store> = Arc::new(Memory::new());
    // A missing key is reported for its model, with all the others.
    let served = match serve::agents(settings, Models::new().without_keys(), program, None, &store) {
        Ok(served) => served,
        Err(failure) => return vec![CheckResult::wrong("agents", failure.to_string())],
    };
    let mut models: BTreeMap<String, AgentModel> = BTreeMap::new();
    for (_, agent, _) in &served.agents {
        models.extend(agent.models().into_iter().map(|model| (model.model.clone(), model)));
    }
    let lacks_key = models.values().any(|model| model.key == ModelKey::Missing);
    let agents = match serve::agents(settings, Models::new(), program, None, &store) {
        Err(failure) if !lacks_key => CheckResult::wrong("agents", failure.to_string()),
        _ => {
            let names: Vec<_> = served.agents.iter().map(|(name, ..)| name.as_str()).collect();
            let is_demo = settings.agents.is_empty() && program.names().next().is_none();
            let which = if is_demo { "the demo agents" } else { "loaded" };
            CheckResult::good("agents", format!("{which}: {}", names.join(", ")))
        }
    };
    let models = join_all(models.into_values().map(check_model)).await;
    std::iter::once(agents).chain(models.into_iter().flatten()).collect()
}

/// Whether a model has its key, and something answers at its address. Models of the program itself have neither.
async fn check_model(model: AgentModel) -> Option<CheckResult> {
    let name = &model.model;
    if model.key == ModelKey::Missing {
        let provider = name.split(':').next().unwrap_or_default();
        let advice = Provider::new(provider).map(Provider::with_env).and_then(|provider| provider.check());
        let advice = advice.err().map_or_else(|| "no API key".to_owned(), |error| error.message().to_owned());
        return Some(CheckResult::wrong("model", format!("{name}: {advice}")));
    }
    let address = model.address.as_ref()?;
    let shown = without_secrets(address);
    let options = Options { request_timeout: PATIENCE, ..Options::default() };
    match Client::new(address).options(options).read_url().await {
        // Any response shows that the address is reachable; without a key most are refusals.
        Err(error) if error.status().is_none() => {
            let message =
                format!("{name}: no answer from {shown}: {error}; check the network and the address");
            Some(CheckResult::wrong("model", message))
        }
        _ => Some(CheckResult::good("model", format!("{name}: {shown} answers"))),
    }
}
