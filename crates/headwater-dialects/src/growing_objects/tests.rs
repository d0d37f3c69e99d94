use super::*;

fn append(row: &str) -> StructuredUpdate {
    StructuredUpdate::new("s", "table", StructuredOp::append("rows", [row]))
}

#[test]
fn bytes_sent_stay_linear_in_the_size_of_the_object() {
    for rows in [100_usize, 1_000, 10_000] {
        let row = "x".repeat(64);
        let mut objects = GrowingObjects::default();
        let mut sent = 0;
        for _ in 0..rows {
            if let Some(object) = objects.apply(&append(&row), 0) {
                sent += object.data().to_string().len();
            }
        }
        let done = StructuredUpdate::new(
            "s",
            "table",
            StructuredOp::Final { data: objects.streams.get("s").unwrap().data().cloned() },
        );
        let whole = objects.apply(&done, 0).unwrap();
        assert!(whole.complete);
        let size = whole.data().to_string().len();
        assert!(sent + size <= 3 * size, "{rows} rows: {sent} for {size}");
    }
}

#[test]
fn object_is_sent_again_when_it_has_more_than_doubled() {
    let mut objects = GrowingObjects::default();
    assert!(objects.apply(&append(&"a".repeat(20)), 0).is_some());
    assert!(objects.apply(&append(&"b".repeat(20)), 0).is_none());
    assert!(objects.apply(&append(&"c".repeat(8)), 0).is_some());
}

#[test]
fn large_object_that_grows_slowly_is_sent_again_when_it_has_grown_by_a_quarter() {
    let mut objects = GrowingObjects::default();
    assert!(objects.apply(&append(&"a".repeat(2 * SMALL)), 0).is_some());
    assert!(objects.apply(&append(&"b".repeat(SMALL)), 900).is_none());
    assert!(objects.apply(&append("c"), 1_000).is_some());
    assert!(objects.apply(&append("d"), 9_000).is_none());
}

#[test]
fn small_object_is_sent_again_as_time_passes() {
    let mut objects = GrowingObjects::default();
    assert!(objects.apply(&append(&"a".repeat(64)), 1_000).is_some());
    assert!(objects.apply(&append("b"), 1_100).is_none());
    assert!(objects.apply(&append("c"), 1_250).is_some());
    assert!(objects.unsent().next().is_none());
    assert!(objects.apply(&append("d"), 1_300).is_none());
    let unsent: Vec<_> =
        objects.unsent().map(|object| object.data()["rows"].as_array().unwrap().len()).collect();
    assert_eq!(unsent, [4]);
}
