//! A file that has changed: runs that wait keep the version that they began with.

use std::sync::Arc;

use headwater_protocol::RunStatus;
use headwater_runtime::{AgentFile, FileOptions, Start};
use headwater_store::{Memory, Store};

use super::examples::answer;

fn file(version: &str, said: &str) -> AgentFile {
    let text = format!(
        "name: a\nworkflows:\n  w:\n{version}    start: ask\n    nodes:\n      ask: {{ interrupt: {{ ask: Name? }}, save: name }}\n      say: {{ message: \"{said} {{{{ data.name }}}}\" }}\n    edges: [{{ from: ask, to: say }}]\n"
    );
    AgentFile::parse("a.yaml", text).unwrap()
}

#[tokio::test]
async fn a_run_that_waits_keeps_its_version_when_the_file_is_reloaded() {
    for version in ["", "    version: \"2\"\n"] {
        let store: Arc<dyn Store> = Arc::new(Memory::new());
        let old = file(version, "Hello");
        let before = old.build(FileOptions::new(store.clone())).unwrap();
        let waiting = before.start(Start::new("x")).await.unwrap().outcome().await.unwrap();

        let new = file(version, "Good day");
        let after = new.build(FileOptions::new(store.clone()).replaces(before, old)).unwrap();
        let (_, outcome) = answer(&after, &waiting, "Ada").await;
        assert_eq!(outcome.text(), "Hello Ada", "{version}");

        let fresh = after.start(Start::new("x")).await.unwrap().outcome().await.unwrap();
        let (_, outcome) = answer(&after, &fresh, "Ada").await;
        assert_eq!(outcome.text(), "Good day Ada", "{version}");
    }
}

#[tokio::test]
async fn a_run_that_is_going_can_be_stopped_after_its_file_was_reloaded() {
    let store: Arc<dyn Store> = Arc::new(Memory::new());
    let text = "name: a\nworkflows: { w: { start: n, nodes: { n: { wait: 7d } } } }\n";
    let old = AgentFile::parse("a.yaml", text).unwrap();
    let before = old.build(FileOptions::new(store.clone())).unwrap();
    let run = before.start(Start::new("x")).await.unwrap();

    let new = AgentFile::parse("a.yaml", text.replace("7d", "6d")).unwrap();
    let after = new.build(FileOptions::new(store).replaces(before, old)).unwrap();
    assert_eq!(after.driving(), 1);
    let outcome = after.stop(run.id(), None).await.unwrap().outcome().await.unwrap();
    assert_eq!(outcome.status(), RunStatus::Cancelled);
}

#[test]
fn a_version_is_made_from_the_content_and_not_from_its_looks() {
    let version = |text: &str| {
        AgentFile::parse("a.yaml", text).unwrap().workflows().next().unwrap().version().to_owned()
    };
    let plain = version(
        "name: a\nworkflows:\n  w:\n    start: n\n    nodes:\n      n: { message: x, timeout: 1s }\n",
    );
    let other = version(
        "# about\nname: b\nworkflows: { w: { nodes: { n: { timeout: 1s, message: 'x' } }, start: n } }\n",
    );
    assert_eq!(plain, other);
    assert_eq!(plain.len(), 12);
    let changed = version(
        "name: a\nworkflows:\n  w:\n    start: n\n    nodes:\n      n: { message: y, timeout: 1s }\n",
    );
    assert_ne!(plain, changed);
}
