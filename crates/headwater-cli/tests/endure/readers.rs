//! Many readers wait on one run and all read its end.

use futures_util::future::join_all;
use headwater_protocol::RunStatus;
use serde_json::json;

use crate::{
    agent,
    client::{ask, at_once, open},
    report::{cases, held},
    server::{Server, memory},
};

const READERS: usize = 5_000;
/// The memory that one waiting reader may cost the server, including its connection.
const PER_READER: u64 = 40 << 10;

#[test]
fn waiting_readers_read_the_end_of_the_run() {
    let count = cases(READERS, 200);
    raise_files();
    let folder = tempfile::tempdir().unwrap();
    let file = agent(folder.path());
    let server = Server::start(&folder.path().join("data"), &[file.to_str().unwrap()]);
    let started =
        server.post("/v1/runs", &json!({ "agent": "endure", "input": "readers", "workflow": "asking" }));
    assert_eq!(started.status, 201, "{started:?}");
    let run = started.json()["run"].as_str().unwrap().to_owned();
    server.get(&format!("/v1/runs/{run}/events?until=wait"));
    let before = memory(server.pid(), "VmRSS");
    at_once(async {
        let path = format!("/v1/runs/{run}/events?dialect=agents&until=end");
        let mut waiting = Vec::with_capacity(count);
        // Connect in batches that fit the accept backlog.
        for batch in 0..count.div_ceil(100) {
            let left = (count - batch * 100).min(100);
            let opened = join_all((0..left).map(|_| open(&server.address, "GET", &path, ""))).await;
            waiting.extend(opened.into_iter().map(Result::unwrap));
        }
        if let (Some(before), Some(with)) = (before, memory(server.pid(), "VmRSS")) {
            let each = with.saturating_sub(before) / count as u64;
            // The fixed cost of the process weighs more among few readers.
            assert!(count < READERS || each <= PER_READER, "{each} bytes for each reader");
            println!("{count} readers: {} KiB each", each >> 10);
        }
        let answer =
            ask(&server.address, "POST", &format!("/v1/runs/{run}/answer"), r#"{"answer":"yes"}"#).await;
        assert_eq!(answer.unwrap().status, 202);
        for reader in join_all(waiting.into_iter().map(|reader| reader.end())).await {
            assert!(reader.whole, "a stream was cut");
            let (status, text) = reader.shown("agents");
            assert_eq!(
                (status, text.as_str()),
                (RunStatus::Finished, "readers: this was asked, and this is the answer.")
            );
        }
    });
    held(
        "readers of one run that wait, and then read its end",
        READERS,
        "every text whole, at most 40 KiB each",
    );
}

/// Raises the limit on open files of this process and the server it starts to the allowed maximum.
fn raise_files() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let limit = getrlimit(Resource::Nofile);
        // If it cannot be raised, the first reader without a descriptor fails.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    }
}
