//! Resolves `PROVIDER:MODEL` to a model.

use std::{path::Path, sync::Arc, time::Duration};

use headwater_models::{
    Model,
    http::{Provider, Retries, Timeouts, Transport},
    nearest,
    scripted::{Rule, Script, ScriptedModel},
};

use crate::failure::CommandFailure;

/// The provider of scripted models, which needs no network.
pub(crate) const SCRIPTED: &str = "scripted";

/// The built-in script.
pub(crate) const ECHO: &str = "echo";

/// Retry delays are short here: a person at the terminal would rather see the error than wait.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// Finds a model, at the provider's default URL or at another one.
pub(super) fn model(name: &str, base_url: Option<&str>) -> Result<Arc<dyn Model>, CommandFailure> {
    let Some((provider, model)) = name.split_once(':').filter(|(_, model)| !model.is_empty()) else {
        let message = format!("invalid model `{name}`: use PROVIDER:MODEL, such as `openai:gpt-5.1`");
        return Err(CommandFailure::new(message));
    };
    if provider == SCRIPTED {
        return script(model);
    }
    let known: Vec<_> = Provider::names().chain([SCRIPTED]).collect();
    if !known.contains(&provider) {
        let suggestion = nearest(provider, known.iter().copied())
            .map(|meant| format!("did you mean `{meant}`? "))
            .unwrap_or_default();
        let message =
            format!("unknown provider `{provider}`: {suggestion}known providers: {}", known.join(", "));
        return Err(CommandFailure::new(message));
    }
    let failed = |error: headwater_models::ModelError| CommandFailure::new(error.to_string());
    let mut provider = Provider::new(provider).map_err(failed)?.with_env();
    if let Some(url) = base_url {
        provider = provider.base_url(url);
    }
    provider
        .check()
        .map_err(|error| CommandFailure::new(format!("{error}, or give another URL with --base-url")))?;
    let mut retries = Retries::default();
    retries.longest_wait = LONGEST_WAIT;
    let transport = Transport::with(Timeouts::default(), retries).map_err(failed)?;
    Ok(Arc::new(provider.model(model, &transport)))
}

fn script(name: &str) -> Result<Arc<dyn Model>, CommandFailure> {
    let path = Path::new(name);
    if name == ECHO && !path.exists() {
        let echo = Script::new(ECHO).rule(Rule::always().text("{input}"));
        return Ok(Arc::new(ScriptedModel::new(echo)));
    }
    let text = std::fs::read_to_string(path).map_err(|error| {
        let what = format!("the script `{name}` (there is `{SCRIPTED}:{ECHO}`, and `{SCRIPTED}:FILE`)");
        CommandFailure::reading(&what, error)
    })?;
    let script = Script::from_yaml(&text).map_err(|error| CommandFailure::new(format!("{name}: {error}")))?;
    Ok(Arc::new(ScriptedModel::new(script)))
}
