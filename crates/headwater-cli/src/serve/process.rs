//! The process panel of the studio, on a server without keys: shows the process id and, with the demo agents,
//! kills and restarts the process, so that a person can see a conversation survive.

use std::{net::SocketAddr, time::SystemTime};

use axum::{Json, Router, http::StatusCode, routing::get};
use serde::Serialize;

use crate::config::ServerSettings;

/// The process as shown by the studio.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct ProcessInfo {
    pid: u32,
    /// Changes with a restart, even if the process keeps its id.
    started_at: u128,
    can_restart: bool,
}

/// The routes of a loopback-only server. `can_restart` requires a store that survives the process.
pub(crate) fn routes(settings: &ServerSettings, address: SocketAddr, can_restart: bool) -> Router {
    let can_restart = can_restart && cfg!(unix);
    let started_at =
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |age| age.as_millis());
    let process = ProcessInfo { pid: std::process::id(), started_at, can_restart };
    let router =
        Router::new().route("/studio/process", get(move || std::future::ready(Json(process.clone()))));
    #[cfg(unix)]
    if can_restart {
        let listen = settings.listen.clone();
        let restart = axum::routing::post(move || {
            let listen = listen.clone();
            async move {
                tokio::spawn(async move {
                    // Let the response leave first.
                    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                    let error = replace(&listen, address);
                    tracing::error!(%error, "cannot restart the server");
                });
                StatusCode::ACCEPTED
            }
        });
        return router.route("/studio/restart", restart);
    }
    router
}

/// Replaces the process with a new one of the same program, at once: connections are not closed and nothing
/// is flushed, as with `kill -9`. Returns only if it fails.
#[cfg(unix)]
fn replace(listen: &str, address: SocketAddr) -> std::io::Error {
    use std::os::unix::process::CommandExt as _;

    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => return error,
    };
    tracing::warn!("restarting without a shutdown, as requested in the studio");
    let address = address.to_string();
    // If the port was chosen freely, the new process must take the one that the page knows.
    let arguments = std::env::args().skip(1).map(|argument| match argument.strip_prefix("--listen=") {
        Some(value) if value == listen => format!("--listen={address}"),
        _ if argument == listen => address.clone(),
        _ => argument,
    });
    std::process::Command::new(program).args(arguments).env("HEADWATER_LISTEN", &address).exec()
}
