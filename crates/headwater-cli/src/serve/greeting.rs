//! The greeting that is printed when the server is ready: its URL, agents and dialects.

use std::{
    fmt::{self, Write},
    io,
    net::SocketAddr,
};

use headwater_server::{ChatPath, Server};

use super::listen::has_keys;
use crate::{
    config::{ServerSettings, StoreUrl},
    style::{self, BOLD, CYAN, DIM, GREEN, YELLOW},
};

/// Prints the server's URL, agents and dialects.
pub(crate) fn print(
    settings: &ServerSettings,
    address: SocketAddr,
    server: &Server,
    default: &str,
) -> io::Result<()> {
    let mut text = String::new();
    write(&mut text, settings, address, server, default).map_err(io::Error::other)?;
    style::print_whole(&text)
}

fn write(
    out: &mut String,
    settings: &ServerSettings,
    address: SocketAddr,
    server: &Server,
    default: &str,
) -> fmt::Result {
    let base = format!("http://{address}");
    let version = env!("CARGO_PKG_VERSION");
    writeln!(out, "{BOLD}headwater {version}{BOLD:#}  listening on {GREEN}{base}{GREEN:#}")?;
    if !has_keys(settings) {
        writeln!(out, "{YELLOW}no API keys are set: reachable from this machine only{YELLOW:#}")?;
    } else if address.ip().is_loopback() {
        writeln!(out, "{DIM}clients need an API key; reachable from this machine only{DIM:#}")?;
    } else {
        writeln!(out, "{DIM}clients need an API key{DIM:#}")?;
    }
    writeln!(out)?;
    let agents = server.agents().names().into_iter();
    let agents: Vec<_> =
        agents.map(|agent| if agent == default { format!("{agent} (default)") } else { agent }).collect();
    writeln!(out, "  {BOLD}agents{BOLD:#}    {}", style::printable(&agents.join(", ")))?;
    let store = match &settings.store {
        StoreUrl::Memory(_) => "memory: runs are lost when the server stops".to_owned(),
        StoreUrl::File(folder) => format!("{}, store in {}", settings.data.display(), folder.display()),
        shared @ (StoreUrl::Postgres(_) | StoreUrl::Redis(_)) => shared.to_string(),
    };
    writeln!(out, "  {BOLD}data{BOLD:#}      {}", style::printable(&store))?;
    writeln!(out, "  {BOLD}studio{BOLD:#}    {CYAN}{base}/{CYAN:#}")?;
    writeln!(out)?;
    for &dialect in headwater_dialects::CHAT.iter().filter(|dialect| server.options().serves(**dialect)) {
        let name = dialect.name();
        let path = dialect.routes().first().map(|route| route.url(name)).unwrap_or_default();
        writeln!(out, "  {name:9} POST {CYAN}{base}{path}{CYAN:#}")?;
        for (_, ChatPath { path, agent }) in settings.paths.iter().filter(|(of, _)| of.name() == name) {
            let agent = agent.as_ref().map(|agent| format!(" ({agent})")).unwrap_or_default();
            writeln!(out, "            POST {CYAN}{base}{path}{CYAN:#}{}", style::printable(&agent))?;
        }
    }
    writeln!(out, "  {:9} POST {CYAN}{base}/v1/runs{CYAN:#}", "native")
}
