//! Malformed requests and silent connections.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

use crate::{ANN, KEYS, lives, raw, report::attack, server::Server, status};

/// Malformed HTTP/1.1 requests, each followed by one that must not be taken as a second request.
fn malformed(address: &str) -> Vec<Vec<u8>> {
    let key = ANN.1;
    let head = |more: &str| {
        format!(
            "POST /v1/runs/none/stop HTTP/1.1\r\nhost: {address}\r\nauthorization: {key}\r\ncontent-type: application/json\r\n{more}"
        )
    };
    let smuggled = format!("GET /healthz HTTP/1.1\r\nhost: {address}\r\n\r\n");
    let long = "x".repeat(1 << 20);
    let many: String = (0..200).map(|number| format!("x-{number}: y\r\n")).collect();
    let mut all: Vec<String> = [
        "content-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        "transfer-encoding: chunked\r\ncontent-length: 4\r\n\r\n0\r\n\r\n",
        "content-length: 0\r\ncontent-length: 40\r\n\r\n",
        "content-length: 0, 40\r\n\r\n",
        "content-length: +4\r\n\r\nabcd",
        "content-length: -1\r\n\r\n",
        "content-length: 0x10\r\n\r\n",
        "content-length: 4 4\r\n\r\nabcd",
        "content-length: 99999999999999999999999\r\n\r\n",
        "content-length:\r\n\r\n",
        "transfer-encoding: xchunked\r\n\r\n0\r\n\r\n",
        "transfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        "transfer-encoding: identity, chunked\r\ntransfer-encoding: x\r\n\r\n0\r\n\r\n",
        "transfer-encoding : chunked\r\n\r\n0\r\n\r\n",
        "transfer-encoding\t: chunked\r\n\r\n0\r\n\r\n",
        " transfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        "x: y\r\n folded: z\r\n\r\n",
        "x: y\r\n\tfolded\r\n\r\n",
        "x y: z\r\n\r\n",
        ": z\r\n\r\n",
        "no colon\r\n\r\n",
        "x: a\u{0}b\r\n\r\n",
        "x: a\rb\r\n\r\n",
        "x\u{0}: b\r\n\r\n",
        "\u{1f4a3}: b\r\n\r\n",
        "transfer-encoding: chunked\r\n\r\nzz\r\n",
        "transfer-encoding: chunked\r\n\r\n-1\r\n",
        "transfer-encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
        "transfer-encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n",
        "connection: close\r\ntransfer-encoding: chunked\r\n\r\n1;\u{0}\r\na\r\n0\r\n\r\n",
        "connection: close\r\ntransfer-encoding: chunked\r\n\r\n0\r\nx\u{0}: y\r\n\r\n",
    ]
    .into_iter()
    .map(|more| head(more) + &smuggled)
    .collect();
    all.extend([
        head(&format!("{many}\r\n")) + &smuggled,
        head(&format!("x: {long}\r\n\r\n")) + &smuggled,
        format!("GET /{long} HTTP/1.1\r\nhost: {address}\r\n\r\n{smuggled}"),
        format!("GET / HTTP/9.9\r\nhost: {address}\r\n\r\n{smuggled}"),
        format!("GET / HTTP/0.9\r\nhost: {address}\r\n\r\n{smuggled}"),
        format!("GET  / HTTP/1.1\r\nhost: {address}\r\n\r\n{smuggled}"),
        format!("GET / x HTTP/1.1\r\nhost: {address}\r\n\r\n{smuggled}"),
        format!("G\u{0}T / HTTP/1.1\r\nhost: {address}\r\n\r\n{smuggled}"),
        format!("GET /\u{0} HTTP/1.1\r\nhost: {address}\r\n\r\n{smuggled}"),
        format!("GET {{}} HTTP/1.1\r\nhost: {address}\r\n\r\n{smuggled}"),
        "CONNECT evil.test:443 HTTP/1.1\r\nhost: evil.test\r\n\r\n".to_owned(),
        "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}\u{1}\u{fc}\u{3}\u{3}".to_owned(),
        "PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n".to_owned(),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nGET / HTTP/1.1\r\n\r\n".to_owned(),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\u{0}\u{0}\u{7f}\u{1}\u{0}\u{0}\u{0}\u{0}\u{1}".to_owned(),
        "\r\n".repeat(100_000),
        "\u{0}".repeat(100_000),
    ]);
    all.into_iter().map(String::into_bytes).collect()
}

#[test]
fn malformed_requests_are_refused_and_nothing_is_smuggled() {
    let folder = tempfile::tempdir().unwrap();
    let quick = [&KEYS[..], &["--set", "limits.idle=1s", "--set", "limits.body_time=1s"]].concat();
    let server = Server::start(&folder.path().join("data"), &quick);
    attack("malformed HTTP/1", &malformed(&server.address), |bytes| {
        let answer = raw(&server, bytes);
        let begun = String::from_utf8_lossy(bytes).get(..200).unwrap_or_default().to_owned();
        if answer.contains(r#""status":"ok""#) || answer.matches("HTTP/1.1 ").count() > 1 {
            return Err(format!("a second request was answered: {begun}\n{answer}"));
        }
        match status(&answer) {
            200..300 | 500.. => Err(format!("{}: {begun}", status(&answer))),
            _ => lives(&server),
        }
    });
    let runs = server.ask("GET", "/v1/runs", &[ANN], "").json()["runs"].as_array().unwrap().len();
    assert_eq!(runs, 0, "nothing was begun");
}

#[test]
fn slow_connections_are_closed() {
    let folder = tempfile::tempdir().unwrap();
    let quick = [&KEYS[..], &["--set", "limits.idle=2s"]].concat();
    let server = Server::start(&folder.path().join("data"), &quick);
    let http2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    let begins: [&[u8]; 6] = [
        b"",
        b"G",
        b"GET / HTTP/1.1\r\nhost: lo",
        b"POST /v1/runs HTTP/1.1\r\nhost: localhost\r\n",
        b"PRI * HTTP/2.0\r\n",
        http2,
    ];
    let cases: Vec<_> = (0..600).map(|number| begins[number % begins.len()]).collect();
    // All at once: the test only waits for each.
    let mut open = Vec::new();
    attack("slow and silent connections", &cases, |begin| {
        let mut stream = TcpStream::connect(&server.address).map_err(|error| error.to_string())?;
        stream.set_read_timeout(Some(Duration::from_secs(60))).map_err(|error| error.to_string())?;
        stream.write_all(begin).map_err(|error| error.to_string())?;
        open.push(stream);
        Ok(())
    });
    lives(&server).unwrap();
    let mut buffer = [0; 1_024];
    for mut stream in open {
        // Bytes before the end do not matter, but the connection must end.
        while stream.read(&mut buffer).unwrap_or_else(|error| match error.kind() {
            std::io::ErrorKind::ConnectionReset => 0,
            _ => panic!("a connection stays open: {error}"),
        }) > 0
        {}
    }
    lives(&server).unwrap();
}
