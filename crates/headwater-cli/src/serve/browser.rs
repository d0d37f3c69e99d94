//! Opens the page in the browser of the system.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    process::{Command, Stdio},
    thread,
};

/// The program that opens a URL, with its arguments before the URL.
const OPENER: (&str, &[&str]) = if cfg!(target_os = "macos") {
    ("open", &[])
} else if cfg!(windows) {
    ("cmd", &["/c", "start", ""])
} else {
    ("xdg-open", &[])
};

/// Opens the page of the server at this address. The server continues without it if that fails.
pub(super) fn open(mut address: SocketAddr) {
    if address.ip().is_unspecified() {
        address.set_ip(match address {
            SocketAddr::V4(_) => IpAddr::from(Ipv4Addr::LOCALHOST),
            SocketAddr::V6(_) => IpAddr::from(Ipv6Addr::LOCALHOST),
        });
    }
    let url = format!("http://{address}/");
    let (program, arguments) = OPENER;
    let mut command = Command::new(program);
    command.args(arguments).arg(&url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Some openers end with the browser, so a thread waits for them.
    thread::spawn(move || match command.status() {
        Ok(status) if status.success() => {}
        Ok(status) => tracing::warn!("cannot open {url}: `{program}` ended with {status}"),
        Err(error) => tracing::warn!("cannot open {url}: `{program}`: {error}"),
    });
}
