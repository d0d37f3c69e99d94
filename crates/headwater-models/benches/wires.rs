//! Cost of decoding a provider's recorded stream, compared with SSE and serde_json alone on the same bytes.
//!
//! `cargo xtask bench models` runs it. `$HEADWATER_VECTORS` names the directory with `fixtures/providers/`;
//! the longest stream of each API is measured. The bytes are written to `$HEADWATER_BENCH_DIR` for other
//! implementations.
#![allow(
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench is not a library"
)]

use std::{
    collections::BTreeMap,
    env, fs,
    hint::black_box,
    path::PathBuf,
    time::{Duration, Instant},
};

use headwater_models::wire::{ChatQuirks, Settings, Wire};
use headwater_protocol::SseReader;
use serde_json::{Value, json};

/// Each figure is the best of the passes that fit in this time.
const BUDGET: Duration = Duration::from_millis(800);
/// Bytes per read, about one TCP segment.
const PIECE: usize = 1400;

fn main() {
    let Some(vectors) = env::var_os("HEADWATER_VECTORS") else {
        println!("skipped: HEADWATER_VECTORS is not set");
        return;
    };
    let folder = PathBuf::from(vectors).join("fixtures/providers");
    let index: Value = serde_json::from_slice(&fs::read(folder.join("index.json")).unwrap()).unwrap();
    let mut longest: BTreeMap<&str, &Value> = BTreeMap::new();
    for entry in index["fixtures"].as_array().unwrap() {
        let failed =
            ["throwsBeforeStream", "streamThrows"].iter().any(|key| entry["expected"].get(key).is_some());
        let is_whole = entry["expected"]["errors"].as_array().is_some_and(Vec::is_empty) && !failed;
        if entry["kind"] != "stream" || !is_whole {
            continue;
        }
        let known = longest.entry(entry["api"].as_str().unwrap()).or_insert(entry);
        if entry["bytes"].as_u64() > known["bytes"].as_u64() {
            *known = entry;
        }
    }
    for (api, entry) in longest {
        let Some((name, wire)) = wire_of(api) else { continue };
        let stream = read(&folder, entry);
        if let Some(out) = env::var_os("HEADWATER_BENCH_DIR") {
            fs::write(PathBuf::from(out).join(format!("{name}.sse")), &stream).unwrap();
        }
        let settings = Settings::new(name, "recorded");
        let mut events = 0_u64;
        SseReader::new().push(&stream, |_| events += 1);
        report(name, "ours", &stream, events, || {
            let mut decoder = wire.decoder(&settings);
            for piece in stream.chunks(PIECE) {
                decoder.push(piece, |item| drop(black_box(item)));
            }
            decoder.finish(|item| drop(black_box(item)));
        });
        report(name, "serde_json", &stream, events, || {
            let mut reader = SseReader::new();
            for piece in stream.chunks(PIECE) {
                reader.push(piece, |frame| {
                    drop(black_box(frame.map(|frame| serde_json::from_str::<Value>(frame.data))));
                });
            }
        });
    }
}

fn wire_of(api: &str) -> Option<(&'static str, Wire)> {
    Some(match api {
        "openai-responses" => ("openai", Wire::RESPONSES),
        "openai-chat" => ("openai-chat", Wire::chat(&ChatQuirks::OPENAI)),
        "anthropic-messages" => ("anthropic", Wire::ANTHROPIC),
        "gemini-generate" => ("google", Wire::GOOGLE),
        "deepseek-chat" => ("deepseek", Wire::chat(&ChatQuirks::DEEPSEEK)),
        "groq-chat" => ("groq", Wire::chat(&ChatQuirks::GROQ)),
        "mistral-chat" => ("mistral", Wire::chat(&ChatQuirks::MISTRAL)),
        "openai-compatible-chat" => ("openai-compatible", Wire::chat(&ChatQuirks::COMPATIBLE)),
        _ => return None,
    })
}

/// The bytes as they were on the wire.
fn read(folder: &std::path::Path, entry: &Value) -> Vec<u8> {
    let text = fs::read_to_string(folder.join(entry["file"].as_str().unwrap())).unwrap();
    let framing = entry["framing"].as_str().unwrap();
    if !framing.starts_with("jsonl") {
        return text.into_bytes();
    }
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let mut stream: String = lines.map(|line| format!("data: {line}\n\n")).collect();
    if framing.contains("then") {
        stream.push_str("data: [DONE]\n\n");
    }
    stream.into_bytes()
}

fn report(provider: &str, what: &str, stream: &[u8], events: u64, mut pass: impl FnMut()) {
    let started = Instant::now();
    let mut best = Duration::MAX;
    while started.elapsed() < BUDGET {
        let began = Instant::now();
        pass();
        best = best.min(began.elapsed());
    }
    let (bytes, seconds) = (stream.len(), best.as_secs_f64());
    println!(
        "{}",
        json!({ "provider": provider, "what": what, "bytes": bytes, "events": events, "seconds": seconds })
    );
}
