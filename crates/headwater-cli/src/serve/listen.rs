//! Binds the port, and refuses to be open to the network without keys.

use std::{io, net::SocketAddr};

use tokio::net::TcpListener;

use super::store::ServerProcess;
use crate::{config::ServerSettings, failure::CommandFailure};

/// Binds the port. Without keys only a loopback address is accepted.
pub(crate) async fn listen(settings: &ServerSettings) -> Result<(TcpListener, SocketAddr), CommandFailure> {
    let wanted = &settings.listen;
    let listener = TcpListener::bind(wanted).await.map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => {
            let who = match ServerProcess::read(&settings.data) {
                Some(ServerProcess { pid, address }) if address == *wanted => {
                    format!("the headwater process {pid}, which listens there")
                }
                _ => {
                    let port = wanted.rsplit(':').next().unwrap_or(wanted);
                    format!("the program that listens there (`lsof -i :{port}` names it)")
                }
            };
            CommandFailure::new(format!(
                "{wanted} is in use: stop {who}, or use --listen 127.0.0.1:0 for a free port"
            ))
        }
        io::ErrorKind::PermissionDenied => CommandFailure::new(format!(
            "not allowed to listen on {wanted}: ports below 1024 need root; choose a higher one"
        )),
        _ => CommandFailure::new(format!("cannot listen on {wanted}: {error}")),
    })?;
    let address = listener
        .local_addr()
        .map_err(|error| CommandFailure::new(format!("cannot listen on {wanted}: {error}")))?;
    if !address.ip().is_loopback() && !has_keys(settings) {
        return Err(CommandFailure::new(format!(
            "on {wanted} all who can reach this machine could use its agents: set a key (--api-key, `api_keys`, \
             `jwt.secret`, `jwt.public_key`, `jwt.jwks` or `jwt.jwks_url`), or listen on 127.0.0.1"
        )));
    }
    Ok((listener, address))
}

/// Whether clients must authenticate.
pub(crate) fn has_keys(settings: &ServerSettings) -> bool {
    !settings.api_keys.is_empty() || settings.jwt.is_some()
}
