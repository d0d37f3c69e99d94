//! The documentation says what the code says. `HEADWATER_BLESS=1` writes its tables anew.

use std::{fmt::Write as _, fs, path::PathBuf};

use headwater_server::{Agents, CODES, METRICS, Options, Server};

fn page(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

/// Compares what stands between two marks, or writes it.
fn between(name: &str, begin: &str, table: &str) {
    let path = page(name);
    let text = fs::read_to_string(&path).unwrap();
    let at = text.find(begin).unwrap_or_else(|| panic!("{name} has no `{begin}`")) + begin.len();
    let end = at + text[at..].find("<!-- end -->").unwrap_or_else(|| panic!("{name}: `{begin}` has no end"));
    let expected = format!("\n\n{table}\n");
    if std::env::var_os("HEADWATER_BLESS").is_some() {
        fs::write(&path, format!("{}{expected}{}", &text[..at], &text[end..])).unwrap();
        return;
    }
    assert_eq!(
        &text[at..end],
        expected,
        "{name} is not what the code says; HEADWATER_BLESS=1 writes it anew"
    );
}

#[test]
fn table_of_codes_is_that_of_the_code() {
    let mut table = "| status | code | means |\n|---|---|---|\n".to_owned();
    for (status, code, meaning) in CODES {
        writeln!(table, "| {status} | `{code}` | {meaning} |").unwrap();
    }
    between("http.md", "<!-- codes: written by a test from the list in the code -->", &table);
}

#[test]
fn table_of_errors_of_runs_is_that_of_the_code() {
    let mut table = "| code | readers are shown |\n|---|---|\n".to_owned();
    for (code, sentence) in headwater_runtime::READER_ERRORS {
        writeln!(table, "| `{code}` | {sentence} |").unwrap();
    }
    between("http.md", "<!-- errors of runs: written by a test from the list in the code -->", &table);
}

#[test]
fn table_of_metrics_is_that_of_the_code() {
    let mut table = "| name | kind | what |\n|---|---|---|\n".to_owned();
    for (name, kind, about) in METRICS {
        writeln!(table, "| `{name}` | {kind} | {about} |").unwrap();
    }
    between("operations.md", "<!-- metrics: written by a test from the list in the code -->", &table);
}

#[test]
fn every_route_is_described_and_no_other() {
    let text = fs::read_to_string(page("http.md")).unwrap();
    let routes = Server::new(Agents::new(), Options::default()).routes();
    let described: Vec<_> = text
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once('`'))
        .filter_map(|(route, _)| route.split_once(' '))
        .collect();
    for (method, path) in &routes {
        let count = described.iter().filter(|(m, p)| (m, *p) == (method, path.as_str())).count();
        assert_eq!(count, 1, "{method} {path} is in docs/http.md {count} times");
    }
    assert_eq!(described.len(), routes.len(), "docs/http.md has a route that is not there");
}

#[tokio::test]
async fn copy_of_the_openapi_document_is_what_the_server_sends() {
    let sent = crate::harness::World::new().await.get("/openapi.json").await.json();
    let expected = serde_json::to_string_pretty(&sent).unwrap() + "\n";
    let path = page("openapi.json");
    if std::env::var_os("HEADWATER_BLESS").is_some() {
        fs::write(&path, expected).unwrap();
        return;
    }
    let copy = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        copy == expected,
        "docs/openapi.json is not what the code says; HEADWATER_BLESS=1 writes it anew"
    );
}
