//! The process behind the studio, on a server without keys: which one it is, and with the demo agents a way to kill and
//! restart it, so that a person can see a conversation survive that.

use std::{net::SocketAddr, time::SystemTime};

use axum::{Json, Router, http::StatusCode, routing::get};
use serde::Serialize;

use crate::config::Settings;

/// What the studio shows of the process.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Process {
    pid: u32,
    /// Differs after a restart, also where the process keeps its id.
    started_at: u128,
    can_restart: bool,
}

/// The routes of a server that only this machine can reach. `can_restart` needs a store that survives the process.
pub(crate) fn routes(settings: &Settings, address: SocketAddr, can_restart: bool) -> Router {
    let can_restart = can_restart && cfg!(unix);
    let started_at =
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |age| age.as_millis());
    let process = Process { pid: std::process::id(), started_at, can_restart };
    let router =
        Router::new().route("/studio/process", get(move || std::future::ready(Json(process.clone()))));
    #[cfg(unix)]
    if can_restart {
        let listen = settings.listen.clone();
        let restart = axum::routing::post(move || {
            let listen = listen.clone();
            async move {
                tokio::spawn(async move {
                    // The response is sent first.
                    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                    let error = replace(&listen, address);
                    tracing::error!(%error, "the server cannot be restarted");
                });
                StatusCode::ACCEPTED
            }
        });
        return router.route("/studio/restart", restart);
    }
    router
}

/// Replaces the process by a new one of the same program, at once: no connection is closed and nothing is written, as
/// with `kill -9`. Returns only if it fails.
#[cfg(unix)]
fn replace(listen: &str, address: SocketAddr) -> std::io::Error {
    use std::os::unix::process::CommandExt as _;

    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => return error,
    };
    tracing::warn!("restarting without a shutdown: the studio asked for it");
    let address = address.to_string();
    // Where any free port was asked for, the new process must take the one that the page knows.
    let arguments = std::env::args().skip(1).map(|argument| match argument.strip_prefix("--listen=") {
        Some(value) if value == listen => format!("--listen={address}"),
        _ if argument == listen => address.clone(),
        _ => argument,
    });
    std::process::Command::new(program).args(arguments).env("HEADWATER_LISTEN", &address).exec()
}
