//! Requests that foreign web pages make a browser send to a server without keys.

use crate::{raw, report::attack, server::Server, status};

fn open() -> (tempfile::TempDir, Server) {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("data"), &["--store", "memory:"]);
    (folder, server)
}

#[test]
fn foreign_hosts_are_refused() {
    let (_folder, server) = open();
    let port = server.address.rsplit(':').next().unwrap();
    let hosts: Vec<String> = [
        "evil.test",
        "evil.test:$PORT",
        "localhost.evil.test",
        "127.0.0.1.evil.test",
        "127.0.0.1.nip.io",
        "localtest.me",
        "[::1].evil.test",
        "[::1]evil",
        "[::1]:$PORT@evil.test",
        "[::1",
        "::1",
        "[::2]",
        "[::ffff:10.0.0.1]",
        "[fe80::1]",
        "localhost:$PORT@evil.test",
        "localhost@evil.test",
        "localhost#evil.test",
        "localhost/evil.test",
        "localhost\\evil.test",
        "localhost?evil.test",
        "localhost,evil.test",
        "localhost evil.test",
        "localhost:",
        "localhost:x",
        "localhost:99999",
        "localhost:80:80",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "127.1",
        "127.0.0.1e",
        "10.0.0.1",
        "192.168.0.1",
        "0.0.0.0",
        "169.254.169.254",
        "\u{ff4c}ocalhost",
        "loc\u{e4}lhost",
        "localhost%00.evil.test",
        "localhost%2eevil.test",
        "*",
        "null",
        "",
    ]
    .into_iter()
    .map(|host| host.replace("$PORT", port))
    .collect();
    let get = |path: &str, host: &str| {
        raw(&server, format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n").as_bytes())
    };
    for path in ["/v1/runs", "/"] {
        assert_eq!(status(&get(path, &format!("localhost:{port}"))), 200, "{path}");
    }
    let cases: Vec<_> =
        ["/v1/runs", "/"].into_iter().flat_map(|path| hosts.iter().map(move |host| (path, host))).collect();
    attack("hosts (DNS rebinding)", &cases, |(path, host)| match status(&get(path, host)) {
        400 | 403 => Ok(()),
        status => Err(format!("{path} of {host}: {status}")),
    });
    assert!(
        matches!(status(&raw(&server, b"GET / HTTP/1.1\r\nconnection: close\r\n\r\n")), 400 | 403),
        "no host"
    );
}

#[test]
fn requests_of_foreign_pages_are_refused() {
    let (_folder, server) = open();
    let address = &server.address;
    let post = |headers: &str| {
        let body = r#"{"agent":"chat","input":"hello"}"#;
        let head = format!(
            "POST /v1/runs HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n{headers}content-length: {}\r\n\r\n{body}",
            body.len()
        );
        status(&raw(&server, head.as_bytes()))
    };
    let json = "content-type: application/json\r\n";
    let port = address.rsplit(':').next().unwrap();
    let origins = [
        "https://evil.test",
        "http://evil.test",
        "null",
        "",
        "file://",
        "://$ADDRESS",
        "$ADDRESS",
        "http://$ADDRESS.evil.test",
        "http://$ADDRESS@evil.test",
        "http://evil.test#$ADDRESS",
        "http://evil.test/$ADDRESS",
        "http://127.0.0.1.evil.test",
        "http://192.168.0.2:3000",
        "http://localhost.evil.test:3000",
        "http://0.0.0.0:$PORT",
        "http://[::1].evil.test",
        "http://[2001:db8::1]:$PORT",
        "ftp://$ADDRESS",
        "http://$ADDRESS/",
        "http://$ADDRESS http://evil.test",
        "http:$ADDRESS",
        "HTTP//$ADDRESS",
        "chrome-extension://abcdef",
        "http://*",
        "*",
        "https://$ADDRESS\u{e4}",
    ]
    .map(|origin| origin.replace("$ADDRESS", address).replace("$PORT", port));
    let mut cases: Vec<String> = origins.iter().map(|origin| format!("{json}origin: {origin}\r\n")).collect();
    cases.push(format!("{json}origin: http://{address}\r\norigin: http://evil.test\r\n"));
    for site in ["cross-site"] {
        for mode in ["no-cors", "cors", "navigate", "websocket"] {
            cases.push(format!("{json}sec-fetch-site: {site}\r\nsec-fetch-mode: {mode}\r\n"));
        }
    }
    cases.push(format!("{json}sec-fetch-site: same-origin\r\norigin: https://evil.test\r\n"));
    for kind in [
        "text/plain",
        "text/plain; charset=utf-8",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/json",
        "text/html",
        "application/xml",
        "application/octet-stream",
        "application/jsonp",
        "application/json-seq",
        "json",
        "text/plain; application/json",
        "text/plain, application/json",
        "application/javascript",
        "image/png",
        "*/*",
        "",
    ] {
        cases.push(format!("content-type: {kind}\r\n"));
    }
    cases.push(String::new());
    assert_eq!(post(json), 201);
    assert_eq!(post(&format!("{json}origin: http://{address}\r\n")), 201);
    attack("origins, fetch metadata and content types", &cases, |headers| match post(headers) {
        400 | 403 | 415 => Ok(()),
        status => Err(format!("{status} for {headers:?}")),
    });
    let runs = server.get("/v1/runs").json()["runs"].as_array().unwrap().len();
    assert_eq!(runs, 2, "a foreign page started no run");
}
