//! Settings of operators: their principals, the prices of models, and webhooks.

use headwater_runtime::{Price, PriceList};
use headwater_server::{OpenAccess, WebhookEvent, WebhookTarget};

use super::read::{SecretText, SettingsReader};
use crate::failure::CommandFailure;

/// A claim and its value: `role=operator`.
pub(super) fn claim_and_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((claim, value)) if !claim.is_empty() && !value.is_empty() => {
            Ok((claim.to_owned(), value.to_owned()))
        }
        _ => Err(format!("invalid value `{text}`: write CLAIM=VALUE, such as `role=operator`")),
    }
}

/// The API keys of operators. Without keys every caller is the principal `local`.
pub(super) fn operators(
    read: &SettingsReader<'_>,
    keys: &[(String, SecretText)],
) -> Result<Vec<String>, CommandFailure> {
    let names = read.many("operators");
    let is_known = |name: &String| match keys {
        [] => name == OpenAccess::PRINCIPAL,
        keys => keys.iter().any(|(key, _)| key == name),
    };
    match names.iter().find(|name| !is_known(name)) {
        Some(name) if keys.is_empty() => {
            let wrong = format!("unknown name `{name}`: without `api_keys` the only principal is `local`");
            Err(read.wrong("operators", wrong))
        }
        Some(name) => {
            let known: Vec<_> = keys.iter().map(|(name, _)| name.as_str()).collect();
            let wrong = format!("unknown name `{name}`: `api_keys` has `{}`", known.join("`, `"));
            Err(read.wrong("operators", wrong))
        }
        None => Ok(names),
    }
}

/// What models cost: `MODEL=INPUT/OUTPUT` or `MODEL=INPUT/OUTPUT/CACHED`.
pub(super) fn prices(read: &SettingsReader<'_>) -> Result<PriceList, CommandFailure> {
    let mut prices = PriceList::default();
    for entry in read.many("prices") {
        let wrong = || {
            let wrong = format!(
                "invalid price `{entry}`: write MODEL=INPUT/OUTPUT or MODEL=INPUT/OUTPUT/CACHED per million tokens, such as \
                 `openai:gpt-5-mini=0.25/2/0.025`"
            );
            read.wrong("prices", wrong)
        };
        let (model, numbers) = entry.split_once('=').ok_or_else(wrong)?;
        let numbers: Option<Vec<f64>> = numbers.split('/').map(price).collect();
        let (input, output, cached_input) = match *numbers.ok_or_else(wrong)?.as_slice() {
            [input, output] => (input, output, None),
            [input, output, cached] => (input, output, Some(cached)),
            _ => return Err(wrong()),
        };
        prices.set(model.trim(), Price { input, output, cached_input });
    }
    Ok(prices)
}

fn price(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|price: &f64| price.is_finite() && *price >= 0.0)
}

/// The targets of webhooks: `NAME=URL`, with their secrets, events and agents.
pub(super) fn webhooks(read: &SettingsReader<'_>) -> Result<Vec<WebhookTarget>, CommandFailure> {
    let (events, agents) = (read.many("webhook_events"), read.many("webhook_agents"));
    let secrets = read.secrets("webhook_secrets");
    let mut names: Vec<String> = Vec::new();
    let mut targets = Vec::new();
    for entry in read.many("webhooks") {
        let is_http = |url: &&str| url.starts_with("http://") || url.starts_with("https://");
        let (name, url) = entry
            .split_once('=')
            .filter(|(name, url)| !name.is_empty() && is_http(url))
            .ok_or_else(|| {
                let wrong = format!(
                    "invalid webhook `{entry}`: write NAME=URL, such as `audit=https://example.com/hooks`"
                );
                read.wrong("webhooks", wrong)
            })?;
        if names.iter().any(|known| known == name) {
            return Err(read.wrong("webhooks", format!("the name `{name}` is used twice")));
        }
        let secret = secrets.iter().find(|(of, _)| of == name).ok_or_else(|| {
            let wrong =
                format!("webhook `{name}` has no secret: add `{name} = \"…\"` to `[webhook_secrets]`");
            read.wrong("webhooks", wrong)
        })?;
        let of_target = |all: &[String]| -> Vec<String> {
            all.iter()
                .filter_map(|entry| match entry.split_once('=') {
                    Some((of, value)) => (of == name).then(|| value.to_owned()),
                    None => Some(entry.clone()),
                })
                .collect()
        };
        let wanted = of_target(&events)
            .iter()
            .map(|event| webhook_event(read, event))
            .collect::<Result<Vec<_>, _>>()?;
        let target = WebhookTarget::new(name, url, &secret.1.0)
            .map_err(|wrong| read.wrong("webhook_secrets", format!("`{name}`: {wrong}")))?;
        targets.push(target.events(wanted).agents(of_target(&agents)));
        names.push(name.to_owned());
    }
    for (setting, values) in [("webhook_events", &events), ("webhook_agents", &agents)] {
        let named = values.iter().filter_map(|value| value.split_once('='));
        if let Some((name, _)) = named.into_iter().find(|(name, _)| names.iter().all(|known| known != name)) {
            return Err(read.wrong(
                setting,
                format!("unknown webhook `{name}`: `webhooks` has `{}`", names.join("`, `")),
            ));
        }
    }
    Ok(targets)
}

fn webhook_event(read: &SettingsReader<'_>, name: &str) -> Result<WebhookEvent, CommandFailure> {
    WebhookEvent::find(name).ok_or_else(|| {
        let known = WebhookEvent::ALL.map(WebhookEvent::name).join("`, `");
        read.wrong("webhook_events", format!("unknown event `{name}`: use `{known}`"))
    })
}
