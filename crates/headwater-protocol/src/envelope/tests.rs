use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;

use super::*;

type Item = (Option<&'static str>, Option<i64>, &'static str);

fn run(mut sequencer: Sequencer<&'static str>, items: &[Item]) -> (String, Sequencer<&'static str>) {
    let mut text = String::new();
    for (id, sequence, chunk) in items {
        let event_id = id.map(str::to_owned);
        let envelope = Envelope { event_id, sequence: *sequence, chunk: *chunk };
        sequencer.push(envelope, |chunk| text.push_str(chunk)).unwrap();
    }
    (text, sequencer)
}

/// What MUI X Chat's own client was seen to do, case by case.
#[test]
fn order_and_duplicates_are_those_of_the_real_client() {
    type Row = (&'static str, &'static [Item], &'static str, Option<i64>, usize);
    let table: &[Row] = &[
        ("raw", &[(None, None, "a"), (None, None, "a")], "aa", None, 0),
        ("from zero", &[(None, Some(0), "a"), (None, Some(1), "b")], "ab", Some(2), 0),
        ("from anywhere", &[(None, Some(-3), "a"), (None, Some(-2), "b")], "ab", Some(-1), 0),
        ("same id", &[(Some("x"), None, "a"), (Some("x"), None, "z")], "a", None, 0),
        ("empty id", &[(Some(""), None, "a"), (Some(""), None, "a")], "aa", None, 0),
        (
            "same id, new sequence: a hole",
            &[(Some("a"), Some(0), "a"), (Some("a"), Some(1), "b"), (Some("c"), Some(2), "c")],
            "a",
            Some(1),
            1,
        ),
        (
            "same sequence, new id",
            &[(Some("a"), Some(0), "a"), (Some("b"), Some(0), "z"), (Some("c"), Some(1), "c")],
            "ac",
            Some(2),
            0,
        ),
        (
            "reversed after the first",
            &[(None, Some(0), "a"), (None, Some(3), "d"), (None, Some(2), "c"), (None, Some(1), "b")],
            "abcd",
            Some(4),
            0,
        ),
        (
            "the first overtaken",
            &[(None, Some(1), "b"), (None, Some(0), "a"), (None, Some(2), "c")],
            "bc",
            Some(3),
            0,
        ),
        ("a gap", &[(None, Some(0), "a"), (None, Some(2), "c"), (None, Some(3), "d")], "a", Some(1), 2),
        (
            "raw and unsequenced overtake",
            &[(None, Some(0), "a"), (None, Some(2), "c"), (None, None, "r"), (Some("u"), None, "u")],
            "aru",
            Some(1),
            1,
        ),
        (
            "of two that wait in one place the later wins",
            &[(None, Some(0), "a"), (None, Some(2), "c"), (None, Some(2), "C"), (None, Some(1), "b")],
            "abC",
            Some(3),
            0,
        ),
        (
            "an id is seen while its chunk waits",
            &[(None, Some(0), "a"), (Some("x"), Some(2), "c"), (Some("x"), None, "x"), (None, Some(1), "b")],
            "abc",
            Some(3),
            0,
        ),
        (
            "an id is seen though its chunk was passed",
            &[(None, Some(5), "a"), (Some("x"), Some(4), "b"), (Some("x"), None, "x")],
            "a",
            Some(6),
            0,
        ),
        (
            "numbers begin again",
            &[(None, Some(0), "a"), (None, Some(1), "b"), (None, Some(0), "c")],
            "ab",
            Some(2),
            0,
        ),
    ];
    for (name, items, text, next, waiting) in table {
        let (found, mut sequencer) = run(Sequencer::new(), items);
        assert_eq!(found, *text, "{name}");
        assert_eq!(sequencer.next_sequence(), *next, "{name}");
        let gap = next.filter(|_| *waiting > 0).map(|awaited| Gap { awaited, waiting: *waiting });
        assert_eq!(sequencer.gap(), gap, "{name}");
        assert_eq!(sequencer.finish().len(), *waiting, "{name}");
        assert_eq!(sequencer.gap(), None, "{name}");
    }
}

#[test]
fn a_resumed_stream_may_overlap_the_one_before() {
    let resumed = || Sequencer::resume(Some(2), ["e0", "e1"]);
    let all: &[Item] = &[
        (Some("e0"), Some(0), "a"),
        (Some("e1"), Some(1), "b"),
        (Some("e2"), Some(2), "c"),
        (Some("e3"), Some(3), "d"),
    ];
    for from in 0..=2 {
        let (text, sequencer) = run(resumed(), &all[from..]);
        assert_eq!(text, "cd");
        assert_eq!(sequencer.next_sequence(), Some(4));
        assert_eq!(sequencer.seen_event_ids().collect::<Vec<_>>(), ["e0", "e1", "e2", "e3"]);
    }
    let (text, mut sequencer) = run(resumed(), &all[3..]);
    assert_eq!(text, "", "what is ahead of the resumed place waits");
    assert_eq!(sequencer.finish(), [(3, "d")]);
}

#[test]
fn a_refused_chunk_leaves_no_trace() {
    let mut sequencer = Sequencer::resume(Some(0), [""; 0]).with_waiting(2);
    let mut text = String::new();
    let mut push = |id: &str, sequence, chunk| {
        let envelope = Envelope::sequenced(sequence, chunk).with_event_id(id);
        sequencer.push(envelope, |chunk| text.push_str(chunk))
    };
    assert_eq!(push("b", 1, "b"), Ok(Outcome::Waiting));
    assert_eq!(push("c", 2, "c"), Ok(Outcome::Waiting));
    let error = push("d", 3, "d").unwrap_err();
    assert_eq!((error.refused(), error.awaited()), (3, 0));
    assert_eq!(push("c2", 2, "C"), Ok(Outcome::Waiting), "a place that is taken needs no room");
    assert_eq!(push("a", 0, "a"), Ok(Outcome::Delivered(3)));
    assert_eq!(push("d", 3, "d"), Ok(Outcome::Delivered(1)), "its id was not recorded");
    assert_eq!(text, "abCd");
}

#[test]
fn the_oldest_ids_are_forgotten_first_by_number_and_by_size() {
    let (_, sequencer) = run(
        Sequencer::new().with_seen(2),
        &[(Some("a"), None, ""), (Some("b"), None, ""), (Some("c"), None, "")],
    );
    assert_eq!(sequencer.seen_event_ids().collect::<Vec<_>>(), ["b", "c"]);

    let mut sequencer = Sequencer::new();
    let id = |n: u8| char::from(n).to_string().repeat(3 << 20);
    for n in [b'a', b'b', b'c'] {
        sequencer.push(Envelope::raw(()).with_event_id(id(n)), |()| ()).unwrap();
    }
    assert_eq!(sequencer.seen_event_ids().collect::<Vec<_>>(), [id(b'b'), id(b'c')]);
}

#[test]
fn the_last_number_there_is_does_not_overflow() {
    let (text, _) = run(Sequencer::new(), &[(None, Some(i64::MAX - 1), "a"), (None, Some(i64::MAX), "b")]);
    assert_eq!(text, "ab");
    let (text, _) = run(Sequencer::new(), &[(None, Some(i64::MIN), "a"), (None, Some(i64::MIN + 1), "b")]);
    assert_eq!(text, "ab");
}

#[test]
fn an_object_is_an_envelope_if_it_has_a_chunk() {
    let open = |value| Envelope::from_value(value).map_err(|error| error.to_string());
    assert_eq!(open(json!({"chunk": 1})), Ok(Envelope::raw(json!(1))));
    assert_eq!(
        open(json!({"chunk": null, "eventId": "x"})),
        Ok(Envelope::raw(json!(null)).with_event_id("x"))
    );
    assert_eq!(open(json!({"eventId": null, "sequence": null, "chunk": 1})), Ok(Envelope::raw(json!(1))));
    assert_eq!(open(json!({"sequence": 4.0, "chunk": 1})), Ok(Envelope::sequenced(4, json!(1))));
    for raw in [json!({"eventId": "x", "sequence": 1}), json!("chunk"), json!(["chunk"]), json!(null)] {
        assert_eq!(open(raw.clone()), Ok(Envelope::raw(raw)));
    }
    assert_eq!(
        open(json!({"sequence": "4", "chunk": 1})),
        Err("the envelope's sequence is \"4\": send an integer or leave it out".to_owned())
    );
    for bad in [
        json!({"sequence": 1.5, "chunk": 1}),
        json!({"sequence": 1e300, "chunk": 1}),
        json!({"eventId": 2, "chunk": 1}),
    ] {
        assert!(open(bad).is_err());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

    #[test]
    fn what_is_written_is_read_back(id in prop::option::of(".{0,4}"), sequence in any::<Option<i64>>(), chunk in any::<Vec<u8>>()) {
        let envelope = Envelope { event_id: id, sequence, chunk };
        let text = serde_json::to_string(&envelope).unwrap();
        prop_assert_eq!(serde_json::from_str::<Envelope<Vec<u8>>>(&text).unwrap(), envelope);
    }

    /// Whatever the order and the repeats: once each, in order, and what is missing is told.
    #[test]
    fn any_arrival_gives_the_run_up_to_the_first_hole(arrivals in vec(0i64..12, 0..40)) {
        let mut sequencer = Sequencer::resume(Some(0), [""; 0]);
        let mut found = Vec::new();
        let mut delivered = 0;
        for sequence in &arrivals {
            let envelope = Envelope::sequenced(*sequence, *sequence);
            if let Outcome::Delivered(count) = sequencer.push(envelope, |chunk| found.push(chunk)).unwrap() {
                delivered += count;
            }
        }
        let came: BTreeMap<i64, ()> = arrivals.iter().map(|sequence| (*sequence, ())).collect();
        let hole = (0..).find(|sequence| !came.contains_key(sequence)).unwrap();
        prop_assert_eq!(delivered, found.len());
        prop_assert_eq!(found, (0..hole).collect::<Vec<_>>());
        prop_assert_eq!(sequencer.next_sequence(), Some(hole));
        let left: Vec<_> = came.range(hole..).map(|(sequence, ())| (*sequence, *sequence)).collect();
        prop_assert_eq!(sequencer.finish(), left);
    }
}
