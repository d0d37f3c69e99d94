use std::collections::BTreeMap;
use std::error::Error;

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::super::FrameReader;
use super::*;

fn text(writer: &FrameWriter) -> &str {
    str::from_utf8(writer.bytes()).unwrap()
}

#[test]
fn fields_are_written_in_the_order_id_event_data() {
    let mut writer = FrameWriter::new(Framing::Sse);
    writer.frame(Some("delta"), &json!({"b": 1, "a": 2})).unwrap();
    writer.identify(0, None, &mut |_, _| "c1".to_owned()).unwrap();
    writer.frame(Some(""), &"x").unwrap();
    assert_eq!(text(&writer), "id: c1\nevent: delta\ndata: {\"b\":1,\"a\":2}\n\ndata: \"x\"\n\n");
    assert_eq!((writer.frames(), writer.written()), (2, writer.bytes().len() as u64));
}

#[test]
fn ndjson_has_no_ids_names_or_comments() {
    let mut writer = FrameWriter::new(Framing::Ndjson);
    writer.frame(Some("delta"), &1).unwrap();
    writer.identify(0, None, &mut |_, _| "c1".to_owned()).unwrap();
    writer.heartbeat(Heartbeat::Comment);
    writer.raw("{\r\n\"a\": 1\n}");
    writer.raw(" \n");
    assert_eq!(text(&writer), "1\n\n{  \"a\": 1 }\n");
    assert_eq!(writer.frames(), 2);
}

#[test]
fn text_of_several_lines_becomes_several_data_lines() {
    let mut writer = FrameWriter::new(Framing::Sse);
    writer.raw("a\r\nb\rc\n\nd\n");
    writer.raw("");
    assert_eq!(text(&writer), "data: a\ndata: b\ndata: c\ndata: \ndata: d\ndata: \n\ndata: \n\n");
}

#[test]
fn field_cannot_break_out_of_its_line() {
    let mut writer = FrameWriter::new(Framing::Sse);
    for bad in ["a\nb", "a\rb", "\0"] {
        let error = writer.frame(Some(bad), &1).unwrap_err();
        assert_eq!(error.kind(), FramingErrorKind::Unwritable { field: "event" });
        assert!(writer.bytes().is_empty());
        writer.raw("x");
        let error = writer.identify(0, None, &mut |_, _| bad.to_owned()).unwrap_err();
        assert_eq!(error.kind(), FramingErrorKind::Unwritable { field: "id" });
        writer.clear();
    }
}

#[test]
fn line_breaks_of_raw_json_do_not_split_the_frame() {
    let raw = RawValue::from_string("{\n  \"a\": \"\\n\"\r\n}".to_owned()).unwrap();
    for (framing, expected) in [
        (Framing::Sse, "data: {\"raw\":{   \"a\": \"\\n\"  }}\n\n"),
        (Framing::Ndjson, "{\"raw\":{   \"a\": \"\\n\"  }}\n"),
    ] {
        let mut writer = FrameWriter::new(framing);
        writer.frame(None, &BTreeMap::from([("raw", &raw)])).unwrap();
        assert_eq!(text(&writer), expected);
    }
}

#[test]
fn failed_payload_leaves_the_buffer_unchanged() {
    struct Half;
    impl Serialize for Half {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            use serde::ser::{Error as _, SerializeSeq as _};
            let mut half = serializer.serialize_seq(None)?;
            half.serialize_element("written")?;
            Err(S::Error::custom("the other half is missing"))
        }
    }
    let mut writer = FrameWriter::new(Framing::Sse);
    writer.raw("x");
    let error = writer.frame(Some("e"), &Half).unwrap_err();
    assert_eq!(error.kind(), FramingErrorKind::Unserializable);
    assert_eq!((error.offset(), error.index()), (9, 1));
    assert_eq!(error.source().unwrap().to_string(), "the other half is missing");
    writer.frame(None, &1).unwrap();
    assert_eq!(text(&writer), "data: x\n\ndata: 1\n\n");
    assert_eq!(writer.frames(), 2);
}

#[test]
fn warm_writer_keeps_its_buffer() {
    let mut writer = FrameWriter::new(Framing::Sse);
    let mut write = |round: u64| {
        writer.frame(Some("delta"), &json!({"delta": "some text"})).unwrap();
        let place = (writer.bytes().as_ptr(), writer.out.capacity());
        writer.clear();
        assert_eq!(writer.frames(), round);
        place
    };
    let first = write(1);
    for round in 2..100 {
        assert_eq!(write(round), first);
    }
}

#[derive(Clone, Debug)]
enum WriterStep {
    Frame(Option<String>, Option<String>, Value),
    Raw(String),
    Noise(Heartbeat),
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((any::<String>(), inner), 0..4).prop_map(|fields| fields.into_iter().collect()),
        ]
    })
}

fn steps() -> impl Strategy<Value = WriterStep> {
    let field = || prop::option::of("[^\r\n\0]{1,6}");
    prop_oneof![
        3 => (field(), field(), values()).prop_map(|(id, event, value)| WriterStep::Frame(id, event, value)),
        1 => "[^\r]{0,8}".prop_map(WriterStep::Raw),
        1 => Just(WriterStep::Noise(Heartbeat::Comment)),
        1 => Just(WriterStep::Noise(Heartbeat::Blank)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

    #[test]
    fn written_frames_are_read_back(steps in vec(steps(), 0..12), ndjson in any::<bool>(), piece in 1usize..40) {
        let framing = if ndjson { Framing::Ndjson } else { Framing::Sse };
        let mut writer = FrameWriter::new(framing);
        let mut expected = Vec::new();
        for step in steps {
            match step {
                WriterStep::Frame(id, event, value) => {
                    let from = writer.bytes().len();
                    writer.frame(event.as_deref(), &value).unwrap();
                    if let Some(id) = &id {
                        writer.identify(from, None, &mut |_, _| id.clone()).unwrap();
                    }
                    let named = |name: Option<String>| name.filter(|_| !ndjson);
                    expected.push((named(id), named(event), value.to_string()));
                }
                WriterStep::Raw(_) if ndjson => {}
                WriterStep::Raw(text) => {
                    writer.raw(&text);
                    expected.push((None, None, text));
                }
                WriterStep::Noise(heartbeat) => writer.heartbeat(heartbeat),
            }
        }
        prop_assert_eq!(writer.frames(), expected.len() as u64);

        let mut found = Vec::new();
        let mut reader = FrameReader::new(framing);
        for piece in writer.bytes().chunks(piece) {
            reader.push(piece, |frame| {
                let frame = frame.unwrap();
                let own = |text: Option<&str>| text.map(str::to_owned);
                found.push((own(frame.id), own(frame.event), frame.data.to_owned()));
            });
        }
        reader.finish(|_| panic!("nothing was cut off"));
        prop_assert_eq!(found, expected);
    }
}
