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

/// Sends an object row by row, 20 ms apart, and gives its updates and the bytes of them and of its end.
fn grow(rows: usize, row: &str) -> (usize, usize, usize) {
    let (mut objects, mut updates, mut sent) = (GrowingObjects::default(), 0, 0);
    for number in 0..rows {
        if let Some(object) = objects.apply(&append(row), number as u64 * 20) {
            (updates, sent) = (updates + 1, sent + object.data().to_string().len());
        }
    }
    let size = objects.streams.get("s").unwrap().data().unwrap().to_string().len();
    (updates, sent, size)
}

#[test]
fn bytes_of_a_slow_object_stay_linear_too() {
    for rows in [600, 1_200, 2_400, 4_800, 9_600] {
        let (_, sent, size) = grow(rows, &"x".repeat(80));
        assert!(sent <= FREE + size * 9 / 5, "{rows} rows: {sent} for {size}");
    }
}

#[test]
fn small_slow_object_is_shown_as_it_grows() {
    let (updates, ..) = grow(100, "two words");
    assert!(updates >= 7, "{updates} updates in two seconds");
}

#[test]
fn growth_sent_as_a_small_value_leaves_room_for_more() {
    let row = "x".repeat(1_000);
    let updates = |patches: bool| {
        let (mut objects, mut updates) = (GrowingObjects::default(), 0);
        for number in 0..400 {
            if objects.apply(&append(&row), number * 20).is_some() {
                updates += 1;
                if patches {
                    objects.sent_as("s", &Value::String(row.clone()));
                }
            }
        }
        updates
    };
    let (whole, patches) = (updates(false), updates(true));
    assert!(patches * 2 > whole * 3, "{patches} updates as patches, {whole} as whole objects");
}

#[test]
fn what_was_not_sent_is_sent_at_the_end_of_the_stream() {
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
