use super::*;

#[test]
fn ranges_merge_and_split() {
    let mut holes = Holes::default();
    holes.add("a", 0..3);
    holes.add("a", 4..6);
    holes.add("a", 3..4);
    let mut whole = Holes::default();
    whole.add("a", 0..6);
    assert_eq!(holes, whole);

    holes.fill("a", 2);
    holes.fill("a", 2);
    assert_eq!(holes.count(), 5);
    assert!(
        holes.contains("a", 1)
            && !holes.contains("a", 2)
            && holes.contains("a", 3)
            && !holes.contains("a", 6)
    );
    for index in 0..6 {
        holes.fill("a", index);
    }
    assert_eq!(holes, Holes::default());
}

#[test]
fn forget_removes_holes_below_but_not_of_neighbours() {
    let mut holes = Holes::default();
    for array in ["", "a", "a.1", "a.1.b", "a-1", "a.10", "ab", "a/"] {
        holes.add(array, 0..2);
    }
    holes.forget("a.1");
    assert_eq!(holes.arrays.keys().collect::<Vec<_>>(), ["", "a", "a-1", "a.10", "a/", "ab"]);
    holes.forget("a");
    assert_eq!(holes.arrays.keys().collect::<Vec<_>>(), ["", "a-1", "a/", "ab"]);
    assert_eq!(holes.count(), 8);
}
