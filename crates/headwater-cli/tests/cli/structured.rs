//! `headwater reduce --structured`: bare chunks of one structured stream.

use serde_json::json;

use crate::run::{headwater, read_example};

const CHUNKS: &str = r#"
{"type":"structured-data","streamId":"s1","dataType":"email","kind":"set","path":"subject","value":"Hello"}
{"streamId":"s1","dataType":"email","kind":"text-delta","path":"body","delta":"Hi"}

{"streamId":"s1","dataType":"email","kind":"append","path":"bullets","items":["fast","small"],"node":"planner"}
"#;

#[test]
fn final_state_is_printed() {
    let ran = headwater(&["reduce", "--structured"], CHUNKS);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert_eq!(
        ran.json(),
        json!({"streamId": "s1", "dataType": "email", "status": "streaming", "node": "planner",
               "data": {"subject": "Hello", "body": "Hi", "bullets": ["fast", "small"]}})
    );
}

#[test]
fn each_prints_the_state_after_each_chunk() {
    let ran = headwater(&["reduce", "--structured", "--each"], CHUNKS);
    let data: Vec<_> = ran.json_lines().iter().map(|state| state["data"].clone()).collect();
    assert_eq!(
        data,
        [
            json!({"subject": "Hello"}),
            json!({"subject": "Hello", "body": "Hi"}),
            json!({"subject": "Hello", "body": "Hi", "bullets": ["fast", "small"]}),
        ]
    );
}

#[test]
fn refused_chunk_ends_the_stream() {
    let chunks = format!(
        "{CHUNKS}{}\n{}\n",
        r#"{"streamId":"s1","dataType":"email","kind":"append","path":"subject","items":[1]}"#,
        r#"{"streamId":"s1","dataType":"email","kind":"set","path":"subject","value":"never seen"}"#,
    );
    let refusal = json!({"index": 3, "error": "Structured append requires path \"subject\" to target an array, received string."});

    let ran = headwater(&["reduce", "--structured"], chunks.as_str());
    assert_eq!(ran.code, Some(1));
    let lines = ran.json_lines();
    assert_eq!(lines.len(), 2, "the last state and the refusal");
    assert_eq!(lines[0]["data"]["subject"], "Hello");
    assert_eq!(lines[1], refusal);

    let ran = headwater(&["reduce", "--structured", "--each"], chunks.as_str());
    assert_eq!((ran.code, ran.json_lines().len()), (Some(1), 4));
    assert_eq!(ran.json_lines()[3], refusal);
}

#[test]
fn chunk_of_another_stream_is_refused() {
    let chunk =
        |stream| format!(r#"{{"streamId":"{stream}","dataType":"t","kind":"set","path":"a","value":1}}"#);
    let ran = headwater(&["reduce", "--structured", "--each"], format!("[{},{}]", chunk("a"), chunk("b")));
    assert_eq!(ran.code, Some(1));
    assert_eq!(
        ran.json_lines()[1],
        json!({"index": 1, "error": "Structured chunk streamId mismatch: expected a, received b."})
    );
}

#[test]
fn non_structured_chunk_is_refused() {
    for (chunk, error) in [
        (r#"{"type":"status","message":"x"}"#, "the chunk is a `status`, not a `structured-data`"),
        ("{", "the frame is not JSON: EOF while parsing an object at line 1 column 1; it begins with \"{\""),
        (r#"{"kind":"set"}"#, "missing field `path`"),
    ] {
        let ran = headwater(&["reduce", "--structured"], chunk);
        assert_eq!(ran.code, Some(1), "{chunk}");
        assert_eq!(ran.json(), json!({"index": 0, "error": error}));
    }
}

#[test]
fn empty_input_has_no_state() {
    for input in ["", " \n", "[]", "[ ]\n"] {
        let ran = headwater(&["reduce", "--structured"], input);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "null\n"), "{input:?}");
        let ran = headwater(&["reduce", "--structured", "--each"], input);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{input:?}");
    }
}

#[test]
fn chunks_may_arrive_as_events() {
    let stream = String::from_utf8(read_example("kortyx.sse")).unwrap();
    let chunks: String = stream
        .split_inclusive("\n\n")
        .filter(|block| block.contains("structured-data") || block.contains("[DONE]"))
        .collect();
    let ran = headwater(&["reduce", "--structured"], chunks);
    assert_eq!(ran.code, Some(0));
    assert_eq!(ran.json()["status"], "done");
}

#[test]
fn split_character_is_joined() {
    let half = |delta| {
        format!(r#"{{"streamId":"s1","dataType":"t","kind":"text-delta","path":"a","delta":"{delta}"}}"#)
    };
    let ran = headwater(&["reduce", "--structured"], format!("{}\n{}", half("\\ud83d"), half("\\ude00!")));
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert_eq!(ran.json()["data"]["a"], "😀!");
}
