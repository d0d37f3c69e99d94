//! The cost of runs without a driver: 100,000 of them in a freshly opened store. `cargo xtask bench store`.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    missing_docs,
    reason = "a bench stops at the first thing that goes wrong"
)]

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use headwater_store::{
    Class, JournalId, Store,
    embedded::{Embedded, Fsync, Options},
};

const RUNS: usize = 100_000;
const AIM: u64 = 1_024;

fn main() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("bench-idle-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(fill(&folder));
    let (before, begun) = (resident(), Instant::now());
    let mut opened = None;
    let heap = allocation_counter::measure(|| opened = Some(open(&folder)));
    let took = begun.elapsed();
    let each = u64::try_from(heap.bytes_current).unwrap() / RUNS as u64;
    let resident = resident().saturating_sub(before) / RUNS as u64;
    println!("\n{RUNS} idle runs of three records, opened in {took:.0?}");
    println!("bytes of heap each: {each}, of resident memory: {resident}");
    let met = each <= AIM;
    println!("{} bytes of heap per idle run ≤ {AIM}: {each}", if met { "met   " } else { "MISSED" });
    drop(opened);
    fs::remove_dir_all(&folder).unwrap();
    std::process::exit(i32::from(!met));
}

fn open(folder: &Path) -> Embedded {
    let mut options = Options::default();
    options.fsync = Fsync::Never;
    Embedded::open_folder(folder, options).unwrap()
}

async fn fill(folder: &Path) {
    let store = open(folder);
    let body = vec![b'x'; 200];
    for block in (0..RUNS).collect::<Vec<_>>().chunks(1_000) {
        let ids: Vec<JournalId> = block.iter().map(|run| format!("run_{run}").into()).collect();
        let claims = ids.iter().map(|id| store.claim(id, "bench", Duration::from_secs(600)));
        let leases: Vec<_> =
            futures_util::future::join_all(claims).await.into_iter().map(Result::unwrap).collect();
        for _ in 0..3 {
            let appended =
                leases.iter().map(|lease| store.append(lease, Class::Fact, &[body.clone().into()]).unwrap());
            let receipts = futures_util::future::join_all(appended.collect::<Vec<_>>()).await;
            assert!(receipts.iter().all(Result::is_ok));
        }
        let released = futures_util::future::join_all(leases.iter().map(|lease| store.release(lease))).await;
        assert!(released.iter().all(Result::is_ok));
    }
}

fn resident() -> u64 {
    let statm = fs::read_to_string("/proc/self/statm").unwrap();
    statm.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 4_096
}
