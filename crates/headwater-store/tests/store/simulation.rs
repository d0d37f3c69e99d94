//! The embedded store on a faulty disk: random histories with faults, crashes and reopenings, judged by an oracle.
//!
//! `HEADWATER_SEEDS` sets how many histories there are, `HEADWATER_SEED` replays one.

use headwater_testkit::store::simulation::{SimulationSettings, SimulationSummary, run};

fn number(name: &str) -> Option<u64> {
    std::env::var(name)
        .ok()
        .map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is not a number: {text}")))
}

#[test]
fn embedded_store_keeps_its_promises_whatever_the_disk_does() {
    if let Some(seed) = number("HEADWATER_SEED") {
        let summary = run(seed, SimulationSettings::default()).unwrap_or_else(|broken| panic!("{broken}"));
        println!("figure: seed {seed}: {summary}");
        return;
    }
    let seeds = number("HEADWATER_SEEDS").unwrap_or(200);
    let mut summary = SimulationSummary::default();
    for seed in 0..seeds {
        summary += run(seed, SimulationSettings::default()).unwrap_or_else(|broken| panic!("{broken}"));
    }
    println!("figure: {seeds} histories: {summary}");
    assert!(summary.kills > 0 && summary.power_cuts > 0 && summary.faults > 0 && summary.flips > 0);
}
