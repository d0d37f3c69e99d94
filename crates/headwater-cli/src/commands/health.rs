//! `headwater health`: asks a running server whether it can serve, for container health checks.

use std::{
    io::{Read as _, Write as _},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs as _},
    time::Duration,
};

use clap::Args;

use crate::{
    config::{ServerSettings, flags::Flags},
    failure::{CommandFailure, ExitVerdict},
    style,
};

/// How long the server may take.
const PATIENCE: Duration = Duration::from_secs(3);

/// Ask a running server whether it can serve; the exit code is 0 if it can.
///
/// Takes the flags of `serve` and asks at the address that it listens on. An image needs no other program for
/// its health check.
#[derive(Debug, Args)]
pub(crate) struct HealthCommand {
    #[command(flatten)]
    flags: Flags,
}

impl HealthCommand {
    pub(crate) fn run(&self) -> Result<ExitVerdict, CommandFailure> {
        let settings = ServerSettings::of(&self.flags.layers()?)?;
        let status = ask(&settings.listen).map_err(|error| {
            CommandFailure::temporary(format!(
                "no answer from {}: {error}; is the server running?",
                settings.listen
            ))
        })?;
        let mut out = style::stdout(false);
        writeln!(out, "{status}")?;
        match status.contains(" 200 ") {
            true => Ok(ExitVerdict::Sound),
            false => {
                Err(CommandFailure::temporary(format!("the server at {} is not ready", settings.listen)))
            }
        }
    }
}

/// The status line of `/readyz`.
pub(super) fn ask(listen: &str) -> std::io::Result<String> {
    let mut address =
        (listen.to_socket_addrs()?.next()).ok_or_else(|| std::io::Error::other("the address has no host"))?;
    if address.ip().is_unspecified() {
        let ip = match address {
            SocketAddr::V4(_) => IpAddr::from(Ipv4Addr::LOCALHOST),
            SocketAddr::V6(_) => IpAddr::from(Ipv6Addr::LOCALHOST),
        };
        address.set_ip(ip);
    }
    let mut connection = TcpStream::connect_timeout(&address, PATIENCE)?;
    connection.set_read_timeout(Some(PATIENCE))?;
    connection.write_all(b"GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
    let mut response = Vec::new();
    connection.take(4_096).read_to_end(&mut response)?;
    let text = String::from_utf8_lossy(&response);
    Ok(text.lines().next().unwrap_or_default().to_owned())
}
