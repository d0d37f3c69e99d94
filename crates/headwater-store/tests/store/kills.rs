//! A real process on a real folder is killed at random moments: what it had acknowledged is there, in order, once.
//!
//! `HEADWATER_KILLS` sets how often. The process is this test itself, started again with a folder to append into.

use std::{
    collections::{BTreeMap, HashSet},
    io::{BufRead, BufReader, Write as _},
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use headwater_store::{
    Class, Expect, JournalId, ReadLimit, Store,
    embedded::{Embedded, Folder, Fsync, Options, check},
};
use headwater_testkit::random::Random;

const FOLDER: &str = "HEADWATER_APPEND_INTO";
const SEED: &str = "HEADWATER_APPEND_SEED";
const RUNS: [&str; 3] = ["run a", "run b", "läuft 🦀"];
const TTL: Duration = Duration::from_secs(3_600);

#[test]
fn acknowledged_records_survive_a_kill_in_order_and_once() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        append_until_killed(Path::new(&folder));
    }
    let kills = std::env::var("HEADWATER_KILLS").map_or(10, |text| text.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random::new(u64::from(std::process::id()));
    let mut acknowledged = AcknowledgedWrites::default();
    for _ in 0..kills {
        // From before the first acknowledgement to some thousands of commits.
        let patience = random.below(1_500) >> random.below(6);
        run_and_kill(folder.path(), random.next(), patience, &mut acknowledged);
        acknowledged.verify(folder.path());
    }
    assert!(acknowledged.facts.values().map(BTreeMap::len).sum::<usize>() > kills);
    println!("figure: {kills} kills: {acknowledged}");
}

/// Begins the process again, and kills it when so much was acknowledged.
fn run_and_kill(folder: &Path, seed: u64, patience: usize, acknowledged: &mut AcknowledgedWrites) {
    let mut process = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kills::acknowledged_records_survive_a_kill_in_order_and_once", "--nocapture"])
        .env(FOLDER, folder)
        .env(SEED, seed.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap());
    let mut line = Vec::new();
    let (mut heard, mut killed) = (0, false);
    loop {
        if heard >= patience && !killed {
            process.kill().unwrap();
            killed = true;
        }
        line.clear();
        lines.read_until(b'\n', &mut line).unwrap();
        // The last line may have been cut off.
        if line.last() != Some(&b'\n') {
            break;
        }
        heard +=
            usize::from(acknowledged.acknowledge(std::str::from_utf8(&line).unwrap().trim_end_matches('\n')));
    }
    assert!(killed, "the process ended by itself: {:?}", process.wait().unwrap());
    process.wait().unwrap();
}

/// What the processes have said is durable.
#[derive(Default)]
struct AcknowledgedWrites {
    facts: BTreeMap<JournalId, BTreeMap<u64, String>>,
    values: BTreeMap<String, (u64, String)>,
}

impl AcknowledgedWrites {
    fn acknowledge(&mut self, line: &str) -> bool {
        match *line.split('|').collect::<Vec<_>>() {
            ["fact", run, seq, body] => {
                let before =
                    self.facts.entry(run.into()).or_default().insert(seq.parse().unwrap(), body.to_owned());
                assert_eq!(before, None, "{run}: two facts are acknowledged as {seq}");
                true
            }
            ["value", key, version, text] => {
                self.values.insert(key.to_owned(), (version.parse().unwrap(), text.to_owned()));
                true
            }
            _ => false,
        }
    }

    fn verify(&self, folder: &Path) {
        let report = check(Arc::new(Folder::new(folder.to_owned()).unwrap())).unwrap();
        assert!(report.is_good(), "{report}");
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let store = Embedded::open(folder).unwrap();
            let mut bodies = HashSet::new();
            for run in RUNS.map(JournalId::from) {
                let kept = read_all(&store, &run).await;
                for (seq, body) in self.facts.get(&run).into_iter().flatten() {
                    assert_eq!(kept.get(seq), Some(body), "{run}: an acknowledged fact is not at {seq}");
                }
                for body in kept.into_values() {
                    assert!(bodies.insert(body.clone()), "{run}: {body} is there twice");
                }
            }
            for (key, (version, text)) in &self.values {
                let value = store.get(key).await.unwrap().unwrap_or_else(|| panic!("{key} is gone"));
                if value.version == *version {
                    assert_eq!(value.bytes, *text);
                } else {
                    assert!(value.version > *version, "{key} went back to version {}", value.version);
                }
            }
        });
    }
}

impl std::fmt::Display for AcknowledgedWrites {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let facts: usize = self.facts.values().map(BTreeMap::len).sum();
        write!(f, "{facts} facts and {} values were acknowledged and are there", self.values.len())
    }
}

async fn read_all(store: &Embedded, run: &JournalId) -> BTreeMap<u64, String> {
    let mut all = BTreeMap::new();
    if store.info(run).await.unwrap().is_none() {
        return all;
    }
    loop {
        let after = all.last_key_value().map_or(0, |(seq, _)| *seq);
        let page = store.read(run, after, ReadLimit::default()).await.unwrap();
        if page.records.is_empty() {
            return all;
        }
        for (expected, record) in (after + 1..).zip(page.records) {
            assert_eq!(record.seq, expected, "{run}: a gap");
            all.insert(record.seq, String::from_utf8(record.body.to_vec()).unwrap());
        }
    }
}

/// The process that is killed.
fn append_until_killed(folder: &Path) -> ! {
    let seed: u64 = std::env::var(SEED).unwrap().parse().unwrap();
    let mut options = Options::default();
    options.segment_bytes = 32 << 10;
    options.fsync = match seed % 3 {
        0 => Fsync::Never,
        1 => Fsync::Interval(Duration::from_millis(10)),
        _ => Fsync::Commit,
    };
    let store = Arc::new(Embedded::open_folder(folder, options).unwrap());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    runtime.block_on(async {
        let mut drivers = tokio::task::JoinSet::new();
        for (number, run) in (0..).zip(RUNS) {
            drivers.spawn(drive(store.clone(), run.into(), Random::new(seed + number)));
        }
        drivers.join_next().await.unwrap().unwrap()
    })
}

async fn drive(store: Arc<Embedded>, run: JournalId, mut random: Random) -> ! {
    let lease = store.claim(&run, "driver", TTL).await.unwrap();
    for count in 0_u64.. {
        let body = |part: usize| format!("{run} {} {count} {part} {}", lease.epoch, "x".repeat(part * 40));
        match random.below(10) {
            0..=3 => {
                drop(store.append(&lease, Class::Delta, &[body(0).into(), body(1).into()]).unwrap());
            }
            4..=7 => {
                let bodies: Vec<String> = (0..=random.below(3)).map(body).collect();
                let given: Vec<_> = bodies.iter().map(|body| body.clone().into()).collect();
                let receipt = store.append(&lease, Class::Fact, &given).unwrap();
                let first = receipt.first();
                receipt.await.unwrap();
                for (seq, body) in (first..).zip(bodies) {
                    print_line(&format!("fact|{run}|{seq}|{body}"));
                }
            }
            8 => {
                let key = format!("{run}/{}", random.below(3));
                let version = store.put(&key, body(2).into(), Expect::Any, None).await.unwrap();
                print_line(&format!("value|{key}|{version}|{}", body(2)));
            }
            _ => drop(store.sweep().await.unwrap()),
        }
    }
    unreachable!("a process has counted to the end")
}

/// In one piece, and at once.
fn print_line(line: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("{line}\n").as_bytes()).and_then(|()| out.flush()).unwrap();
}
