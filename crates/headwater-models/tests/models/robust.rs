//! Robustness against split, truncated and broken answers.

use headwater_models::{
    ModelErrorKind, ModelEvent,
    wire::{ChatQuirks, Settings, Wire, failure},
};

use crate::recorded::{EventResults, Recording, recordings};

const EVERY_WIRE: [(&str, Wire); 4] = [
    ("openai", Wire::RESPONSES),
    ("openai", Wire::chat(&ChatQuirks::OPENAI)),
    ("anthropic", Wire::ANTHROPIC),
    ("google", Wire::GOOGLE),
];

fn streams() -> Vec<Recording> {
    let mut recordings = recordings(|_| true);
    recordings.retain(|recording| recording.is_stream);
    recordings
}

fn read(provider: &str, wire: Wire, pieces: &[&[u8]]) -> EventResults {
    let mut decoder = wire.decoder(&Settings::new(provider, "m"));
    let mut said = Vec::new();
    for piece in pieces {
        decoder.push(piece, |item| said.push(item));
    }
    decoder.finish(|item| said.push(item));
    said
}

#[test]
fn splitting_a_stream_does_not_change_its_events() {
    let streams = streams();
    for stream in &streams {
        // Pictures are megabytes; byte by byte they would take minutes and add nothing.
        let sizes: &[usize] = if stream.bytes.len() > 200_000 { &[997] } else { &[1, 2, 7, 61, 997] };
        let whole = stream.decode(usize::MAX);
        for size in sizes {
            assert!(stream.decode(*size) == whole, "{} in pieces of {size}", stream.name);
        }
    }
    println!("recorded answers: {} streams split", streams.len());
}

#[test]
fn truncated_stream_never_looks_complete() {
    let mut cuts = 0;
    for stream in streams() {
        let whole = stream.decode(usize::MAX);
        let answers = whole.iter().filter(|item| matches!(item, Ok(ModelEvent::Started { .. }))).count();
        if answers > 1 {
            // Several turns in one body: the first one is complete although others follow.
            continue;
        }
        let text = String::from_utf8(stream.bytes.clone()).unwrap();
        let ends: Vec<_> = text.match_indices("\n\n").map(|(at, _)| at + 2).collect();
        let step = ends.len().div_ceil(60).max(1);
        for end in ends.iter().step_by(step) {
            let cut = Recording { bytes: stream.bytes[..*end].to_vec(), ..stream_like(&stream) };
            let said = cut.decode(usize::MAX);
            let is_complete = matches!(said.last(), Some(Ok(ModelEvent::Finished { .. })));
            let is_error = matches!(said.last(), Some(Err(_)));
            assert!(is_complete || is_error, "{} cut at {end} ends with {:?}", stream.name, said.last());
            if is_complete {
                // It may only be complete if all text has arrived.
                let texts = |said: &EventResults| {
                    said.iter().filter(|item| matches!(item, Ok(ModelEvent::TextDelta { .. }))).count()
                };
                assert_eq!(texts(&said), texts(&whole), "{} cut at {end}", stream.name);
            }
            cuts += 1;
        }
    }
    println!("recorded answers: {cuts} cuts");
}

fn stream_like(stream: &Recording) -> Recording {
    Recording {
        name: stream.name.clone(),
        api: stream.api.clone(),
        is_stream: true,
        expected: None,
        note: String::new(),
        bytes: Vec::new(),
    }
}

#[test]
fn parts_start_before_deltas_and_end_once() {
    for stream in streams() {
        let said = stream.decode(usize::MAX);
        let mut open = std::collections::BTreeSet::new();
        let mut seen = std::collections::BTreeSet::new();
        for event in said.iter().flatten() {
            match event {
                ModelEvent::TextStart { part, .. }
                | ModelEvent::ReasoningStart { part, .. }
                | ModelEvent::ToolCallStart { part, .. } => {
                    assert!(seen.insert(*part), "{}: part {part} begins twice", stream.name);
                    open.insert(*part);
                }
                ModelEvent::TextDelta { part, .. }
                | ModelEvent::ReasoningDelta { part, .. }
                | ModelEvent::ToolCallDelta { part, .. } => {
                    assert!(open.contains(part), "{}: part {part} grows and is not open", stream.name);
                }
                ModelEvent::TextEnd { part, .. }
                | ModelEvent::ReasoningEnd { part, .. }
                | ModelEvent::ToolCallEnd { part, .. } => {
                    assert!(open.remove(part), "{}: part {part} ends and is not open", stream.name);
                }
                ModelEvent::Finished { .. } => {
                    assert!(open.is_empty(), "{}: {open:?} never end", stream.name);
                }
                _ => {}
            }
        }
    }
}

#[test]
fn invalid_answer_is_an_error_of_the_right_kind() {
    let cases: [(&str, &[u8], ModelErrorKind); 9] = [
        ("nothing", b"", ModelErrorKind::Cut),
        ("white space", b"\n \n", ModelErrorKind::Cut),
        ("a page", b"<!doctype html><html><body>Bad gateway</body></html>", ModelErrorKind::Malformed),
        ("rubbish", b"\x00\xff\xfe garbage", ModelErrorKind::Malformed),
        ("rubbish in a frame", b"data: {\"type\": \n\n", ModelErrorKind::Malformed),
        ("a page in a frame", b"data: <html>\n\n", ModelErrorKind::Malformed),
        ("only heartbeats", b": ping\n\n: ping\n\n", ModelErrorKind::Cut),
        (
            "an error as JSON",
            br#"{"error":{"message":"no","type":"rate_limit_error"}}"#,
            ModelErrorKind::RateLimit,
        ),
        ("an error as text", br#"{"error":"overloaded"}"#, ModelErrorKind::Provider),
    ];
    for (provider, wire) in EVERY_WIRE {
        for (what, bytes, kind) in cases {
            let said = read(provider, wire, &[bytes]);
            let error = said.last().unwrap().as_ref().unwrap_err();
            assert_eq!(error.kind(), kind, "{what} from {wire:?}: {error}");
            assert!(error.to_string().starts_with(provider), "{error}");
        }
    }
}

#[test]
fn json_of_any_shape_does_not_panic() {
    let shapes = [
        "null",
        "1",
        "\"x\"",
        "[]",
        "[[]]",
        "{}",
        "{\"type\":1}",
        "{\"choices\":[1]}",
        "{\"choices\":[{\"delta\":1}]}",
        "{\"choices\":[{\"delta\":{\"tool_calls\":[1,{},{\"index\":-1}],\"content\":[1,{}]}}]}",
        "{\"candidates\":[{\"content\":{\"parts\":[1,{},{\"functionCall\":1},{\"text\":1}]}}]}",
        "{\"type\":\"content_block_start\"}",
        "{\"type\":\"content_block_delta\",\"index\":9}",
        "{\"type\":\"message_delta\"}",
        "{\"type\":\"message_start\"}",
        "{\"type\":\"message_stop\"}",
        "{\"type\":\"response.output_item.added\"}",
        "{\"type\":\"response.output_item.done\"}",
        "{\"type\":\"response.output_item.added\",\"item\":{\"type\":\"function_call\"}}",
        "{\"type\":\"response.output_text.delta\"}",
        "{\"type\":\"response.completed\"}",
        "{\"type\":\"response.failed\"}",
        "{\"type\":\"error\"}",
        "{\"error\":{}}",
        "{\"error\":[]}",
        "{\"usage\":1}",
        "{\"usageMetadata\":[]}",
    ];
    for (provider, wire) in EVERY_WIRE {
        for first in shapes {
            for second in shapes {
                let stream = format!("data: {first}\n\ndata: {second}\n\ndata: [DONE]\n\n");
                let said = read(provider, wire, &[stream.as_bytes()]);
                let last = said.last();
                let is_over = matches!(last, Some(Ok(ModelEvent::Finished { .. }) | Err(_)));
                assert!(is_over, "{wire:?} {first} {second}: {last:?}");
            }
            let mut said = Vec::new();
            wire.decoder(&Settings::new(provider, "m")).whole(first.as_bytes(), |item| said.push(item));
            assert!(
                matches!(said.last(), Some(Err(_) | Ok(ModelEvent::Finished { .. }))),
                "{wire:?} {first}"
            );
        }
    }
}

#[test]
fn randomly_damaged_recordings_do_not_panic() {
    let mut seed = 1_u64;
    let mut chance = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below.max(1)
    };
    let mut runs = 0;
    for recording in recordings(|_| true) {
        if recording.bytes.len() > 100_000 {
            continue;
        }
        for _ in 0..20 {
            let mut broken = stream_like(&recording);
            broken.is_stream = recording.is_stream;
            broken.bytes.clone_from(&recording.bytes);
            for _ in 0..=chance(4) {
                let at = chance(broken.bytes.len());
                match chance(4) {
                    0 => broken.bytes[at] = b"{}[]\":,x0\n"[chance(10)],
                    1 => drop(broken.bytes.remove(at)),
                    2 => broken.bytes.truncate(at + 1),
                    _ => {
                        let to = (at + chance(400)).min(broken.bytes.len());
                        let again = broken.bytes[at..to].to_vec();
                        broken.bytes.splice(at..at, again);
                    }
                }
            }
            let said = broken.decode(1 + chance(500));
            let is_over = matches!(said.last(), Some(Ok(ModelEvent::Finished { .. }) | Err(_)));
            assert!(is_over, "{} ends with {:?}", recording.name, said.last());
            let errors = said.iter().filter(|item| item.is_err()).count();
            assert!(errors <= 1, "{} fails {errors} times", recording.name);
            runs += 1;
        }
    }
    println!("recorded answers: {runs} broken by chance");
}

#[test]
fn error_responses_have_kind_delay_and_message() {
    let cases: [(u16, &str, ModelErrorKind, bool); 16] = [
        (
            401,
            r#"{"error":{"message":"bad key","type":"invalid_request_error","code":"invalid_api_key"}}"#,
            ModelErrorKind::Auth,
            false,
        ),
        (
            403,
            r#"{"type":"error","error":{"type":"permission_error","message":"no"}}"#,
            ModelErrorKind::Auth,
            false,
        ),
        (
            429,
            r#"{"error":{"message":"quota","type":"insufficient_quota","code":"insufficient_quota"}}"#,
            ModelErrorKind::Auth,
            false,
        ),
        (
            429,
            r#"{"error":{"message":"slow","type":"requests","code":"rate_limit_exceeded"}}"#,
            ModelErrorKind::RateLimit,
            true,
        ),
        (
            529,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            ModelErrorKind::Overloaded,
            true,
        ),
        (
            503,
            r#"{"error":{"code":503,"message":"high demand","status":"UNAVAILABLE"}}"#,
            ModelErrorKind::Overloaded,
            true,
        ),
        (
            400,
            r#"{"error":{"message":"This model's maximum context length is 8192 tokens","code":"context_length_exceeded"}}"#,
            ModelErrorKind::ContextLength,
            false,
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens"}}"#,
            ModelErrorKind::ContextLength,
            false,
        ),
        (
            404,
            r#"{"error":{"message":"The model `x` does not exist","code":"model_not_found"}}"#,
            ModelErrorKind::UnknownModel,
            false,
        ),
        (
            404,
            r#"{"type":"error","error":{"type":"not_found_error","message":"model: x"}}"#,
            ModelErrorKind::UnknownModel,
            false,
        ),
        (
            400,
            r#"{"error":{"message":"blocked","code":"content_filter"}}"#,
            ModelErrorKind::ContentFilter,
            false,
        ),
        (422, r#"{"detail":[{"msg":"field required"}]}"#, ModelErrorKind::InvalidRequest, false),
        (
            400,
            r#"[{"error":{"code":400,"message":"bad","status":"INVALID_ARGUMENT"}}]"#,
            ModelErrorKind::InvalidRequest,
            false,
        ),
        (500, "", ModelErrorKind::Provider, true),
        (502, "<html>Bad gateway</html>", ModelErrorKind::Overloaded, true),
        (504, "upstream timed out", ModelErrorKind::Timeout, true),
    ];
    for (status, body, kind, is_retryable) in cases {
        let error = failure("somebody", status, |_| None, body.as_bytes());
        assert_eq!((error.kind(), error.is_retryable()), (kind, is_retryable), "{body}: {error}");
        assert_eq!((error.http_status(), error.provider_body()), (Some(status), Some(body)));
    }
    let waits = [
        (vec![("retry-after", "3")], Some(3000)),
        (vec![("retry-after", "3"), ("retry-after-ms", "250")], Some(250)),
        (vec![("retry-after", "soon")], None),
        (vec![("retry-after", "-1")], None),
        (vec![("retry-after", "99999999999")], None),
    ];
    for (headers, wait) in waits {
        let find = |name: &str| headers.iter().find(|(header, _)| *header == name).map(|(_, value)| *value);
        let error = failure("somebody", 429, find, b"{}");
        assert_eq!(error.wait().map(|wait| wait.as_millis()), wait, "{headers:?}");
    }
    let error = failure("somebody", 500, |name| (name == "x-request-id").then_some("req-7"), b"");
    assert_eq!(error.request_id(), Some("req-7"));
}

#[test]
fn recorded_error_responses_are_classified() {
    let kinds = [
        (
            "openai/response/reasoning-model-legacy-parameter-error.json",
            400,
            ModelErrorKind::InvalidRequest,
            None,
        ),
        ("openai/response/responses-openai-error.1.json", 429, ModelErrorKind::Auth, None),
        (
            "openai/response/responses-reasoning-model-temperature-error.json",
            400,
            ModelErrorKind::InvalidRequest,
            None,
        ),
        ("google/response/google-429-retry-info.json", 429, ModelErrorKind::RateLimit, Some(34_400)),
    ];
    let refusals: Vec<_> = recordings(|_| true).into_iter().filter(|one| one.expected.is_none()).collect();
    for refusal in &refusals {
        let known = kinds.iter().find(|(name, ..)| *name == refusal.name);
        let (_, status, kind, wait) = known.unwrap_or_else(|| panic!("{} is new", refusal.name));
        let error = failure("somebody", *status, |_| None, &refusal.bytes);
        assert_eq!(
            (error.kind(), error.wait().map(|wait| wait.as_millis())),
            (*kind, *wait),
            "{}",
            refusal.name
        );
    }
    println!("recorded answers: {} refusals", refusals.len());
}
