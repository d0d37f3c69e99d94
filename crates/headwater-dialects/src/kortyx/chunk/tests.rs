use super::*;

fn read(data: &str) -> Result<Chunk<'_>, Error> {
    Chunk::from_frame(&Frame { event: None, id: None, data, offset: 0, index: 0 })
}

/// Every type, with every field of the schema.
const ALL: &[&str] = &[
    r#"{"type":"session","sessionId":"s1"}"#,
    r#"{"type":"checkpoint","id":"cp-1","sessionId":"s1","turnIndex":3,"label":"before"}"#,
    r#"{"type":"structured-data-invalidated","streamId":"st","checkpointId":"cp-1"}"#,
    r#"{"type":"trace","traceId":"t","spanId":"s","runId":"run-1","rootSpanName":"kortyx.run"}"#,
    r#"{"type":"status","node":"plan","message":"thinking"}"#,
    r#"{"type":"message","node":"plan","content":"Hello"}"#,
    r#"{"type":"text-start","node":"plan","id":"t","opId":"op","segmentId":"seg"}"#,
    r#"{"type":"text-delta","node":"plan","id":"t","opId":"op","segmentId":"seg","delta":"é\n\u0000"}"#,
    r#"{"type":"text-end","node":"plan","id":"t","opId":"op","segmentId":"seg"}"#,
    r#"{"type":"tool-result","node":"plan","tool":"search","content":null}"#,
    r#"{"type":"tool-call-start","node":"plan","id":"c","opId":"op","tool":"search","toolCallId":"call","input":null}"#,
    r#"{"type":"tool-call-result","node":"plan","id":"c","opId":"op","tool":"search","toolCallId":"call","content":"[]","structuredContent":{"results":[]},"isError":true}"#,
    r#"{"type":"tool-call-error","node":"plan","id":"c","opId":"op","tool":"search","toolCallId":"call","message":"timed out"}"#,
    r#"{"type":"interrupt","requestId":"human-1","resumeToken":"tok","workflow":"w","node":"ask","opId":"op","id":"i","schemaId":"sc","schemaVersion":"1","input":{"kind":"multi-choice","multiple":true,"question":"Which?","id":"i","schemaId":"sc","schemaVersion":"1","meta":{"a":1},"options":[{"id":"x","label":"X","description":"the x"}]},"meta":{"b":2}}"#,
    r#"{"type":"structured-data","streamId":"st","dataType":"email","kind":"set","path":"a.0","value":null,"schemaId":"sc","schemaVersion":"1","id":"i","node":"plan"}"#,
    r#"{"type":"structured-data","streamId":"st","dataType":"email","kind":"append","path":"a","items":[1]}"#,
    r#"{"type":"structured-data","streamId":"st","dataType":"email","kind":"text-delta","path":"b","delta":"x"}"#,
    r#"{"type":"structured-data","streamId":"st","dataType":"email","kind":"final","data":{"a":[1]}}"#,
    r#"{"type":"transition","transitionTo":"other","payload":{"a":1}}"#,
    r#"{"type":"done","data":null}"#,
    r#"{"type":"done"}"#,
    r#"{"type":"error","message":"boom"}"#,
    r#"{"type":"weather","of":["tomorrow"]}"#,
];

#[test]
fn every_chunk_keeps_all_fields_of_the_schema() {
    for json in ALL {
        let chunk = read(json).unwrap_or_else(|error| panic!("{json}: {error}"));
        let value: Value = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::to_value(&chunk).unwrap(), value);
        assert_eq!(matches!(chunk, Chunk::Other(_)), value["type"] == "weather");
    }
}

#[test]
fn chunk_without_a_required_field_is_refused() {
    for (json, problem) in [
        ("42", "string `type`"),
        ("{}", "missing field `type`"),
        ("{oops", "not JSON"),
        (r#"{"type":"text-delta"}"#, "missing field `delta`"),
        (r#"{"type":"text-delta","delta":null}"#, "null"),
        (r#"{"type":"tool-call-start","tool":"x"}"#, "missing field `toolCallId`"),
        (r#"{"type":"checkpoint","id":"a","sessionId":"b","turnIndex":-1}"#, "-1"),
        (r#"{"type":"interrupt","requestId":"r","resumeToken":"t","input":{"kind":"dance"}}"#, "dance"),
    ] {
        let error = read(json).expect_err(json);
        assert!(error.message().contains(problem), "{json}: {error}");
    }
}
