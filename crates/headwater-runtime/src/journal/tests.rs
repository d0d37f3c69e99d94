//! Records are read as they were written, from any place.

use bytes::Bytes;
use headwater_protocol::{
    BlockDelta, BlockKind, Event, Origin, PartId, Record, RunState, StructuredOp, StructuredUpdate,
    ToolInputDelta,
};
use headwater_store::{Class, Memory, Store as _, Time};
use serde_json::json;

use super::*;

fn stored(seq: u64, body: Bytes) -> headwater_store::Record {
    headwater_store::Record { seq, epoch: 1, time: Time(9), class: Class::Delta, body }
}

fn text(id: &str, delta: &str) -> Event {
    Event::BlockDelta(BlockDelta::new(BlockKind::Text, id, delta.to_owned()))
}

fn input(delta: &str) -> Event {
    Event::ToolInputDelta(ToolInputDelta { call: "c1".into(), delta: delta.into(), ..Default::default() })
}

fn field(path: &str, delta: &str) -> Event {
    Event::Structured(StructuredUpdate::new("s1", "email", StructuredOp::text(path, delta)))
}

fn places() -> (Origin, Origin) {
    let here = Origin { node: Some("n".into()), attempt: Some("a1".into()), ..Origin::default() };
    let there = Origin { node: Some("m".into()), ..here.clone() };
    (here, there)
}

/// Every kind of delta, alone and between others, with what continues the last event as text.
fn deltas() -> Vec<(Event, Origin, bool)> {
    let (here, there) = places();
    let pieces = ["a", "", "\"", "\\", "\",\"metadata\":{\"x\":\"y", "b\n\u{1F30A}", "\"delta\":\"", "z"];
    let mut deltas: Vec<_> =
        pieces.iter().enumerate().map(|(at, piece)| (text("a1.0", piece), here.clone(), at > 0)).collect();
    let with_metadata = BlockDelta {
        metadata: Some(json!({ "p": "q" })),
        ..BlockDelta::new(BlockKind::Text, PartId::from("a1.1"), "m")
    };
    deltas.extend([
        (text("a1.1", "other part"), here.clone(), false),
        (text("a1.1", "other place"), there.clone(), false),
        (text("a1.1", "the same"), there.clone(), true),
        (Event::BlockDelta(BlockDelta::new(BlockKind::Reasoning, "a1.1", "t")), there.clone(), false),
        (text("a1.1", "back"), there.clone(), false),
        (Event::BlockDelta(with_metadata), there.clone(), false),
        (text("a1.1", "again"), there, false),
        (input("{\"ci"), here.clone(), false),
        (input("ty\":"), here.clone(), false),
        (text("a1.0", "between"), here.clone(), false),
        (input("1}"), here.clone(), false),
        (field("draft.body", "Dear "), here.clone(), false),
        (field("draft.body", "all"), here.clone(), false),
        (field("draft.end", "Bye"), here, false),
    ]);
    deltas
}

fn encode_all(deltas: &[(Event, Origin, bool)]) -> Vec<headwater_store::Record> {
    let mut encoder = RecordEncoder::default();
    let records = (1..).zip(deltas).map(|(seq, (event, origin, _))| {
        let mut given = event.clone();
        let (body, base) = encoder.event(seq, &mut given, origin, None, None).unwrap();
        assert_eq!(given, *event, "what is encoded stays as it was");
        encoder.appended(base);
        stored(seq, body)
    });
    records.collect()
}

#[test]
fn deltas_are_read_as_they_were_written() {
    let deltas = deltas();
    let records = encode_all(&deltas);
    let (mut reader, mut whole) = (RecordReader::default(), RecordReader::default());
    let mut last: Option<Record> = None;
    for ((event, origin, continues), record) in deltas.iter().zip(&records) {
        let read = match reader.read(record).unwrap() {
            VisibleRecord::Event(read) => {
                assert!(!continues, "{event:?} continues the last event");
                *read
            }
            VisibleRecord::Continuation(more) => {
                assert!(continues, "{event:?} does not continue the last event");
                let mut read = last.take().unwrap();
                if let Event::BlockDelta(block) = &mut read.event {
                    more.clone_into(&mut block.delta);
                }
                Record { seq: record.seq, ..read }
            }
            other => panic!("{other:?}"),
        };
        let expected = Record::new(record.seq, event.clone()).at(9).from(origin.clone());
        assert_eq!(read, expected);
        assert_eq!(*whole.visible_event(record).unwrap().unwrap(), expected, "each record alone");
        last = Some(read);
    }
}

#[test]
fn continuation_takes_little_more_than_its_text() {
    let (here, _) = places();
    let words: Vec<_> = (0..200).map(|_| (text("a1.0", "word0507 "), here.clone(), true)).collect();
    let records = encode_all(&words);
    assert!(records.iter().skip(1).all(|record| record.body.len() <= "word0507 ".len() + 3));
}

#[test]
fn more_texts_than_are_kept_open_are_read_as_they_were_written() {
    let (here, _) = places();
    let names: Vec<_> = (0..40).map(|number| format!("a1.{number}")).collect();
    let deltas: Vec<_> =
        (0..3).flat_map(|_| names.iter().map(|name| (text(name, "x"), here.clone(), false))).collect();
    let mut reader = RecordReader::default();
    for (record, (event, ..)) in encode_all(&deltas).iter().zip(&deltas) {
        assert_eq!(reader.visible_event(record).unwrap().unwrap().event, *event);
    }
}

#[tokio::test]
async fn reader_may_begin_anywhere() {
    let deltas = deltas();
    let bodies: Vec<_> = encode_all(&deltas).into_iter().map(|record| record.body).collect();
    let (store, journal) = (Memory::new(), "run_1".into());
    let lease = store.claim(&journal, "me", std::time::Duration::from_secs(60)).await.unwrap();
    store.append(&lease, Class::Fact, &bodies).unwrap().await.unwrap();
    for after in 0..bodies.len() {
        let page = store.read(&journal, after as u64, headwater_store::ReadLimit::default()).await.unwrap();
        let mut reader = RecordReader::default();
        reader.prepare(&store, &journal, &page).await.unwrap();
        for (record, (event, origin, _)) in page.records.iter().zip(deltas.iter().skip(after)) {
            let read = reader.visible_event(record).unwrap().unwrap();
            assert_eq!((&read.event, &read.origin), (event, origin), "after {after}");
        }
    }
}

#[test]
fn reader_that_begins_after_a_snapshot_knows_all_that_it_needs() {
    let (here, _) = places();
    let mut encoder = RecordEncoder::default();
    let (_, base) = encoder.event(1, &mut text("a1.0", "before"), &here, None, None).unwrap();
    encoder.appended(base);
    let snapshot = stored(2, encoder.snapshot(&RunState::default()).unwrap());
    let (after, _) = encoder.event(3, &mut text("a1.0", "after"), &here, None, None).unwrap();
    assert!(is_snapshot(&snapshot));
    let read = RecordReader::default().visible_event(&stored(3, after)).unwrap();
    assert_eq!(read.unwrap().event, text("a1.0", "after"));
}

#[test]
fn answers_are_known_and_other_effects_are_hidden() {
    let answered = Effect::Answered { request: "req_1".into(), answer: Answer::Given(json!("yes")) };
    let answered = stored(1, RecordEncoder::effect(&answered).unwrap());
    let taken_over = stored(2, RecordEncoder::effect(&Effect::TakenOver).unwrap());
    let mut reader = RecordReader::default();
    assert_eq!(reader.read(&answered).unwrap(), VisibleRecord::Answered);
    assert_eq!(reader.read(&taken_over).unwrap(), VisibleRecord::Hidden);
    assert!(is_answer(&answered) && !is_answer(&taken_over));
}

#[test]
fn records_of_another_format_are_refused_by_name() {
    let refused = |body: &'static [u8]| {
        let error = RecordReader::default().entry(&stored(7, body.into())).unwrap_err();
        (error.code().to_owned(), error.to_string())
    };
    let (code, message) = refused(b"{\"event\":{\"type\":\"run-started\"}}");
    assert_eq!(code, "journal.unreadable");
    assert!(message.contains("record 7 of the journal cannot be read: it has format 7"), "{message}");
    for (broken, why) in
        [(&b""[..], "it is empty"), (b"\x1f", "unknown kind 15"), (b"\x11{\"event\":", "EOF")]
    {
        let message = refused(broken).1;
        assert!(message.contains(why), "{message}");
    }
    // A continuation of itself, of what lies before the first record, of nothing that was read, without an end.
    for broken in
        [&b"\x15\x00x"[..], b"\x15\x09x", b"\x15\x01x", b"\x15\xff\xff\xff", b"\x15\x01\xff\xfe", b"\x15"]
    {
        let record = stored(7, Bytes::from_static(broken));
        assert_eq!(RecordReader::default().entry(&record).unwrap_err().code(), "journal.unreadable");
    }
}
