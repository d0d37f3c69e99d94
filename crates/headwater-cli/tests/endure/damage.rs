//! Folders damaged while no server ran: flipped bits, lost blocks, a lost end.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
};

use headwater_protocol::RunStatus;
use serde_json::json;

use crate::{
    client::{Answer, ask, at_once},
    report::{cases, held},
    server::Server,
};

const FLIPS: usize = 200;
const BLOCKS: usize = 100;
const CUTS: usize = 2_049;
/// The number of runs in the folder.
const RUNS: usize = 40;

/// A folder with finished runs, and their texts.
struct Sample {
    folder: tempfile::TempDir,
    texts: HashMap<String, String>,
}

impl Sample {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::start(&folder.path().join("sample"), &[]);
        let mut texts = HashMap::new();
        for number in 0..RUNS {
            let started =
                server.post("/v1/runs", &json!({ "agent": "chat", "input": format!("number {number}") }));
            let run = started.json()["run"].as_str().unwrap().to_owned();
            let (status, text) = at_once(read(&server, &run)).shown("native");
            assert_eq!(status, RunStatus::Finished);
            texts.insert(run, text);
        }
        server.kill();
        Self { folder, texts }
    }

    /// A copy of the folder, and the path of its only segment.
    fn copy(&self) -> (PathBuf, PathBuf) {
        let (from, to) = (self.folder.path().join("sample"), self.folder.path().join("data"));
        let _ = fs::remove_dir_all(&to);
        copy(&from, &to);
        (to.clone(), to.join("store/0000000000000001.seg"))
    }

    /// Starts a server on the folder and counts the intact runs. All others must report the damage.
    fn whole(&self, data: &Path, what: &str) -> usize {
        let server = Server::start(data, &[]);
        let whole = at_once(async {
            let mut whole = 0;
            for (run, text) in &self.texts {
                let answer = read(&server, run).await;
                let (status, shown) = answer.shown("native");
                if answer.status == 200 && answer.whole && status == RunStatus::Finished {
                    assert_eq!(shown, *text, "{what}: {run} says something else");
                    whole += 1;
                }
            }
            whole
        });
        let started = server.post("/v1/runs", &json!({ "agent": "chat", "input": "a new one" }));
        assert_eq!(started.status, 201, "{what}: no new run: {started:?}");
        let run = started.json()["run"].as_str().unwrap().to_owned();
        assert_eq!(at_once(read(&server, &run)).shown("native").0, RunStatus::Finished, "{what}");
        whole
    }
}

async fn read(server: &Server, run: &str) -> Answer {
    // A run damaged in the middle of its answer is recovered while it is read. Only a wire with retraction
    // shows the right text to such a reader.
    let path = format!("/v1/runs/{run}/events?until=end");
    ask(&server.address, "GET", &path, "").await.unwrap()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() { copy(&from, &to) } else { fs::copy(from, to).map(drop).unwrap() }
    }
}

/// Offsets spread over a file, always the same.
fn places(count: usize, length: usize) -> impl Iterator<Item = usize> {
    // Multiples of the golden ratio's 64-bit fraction never repeat an offset.
    (1..=count as u64).map(move |number| {
        let fraction = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        usize::try_from(fraction * length as u64 >> 32).unwrap()
    })
}

#[test]
fn flipped_bits_never_change_the_text_of_a_run() {
    let sample = Sample::new();
    let length = fs::metadata(sample.copy().1).unwrap().len();
    let (count, mut whole) = (cases(FLIPS, 6), 0);
    for (number, at) in places(count, usize::try_from(length).unwrap()).enumerate() {
        let (data, segment) = sample.copy();
        let mut bytes = fs::read(&segment).unwrap();
        bytes[at] ^= 1 << (number % 8);
        fs::write(&segment, bytes).unwrap();
        whole += sample.whole(&data, &format!("bit {} of byte {at}", number % 8));
    }
    // One flip damages at most the records of one commit.
    assert!(whole >= count * (RUNS - 2), "{whole} whole runs in {count} folders of {RUNS}");
    held(
        "flipped bits, each in a folder of 40 runs",
        FLIPS,
        "served data is right or reported as damaged; new runs start",
    );
}

#[test]
fn lost_blocks_never_change_the_text_of_a_run() {
    let sample = Sample::new();
    let length = usize::try_from(fs::metadata(sample.copy().1).unwrap().len()).unwrap();
    for (number, at) in places(cases(BLOCKS, 4), length).enumerate() {
        let (data, segment) = sample.copy();
        let mut bytes = fs::read(&segment).unwrap();
        let end = (at + (512 << (number % 5))).min(length);
        bytes[at..end].fill(if number % 2 == 0 { 0 } else { 0xA5 });
        fs::write(&segment, bytes).unwrap();
        sample.whole(&data, &format!("{} bytes at {at}", end - at));
    }
    held(
        "blocks of 512 B to 8 KiB overwritten",
        BLOCKS,
        "served data is right or reported as damaged; new runs start",
    );
}

#[test]
fn lost_end_damages_at_most_the_last_run() {
    let sample = Sample::new();
    let length = fs::metadata(sample.copy().1).unwrap().len();
    let step = CUTS / cases(CUTS, 12);
    for lost in (0..CUTS).step_by(step) {
        let (data, segment) = sample.copy();
        let file = fs::OpenOptions::new().write(true).open(&segment).unwrap();
        file.set_len(length - lost as u64).unwrap();
        drop(file);
        let whole = sample.whole(&data, &format!("{lost} bytes less"));
        assert!(whole + 1 >= RUNS, "{lost} bytes less: {whole} of {RUNS} runs are whole");
    }
    held(
        "the end of the log cut off, at each of the last 2,049 bytes",
        CUTS,
        "all runs but the last are whole; new runs begin",
    );
}
