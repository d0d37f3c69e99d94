//! Cost of an event: emitted by a script, and decoded from each provider's bytes.
//!
//! `cargo bench -p headwater-models` prints one line of JSON per measurement. A script's time is that of one
//! poll of its stream; a wire format's time is that of one provider event, from its bytes.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a bench is not a library")]

use std::{
    hint::black_box,
    pin::Pin,
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use futures_core::Stream as _;
use headwater_models::{
    Model, ModelRequest,
    scripted::{Rule, Script, ScriptedModel},
    wire::{ChatQuirks, Settings, Wire},
};
use serde_json::{Value, json};

/// Deltas of each answer.
const DELTAS: usize = 20_000;
/// Each figure is the best of the passes that fit in this time.
const BUDGET: Duration = Duration::from_millis(600);

fn main() {
    let long = scripted(&"words ".repeat(DELTAS));
    report("a delta of a script", DELTAS, || ask(&long));
    let short = scripted("word");
    report("a whole call of a script of one word", 1000, || (0..1000).for_each(|_| ask(&short)));
    for (name, wire, stream) in [
        ("openai", Wire::RESPONSES, responses()),
        ("openai-chat", Wire::chat(&ChatQuirks::OPENAI), chat()),
        ("anthropic", Wire::ANTHROPIC, anthropic()),
        ("google", Wire::GOOGLE, google()),
    ] {
        let settings = Settings::new(name, "m");
        report(&format!("a delta of {name}"), DELTAS, || {
            let mut decoder = wire.decoder(&settings);
            for piece in stream.as_bytes().chunks(1400) {
                decoder.push(piece, |item| drop(black_box(item.unwrap())));
            }
            decoder.finish(|item| drop(black_box(item.unwrap())));
        });
    }
}

fn scripted(text: &str) -> ScriptedModel {
    ScriptedModel::new(Script::new("bench").rule(Rule::always().text(text)))
}

fn ask(model: &ScriptedModel) {
    let mut stream = model.ask(ModelRequest::new("Hi"));
    let mut cx = Context::from_waker(Waker::noop());
    while let Poll::Ready(Some(item)) = Pin::new(&mut stream).poll_next(&mut cx) {
        drop(black_box(item.unwrap()));
    }
}

fn report(what: &str, times: usize, mut pass: impl FnMut()) {
    let started = Instant::now();
    let mut best = Duration::MAX;
    while started.elapsed() < BUDGET {
        let began = Instant::now();
        pass();
        best = best.min(began.elapsed());
    }
    println!("{}", json!({ "what": what, "ns": best.as_nanos() / times as u128 }));
}

fn sse(events: impl IntoIterator<Item = Value>) -> String {
    events.into_iter().map(|event| format!("data: {event}\n\n")).collect()
}

fn chat() -> String {
    let delta = json!({
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": "gpt",
        "choices": [{ "index": 0, "delta": { "content": "words " }, "finish_reason": null }],
    });
    let end = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] });
    sse(std::iter::repeat_n(delta, DELTAS).chain([end]))
}

fn responses() -> String {
    let item =
        |kind: &str| json!({ "type": kind, "output_index": 0, "item": { "type": "message", "id": "m" } });
    let delta = json!({
        "type": "response.output_text.delta", "sequence_number": 5, "item_id": "m", "output_index": 0,
        "content_index": 0, "delta": "words ", "logprobs": [],
    });
    let begin = [
        json!({ "type": "response.created", "response": { "id": "r" } }),
        item("response.output_item.added"),
    ];
    let end = [
        item("response.output_item.done"),
        json!({ "type": "response.completed", "response": { "id": "r" } }),
    ];
    sse(begin.into_iter().chain(std::iter::repeat_n(delta, DELTAS)).chain(end))
}

fn anthropic() -> String {
    let begin = [
        json!({ "type": "message_start", "message": { "id": "m", "model": "claude" } }),
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
    ];
    let delta = json!({
        "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "words " },
    });
    let end = [
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" } }),
        json!({ "type": "message_stop" }),
    ];
    sse(begin.into_iter().chain(std::iter::repeat_n(delta, DELTAS)).chain(end))
}

fn google() -> String {
    let delta = json!({
        "candidates": [{ "content": { "parts": [{ "text": "words " }], "role": "model" }, "index": 0 }],
        "usageMetadata": { "promptTokenCount": 4, "totalTokenCount": 9 }, "modelVersion": "gemini",
    });
    let end = json!({ "candidates": [{ "finishReason": "STOP", "index": 0 }] });
    sse(std::iter::repeat_n(delta, DELTAS).chain([end]))
}
