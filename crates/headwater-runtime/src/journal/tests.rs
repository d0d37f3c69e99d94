//! Records are read as they were written, from any place.

use bytes::Bytes;
use headwater_protocol::{
    BlockDelta, BlockKind, Event, Origin, PartId, Record, StructuredOp, StructuredUpdate, ToolInputDelta,
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
        assert_eq!(given, *event, "the encoding is stable");
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
    let snapshot = stored(2, encoder.snapshot(2, &Fold::default()).unwrap());
    let (after, _) = encoder.event(3, &mut text("a1.0", "after"), &here, None, None).unwrap();
    assert!(is_snapshot(&snapshot));
    let read = RecordReader::default().visible_event(&stored(3, after)).unwrap();
    assert_eq!(read.unwrap().event, text("a1.0", "after"));
}

#[test]
fn answers_are_known_and_other_effects_are_hidden() {
    let answered = Effect::Answered { request: "req_1".into(), answer: AnswerValue::Given(json!("yes")) };
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
        [(&b""[..], "it is empty"), (b"\x3f", "unknown kind 15"), (b"\x31{\"event\":", "EOF")]
    {
        let message = refused(broken).1;
        assert!(message.contains(why), "{message}");
    }
    // Continuations of a base before the first record, of a later one, of an unread one, and one without an
    // end.
    for broken in
        [&b"\x35\x00x"[..], b"\x35\x09x", b"\x35\x01x", b"\x35\xff\xff\xff", b"\x35\x01\xff\xfe", b"\x35"]
    {
        let record = stored(7, Bytes::from_static(broken));
        assert_eq!(RecordReader::default().entry(&record).unwrap_err().code(), "journal.unreadable");
    }
}

mod folding {
    //! The fold is the same from the start, from any snapshot on, and at the writer.

    use std::{sync::Arc, time::Duration};

    use headwater_protocol::{AttemptStarted, Interrupt, MessageStarted, Role, RunStarted, RunWaiting};
    use headwater_store::{JournalId, Lease, Record as StoreRecord};

    use super::*;
    use crate::Next;

    fn visit(node: &str, number: u32) -> Visit {
        Visit { workflow: "w@1".into(), node: node.into(), visit: number, branch: String::new() }
    }

    fn left(visit: Visit) -> Effect {
        Effect::Left(Box::new(NodeExit {
            visit,
            next: Next::go(),
            node_state: None,
            workflow_state: [("k".to_owned(), json!(1))].into_iter().collect(),
            finish: None,
            error: None,
        }))
    }

    fn done(key: &str, kind: &str, value: serde_json::Value) -> Effect {
        let (key, kind) = (key.to_owned(), kind.to_owned());
        Effect::Done { key, kind, fingerprint: None, outcome: HookOutcome::Value(value) }
    }

    fn asked(key: &str, request: &str) -> Effect {
        let kind = WaitKind::Question { interrupt: Box::new(Interrupt::default()), declinable: false };
        let wait = Wait { hook: "interrupt".into(), request: request.into(), kind, expires: None };
        Effect::Asked { key: key.into(), wait: Box::new(wait) }
    }

    /// A journal with records of every kind, written as by a driver: a run that was taken over, and waits.
    async fn journal(store: &Arc<Memory>) -> (Lease, Journal) {
        let lease = store.claim(&"run_1".into(), "me", Duration::from_secs(60)).await.unwrap();
        let journal = Journal::new(store.clone(), lease.clone(), Fold::default(), u64::MAX);
        let (here, _) = places();
        let spec =
            RunSpec { agent: "a".into(), workflow: "w".into(), version: "1".into(), ..RunSpec::default() };
        drop(journal.effect_with_event(
            Effect::Begun(Box::new(spec)),
            &here,
            Event::RunStarted(RunStarted::default()),
        ));
        let (message, role) = ("msg_1".into(), Role::Assistant);
        drop(
            journal
                .fact(&here, Event::MessageStarted(MessageStarted { message, role, ..Default::default() })),
        );
        for number in 1..=3 {
            drop(journal.effect(Effect::Entered { visit: visit("n", number) }));
            let key = format!("w@1/n#{number}/reply");
            drop(journal.effect(Effect::Began { key: key.clone() }));
            let attempt = format!("a{number}");
            let origin = Origin { attempt: Some(attempt.as_str().into()), ..here.clone() };
            let started = AttemptStarted { attempt: attempt.as_str().into(), ..Default::default() };
            drop(journal.fact(&origin, Event::AttemptStarted(started)));
            for _ in 0..200 {
                journal.delta(&origin, text(&format!("{attempt}.0"), "word0507 ")).unwrap();
            }
            let said = json!({ "usage": { "inputTokens": 3 }, "parts": [{ "type": "call", "call": "c9" }] });
            let finished = Event::AttemptFinished { attempt: attempt.as_str().into() };
            drop(journal.effect_with_event(done(&key, "pass", said), &origin, finished));
            let emitted = EmitId { visit: visit("n", number).to_string(), number: 0 };
            let warning = Event::Warning(headwater_protocol::WarningEvent::default());
            drop(journal.emit(&here, warning.clone(), &emitted, fingerprint(&warning)));
            if number < 3 {
                drop(journal.effect(left(visit("n", number))));
            }
        }
        drop(journal.effect(asked("w@1/n#3/ask", "req_1")));
        journal.snapshot_for_wait().unwrap();
        drop(journal.fact(&here, Event::RunWaiting(RunWaiting::default())));
        (lease, journal)
    }

    async fn all(store: &Memory, journal: &JournalId) -> Vec<StoreRecord> {
        let limit = headwater_store::ReadLimit { records: usize::MAX, bytes: usize::MAX };
        store.read(journal, 0, limit).await.unwrap().records
    }

    /// A journal with these bodies.
    async fn written(bodies: Vec<Bytes>) -> (Memory, JournalId) {
        let (store, journal) = (Memory::new(), JournalId::from("run_1"));
        let lease = store.claim(&journal, "me", Duration::from_secs(60)).await.unwrap();
        store.append(&lease, Class::Fact, &bodies).unwrap().await.unwrap();
        (store, journal)
    }

    #[tokio::test]
    async fn fold_is_the_same_from_the_start_from_a_snapshot_and_at_the_writer() {
        let store = Arc::new(Memory::new());
        let (lease, journal) = journal(&store).await;
        let records = all(&store, &lease.journal).await;
        let snapshot = records.iter().find(|record| is_snapshot(record)).unwrap().seq;
        assert_eq!(journal.last_snapshot(), snapshot);
        let read = async |from: u64| {
            FoldReader::open(&*store, &lease.journal, from).await.unwrap().read_all().await.unwrap()
        };
        let (start, tail) = (read(0).await, read(snapshot).await);
        for fold in [&start, &tail] {
            assert_eq!(fold.difference(&journal.fold()).unwrap(), None);
            assert_eq!((fold.last, fold.snapshot), (records.len() as u64, snapshot));
            assert!(fold.waits() && fold.last_wait == Some(fold.last));
            assert_eq!(fold.usage.input_tokens, Some(9));
            assert_eq!(fold.position, [visit("n", 3)]);
            let keys: Vec<_> = fold.hooks.keys().collect();
            assert_eq!(keys, ["w@1/n#3/reply"], "hooks of visits that were left are forgotten");
        }
        let whole = FoldReader::read_whole(&*store, &lease.journal).await.unwrap();
        assert_eq!(whole.hooks.len(), 3, "a replay needs all of them");
        // A missing record, or one that is not a snapshot, is not used as a snapshot.
        for wrong in [2, 1_000_000] {
            assert_eq!(read(wrong).await.difference(&start).unwrap(), None);
        }
        // A checkpoint reads the fold at one record and at a later one.
        let mut reader = FoldReader::open(&*store, &lease.journal, 0).await.unwrap();
        reader.read_to(2).await.unwrap();
        assert_eq!((reader.fold().last, reader.fold().state.messages().len()), (2, 1));
        reader.read_to(u64::MAX).await.unwrap();
        assert_eq!(reader.fold().difference(&start).unwrap(), None);
    }

    #[tokio::test]
    async fn run_waits_until_it_is_answered_or_taken_over() {
        let store = Arc::new(Memory::new());
        let (_, journal) = journal(&store).await;
        assert!(journal.fold().waits());
        let (request, answer) = ("req_1".into(), AnswerValue::Given(json!("yes")));
        drop(journal.effect(Effect::Answered { request, answer }));
        assert!(!journal.fold().waits(), "nothing is open");
        let (_, journal) = self::journal(&Arc::new(Memory::new())).await;
        drop(journal.effect(Effect::TakenOver));
        assert!(!journal.fold().waits(), "it has a driver");
    }

    #[tokio::test]
    async fn snapshot_that_disagrees_with_its_records_is_refused_by_name() {
        let store = Arc::new(Memory::new());
        let (lease, _) = journal(&store).await;
        let records = all(&store, &lease.journal).await;
        let at = records.iter().position(is_snapshot).unwrap();
        let mut fold = record::read_snapshot::<Fold>(&records[at]).unwrap();
        fold.answers.insert("req_1".into(), AnswerValue::Declined);
        let mut bodies: Vec<_> = records.iter().map(|record| record.body.clone()).collect();
        bodies[at] = RecordEncoder::default().snapshot(records[at].seq, &fold).unwrap();
        let (store, journal) = written(bodies).await;
        let error = FoldReader::read_whole(&store, &journal).await.unwrap_err();
        assert_eq!(error.code(), "journal.snapshot-differs");
        assert!(error.to_string().contains(&format!("record {}", at + 1)), "{error}");
        assert!(error.to_string().contains("`answers` differs"), "{error}");
    }

    /// A snapshot has a checksum, and the store protects the rest: torn data is refused in every case.
    #[tokio::test]
    async fn torn_records_of_each_kind_are_refused_by_name() {
        let store = Arc::new(Memory::new());
        let (lease, journal) = journal(&store).await;
        drop(journal.effect(Effect::Answered { request: "req_1".into(), answer: AnswerValue::Declined }));
        let records = all(&store, &lease.journal).await;
        let kind = |record: &StoreRecord| record.body[0] & 15;
        for wanted in [1, 2, 3, 4, 5] {
            let at = records.iter().position(|record| kind(record) == wanted).unwrap();
            let body = &records[at].body;
            let mut broken: Vec<Vec<u8>> = vec![Vec::new(), body[..1].to_vec()];
            if wanted != 5 {
                broken.push(body[..body.len() - 1].to_vec());
            }
            // Another format, and an unknown kind.
            broken.extend([0x20 | wanted, 0x40 | wanted, 0x3f].map(|tag| [&[tag][..], &body[1..]].concat()));
            for broken in broken {
                let mut bodies: Vec<_> = records.iter().map(|record| record.body.clone()).collect();
                bodies[at] = broken.clone().into();
                let (store, journal) = written(bodies).await;
                let error = FoldReader::read_whole(&store, &journal).await.unwrap_err();
                assert_eq!(error.code(), "journal.unreadable", "{broken:?}");
                assert!(error.to_string().contains(&format!("record {} of the journal", at + 1)), "{error}");
            }
        }
    }

    #[tokio::test]
    async fn flipped_bits_of_a_snapshot_are_refused_by_name() {
        let store = Arc::new(Memory::new());
        let (lease, _) = journal(&store).await;
        let records = all(&store, &lease.journal).await;
        let at = records.iter().position(is_snapshot).unwrap();
        let body = records[at].body.to_vec();
        for byte in (1..body.len()).step_by(7) {
            let mut flipped = body.clone();
            flipped[byte] ^= 1 << (byte % 8);
            let record = StoreRecord { body: flipped.into(), ..records[at].clone() };
            let error = state_in_snapshot(&record).unwrap_err();
            assert_eq!(error.code(), "journal.unreadable");
        }
        let elsewhere = StoreRecord { seq: 7, ..records[at].clone() };
        let error = state_in_snapshot(&elsewhere).unwrap_err();
        assert!(error.to_string().contains("does not fit its checksum"), "{error}");
    }

    /// Arbitrary bytes in place of any record: a named error or a state, and never a panic.
    #[tokio::test]
    async fn damaged_journals_are_refused_by_name_or_read() {
        let store = Arc::new(Memory::new());
        let (lease, _) = journal(&store).await;
        let records = all(&store, &lease.journal).await;
        let (mut random, mut refused) = (7_u64, 0);
        let mut next = |below: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(random >> 33).unwrap() % below
        };
        for _ in 0..300 {
            let mut damaged = records.clone();
            let at = next(damaged.len());
            let mut body = damaged[at].body.to_vec();
            for _ in 0..=next(3) {
                let byte = next(body.len());
                body[byte] = u8::try_from(next(256)).unwrap();
            }
            damaged[at].body = body.into();
            if let Err(error) = state_after(&damaged) {
                assert!(matches!(error.code(), "journal.unreadable" | "journal.snapshot-differs"), "{error}");
                refused += 1;
            }
        }
        assert!(refused > 30, "{refused} of 300 were refused");
        state_after(&records).unwrap();
    }
}
