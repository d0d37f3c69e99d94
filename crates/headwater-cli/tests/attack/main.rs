//! Attacks on the real binary. `cargo xtask attack` runs all cases and prints their number; the normal test
//! run takes some of each and checks the numbers in `docs/security.md`.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "all of this is test code"
)]

mod answers;
mod bodies;
mod browsers;
mod connections;
mod foreign;
mod http2;
mod mutated;
mod report;
#[path = "../cli/server.rs"]
#[allow(dead_code, reason = "the other suite uses all of it")]
mod server;
#[path = "../cli/table.rs"]
mod table;
mod tokens;

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

use server::Server;

/// The keys of two principals.
const ANN: (&str, &str) = ("authorization", "Bearer key-of-ann-0123456789");
const BOB: (&str, &str) = ("authorization", "Bearer key-of-bob-0123456789");
const KEYS: [&str; 4] =
    ["--set", "api_keys=ann=key-of-ann-0123456789,bob=key-of-bob-0123456789", "--store", "memory:"];

/// Sends bytes and returns the response until the server closes the connection.
fn raw(server: &Server, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    // The server may have closed the connection before everything was sent.
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

/// The status of a raw response, or 0 without one.
fn status(answer: &str) -> u16 {
    answer.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok()).unwrap_or_default()
}

/// Fails unless the server still responds.
fn lives(server: &Server) -> Result<(), String> {
    match server.get("/healthz").status {
        200 => Ok(()),
        status => Err(format!("the server does not respond any more: {status}")),
    }
}
