//! Suggestions for misspelled names.

/// The most similar name of a list, if it is similar enough to be a likely correction.
///
/// ```
/// assert_eq!(headwater_models::nearest("wirter", ["writer", "router"]), Some("writer"));
/// assert_eq!(headwater_models::nearest("weather", ["writer", "router"]), None);
/// ```
pub fn nearest<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (wanted.chars().count() / 3).max(2);
    known
        .into_iter()
        .map(|name| (distance(wanted, name), name))
        .filter(|(distance, name)| *distance <= limit && *distance < name.chars().count())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Edit distance: insertions, deletions, substitutions and swaps of neighbours.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut above_that: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=right.len()).collect();
    let mut last = None;
    for (row, char) in left.chars().enumerate() {
        let mut line = Vec::with_capacity(above.len());
        line.push(row + 1);
        for (column, other) in right.iter().enumerate() {
            let at = |line: &[usize], column: usize| line.get(column).copied().unwrap_or(usize::MAX - 1);
            let mut best = (at(&above, column) + usize::from(char != *other))
                .min(at(&above, column + 1) + 1)
                .min(at(&line, column) + 1);
            let before = column.checked_sub(1).and_then(|column| right.get(column));
            if before == Some(&char) && last == Some(*other) {
                best = best.min(at(&above_that, column - 1) + 1);
            }
            line.push(best);
        }
        above_that = std::mem::replace(&mut above, line);
        last = Some(char);
    }
    above.last().copied().unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_edits() {
        let cases =
            [("", "", 0), ("text", "text", 0), ("txet", "text", 1), ("tex", "text", 1), ("", "abc", 3)];
        for (left, right, expected) in cases {
            assert_eq!(distance(left, right), expected, "{left} {right}");
        }
    }

    #[test]
    fn nearest_suggests_only_similar_names() {
        let known = ["text", "reasoning", "tool"];
        assert_eq!(nearest("resoning", known), Some("reasoning"));
        assert_eq!(nearest("tols", known), Some("tool"));
        assert_eq!(nearest("weather", known), None);
    }
}
