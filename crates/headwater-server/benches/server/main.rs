//! What serving costs: `cargo xtask bench server`.
//!
//! This process makes the load and reads; the servers are processes of their own, so that what each takes can be told
//! apart. Compared figures were measured alternately within one run.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::cast_precision_loss
)]

mod chats;
mod child;
mod conversation;
mod growth;
mod latency;
mod load;
mod memory;
mod model;
mod paced;
mod reattach;
mod report;
mod serve;
mod shared;
mod sizes;
mod throughput;

use report::Report;

/// As in `headwater`, for all servers of this program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The measurements when no names are given.
const SECTIONS: [&str; 12] = [
    "throughput",
    "latency",
    "memory",
    "shared",
    "reattach",
    "paced",
    "unpaced",
    "chats",
    "turns",
    "answers",
    "sizes",
    "structured",
];

/// How much is measured.
#[derive(Debug, Clone, Copy)]
struct Size {
    /// Runs at once.
    runs: usize,
    /// Deltas of a run.
    deltas: usize,
    /// Readers of which the memory is measured.
    readers: usize,
    /// Deltas of the run that readers resume.
    long: usize,
    /// Runs at once for the vendors' servers, which take longer for each.
    vendor_runs: usize,
    /// How often each thing is measured: the best counts.
    passes: usize,
    /// Chats at once whose deltas come 20 ms apart.
    paced: usize,
    /// Short chats, one after the other on each connection.
    chats: usize,
    /// Turns of the longest session.
    turns: usize,
    /// Records before the question that is answered.
    records: usize,
}

const WHOLE: Size = Size {
    runs: 1_000,
    deltas: 200,
    readers: 10_000,
    long: 10_000,
    vendor_runs: 100,
    passes: 3,
    paced: 300,
    chats: 1_000,
    turns: 2_000,
    records: 10_000,
};
const SMALL: Size = Size {
    runs: 50,
    deltas: 50,
    readers: 200,
    long: 2_000,
    vendor_runs: 10,
    passes: 1,
    paced: 40,
    chats: 100,
    turns: 200,
    records: 1_000,
};

fn main() -> std::process::ExitCode {
    let mut arguments: Vec<String> =
        std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    if arguments.first().is_some_and(|first| first == serve::FLAG) {
        runtime.block_on(serve::serve(&arguments.split_off(1)));
        return std::process::ExitCode::SUCCESS;
    }
    let size = if arguments.iter().any(|argument| argument == "--small") { SMALL } else { WHOLE };
    arguments.retain(|argument| argument != "--small");
    // Names of dialects select some of them.
    let (named, sections): (Vec<_>, Vec<_>) =
        arguments.iter().partition(|argument| headwater_dialects::find(argument).is_some());
    let asked = |section: &str| sections.is_empty() || sections.iter().any(|argument| *argument == section);
    // The Responses API has no chat route that `load::says` could ask.
    let dialect_asked = |name: &str| {
        name != "responses" && (named.is_empty() || named.iter().any(|argument| *argument == name))
    };
    let files = load::raise_open_files();
    let mut report = Report::default();
    println!("load of the machine: {}", std::fs::read_to_string("/proc/loadavg").unwrap_or_default().trim());
    runtime.block_on(async {
        for section in SECTIONS.iter().filter(|section| asked(section)) {
            let began = std::time::Instant::now();
            match *section {
                "throughput" => throughput::measure(size, &dialect_asked, &mut report).await,
                "latency" => latency::measure(size, &mut report).await,
                "memory" => memory::measure(size, files, &mut report).await,
                "shared" => shared::measure(size, &mut report).await,
                "reattach" => reattach::measure(size, &mut report).await,
                "paced" => paced::measure(size, &dialect_asked, &mut report).await,
                "unpaced" => paced::measure_unpaced(size, &dialect_asked, &mut report).await,
                "chats" => chats::measure(size, &mut report).await,
                "turns" => growth::turns(size, &dialect_asked, &mut report).await,
                "answers" => growth::answers(size, &mut report).await,
                "sizes" => sizes::stored(size, &mut report).await,
                _ => sizes::structured(&dialect_asked, &mut report).await,
            }
            println!("\n{section}: {:.0} s", began.elapsed().as_secs_f64());
        }
    });
    println!(
        "\nload of the machine: {}",
        std::fs::read_to_string("/proc/loadavg").unwrap_or_default().trim()
    );
    report.end()
}
