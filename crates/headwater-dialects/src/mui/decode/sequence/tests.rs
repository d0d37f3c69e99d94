use std::collections::BTreeSet;

use proptest::{collection::vec, prelude::*};

use super::*;

type Item = (Option<&'static str>, Option<i64>, &'static str);

fn run(sequencer: &mut Sequencer, items: &[Item]) -> String {
    items.iter().flat_map(|(id, sequence, chunk)| sequencer.push(*id, *sequence, chunk).unwrap()).collect()
}

/// The observed behaviour of MUI X Chat's own client, case by case.
#[test]
fn order_and_duplicates_match_the_real_client() {
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
        let mut sequencer = Sequencer::default();
        assert_eq!(run(&mut sequencer, items), *text, "{name}");
        assert_eq!(sequencer.next, *next, "{name}");
        let gap = next.filter(|_| *waiting > 0).map(|awaited| (awaited, *waiting));
        assert_eq!(sequencer.gap(), gap, "{name}");
    }
}

#[test]
fn resumed_stream_may_overlap_the_one_before() {
    let resumed = || Sequencer::resume(Some(2), ["e0", "e1"]);
    let all: &[Item] = &[
        (Some("e0"), Some(0), "a"),
        (Some("e1"), Some(1), "b"),
        (Some("e2"), Some(2), "c"),
        (Some("e3"), Some(3), "d"),
    ];
    for from in 0..=2 {
        let mut sequencer = resumed();
        assert_eq!(run(&mut sequencer, &all[from..]), "cd");
        assert_eq!(sequencer.next, Some(4));
        assert_eq!(sequencer.seen.iter().collect::<Vec<_>>(), ["e0", "e1", "e2", "e3"]);
    }
    let mut sequencer = resumed();
    assert_eq!(run(&mut sequencer, &all[3..]), "", "chunks ahead of the resumed position wait");
    assert_eq!(sequencer.gap(), Some((2, 1)));
}

#[test]
fn refused_chunk_leaves_no_trace() {
    let mut sequencer = Sequencer { next: Some(0), ..Sequencer::default() };
    for sequence in 1..=i64::try_from(MAX_WAITING).unwrap() {
        assert_eq!(sequencer.push(None, Some(sequence), "w").unwrap(), [""; 0]);
    }
    let error = sequencer.push(Some("late"), Some(9_999), "x").unwrap_err();
    assert!(error.is_fatal() && error.message().contains("sequence 0"), "{error}");
    assert!(!sequencer.seen.contains("late"));
    assert_eq!(sequencer.push(None, Some(0), "a").unwrap().len(), MAX_WAITING + 1);
    assert_eq!((sequencer.gap(), sequencer.waiting_bytes), (None, 0));
}

#[test]
fn consecutive_and_other_ids_are_remembered() {
    let given = ["x", "7", "m:0", "m:1", "y", "m:2", "m:4", "m:03", "m:3", "n:4", "18446744073709551616"];
    let mut seen = SeenIds::default();
    for (index, id) in given.iter().enumerate() {
        assert!(!seen.contains(id) && seen.insert(id), "{id}");
        assert!(given[..=index].iter().all(|id| seen.contains(id) && !seen.insert(id)));
    }
    let listed: BTreeSet<_> = seen.iter().collect();
    assert_eq!(listed, given.map(str::to_owned).into());
    assert!(!seen.contains("m:5") && !seen.contains("m:00") && !seen.contains("m:"));
}

#[test]
fn memory_of_ids_is_bounded() {
    let mut seen = SeenIds::default();
    for number in 0..3 * MAX_IDS {
        assert!(seen.insert(&format!("{number}x")));
    }
    assert!(seen.others.len() <= MAX_IDS && seen.bytes <= MAX_ID_BYTES);
    assert!((0..100).all(|_| seen.insert(&"x".repeat(MAX_ID_BYTES / 2)) || seen.bytes <= 2 * MAX_ID_BYTES));
}

proptest! {
    #[test]
    fn any_arrival_order_yields_chunks_up_to_the_first_gap(arrivals in vec(0i64..12, 0..40)) {
        let mut sequencer = Sequencer { next: Some(0), ..Sequencer::default() };
        let mut found = Vec::new();
        for sequence in &arrivals {
            found.extend(sequencer.push(None, Some(*sequence), &sequence.to_string()).unwrap());
        }
        let expected: Vec<_> = (0..).take_while(|n| arrivals.contains(n)).map(|n| n.to_string()).collect();
        prop_assert_eq!(found, expected);
    }
}
