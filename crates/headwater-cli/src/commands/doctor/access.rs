//! Who may use the server, and where it listens.

use super::CheckResult;
use crate::{
    commands::health::ask,
    config::ServerSettings,
    serve::{
        listen::{has_keys, listen},
        server_options,
    },
};

pub(super) async fn keys(settings: &ServerSettings) -> CheckResult {
    if !has_keys(settings) {
        let message = "none are set: fine while the server listens on this machine only";
        return CheckResult::good("keys", message);
    }
    // Reads the keys of tokens, from files and URLs.
    match server_options(settings).await {
        Ok(_) => {
            let tokens = if settings.jwt.is_some() { ", and tokens" } else { "" };
            let keys = crate::style::count(settings.api_keys.len() as u64, "API key");
            CheckResult::good("keys", format!("{keys}{tokens}"))
        }
        Err(failure) => CheckResult::wrong("keys", failure.to_string()),
    }
}

pub(super) async fn port(settings: &ServerSettings) -> CheckResult {
    let failure = match listen(settings).await {
        Ok((_, address)) => return CheckResult::good("port", format!("{address} is free")),
        Err(failure) => failure,
    };
    // A server that is running already is what the port is for.
    let address = settings.listen.clone();
    let answer = tokio::task::spawn_blocking(move || ask(&address)).await;
    match answer {
        Ok(Ok(status)) if status.contains(" 200 ") => {
            CheckResult::good("port", format!("a server answers at {}", settings.listen))
        }
        _ => CheckResult::wrong("port", failure.to_string()),
    }
}
