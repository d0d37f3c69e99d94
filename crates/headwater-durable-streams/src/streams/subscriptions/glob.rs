//! Patterns of stream paths: `*` is one segment, `**` any number of them.

/// Whether a path matches a pattern.
pub(super) fn matches(pattern: &str, path: &str) -> bool {
    let split = |text: &str| -> Vec<String> {
        text.split('/').filter(|segment| !segment.is_empty()).map(str::to_owned).collect()
    };
    let (pattern, path) = (split(pattern), split(path));
    // One row per segment of the pattern: the prefixes of the path that it can have matched. Recursion would
    // take exponential time with several `**`.
    let mut reached = vec![false; path.len() + 1];
    if let Some(start) = reached.first_mut() {
        *start = true;
    }
    for segment in &pattern {
        let mut next = vec![false; path.len() + 1];
        let mut any = false;
        for (index, slot) in next.iter_mut().enumerate() {
            let here = reached.get(index).copied().unwrap_or(false);
            any |= here;
            *slot = match segment.as_str() {
                "**" => any,
                _ => index.checked_sub(1).is_some_and(|before| {
                    let is_reached = reached.get(before).copied().unwrap_or(false);
                    is_reached && (segment == "*" || path.get(before) == Some(segment))
                }),
            };
        }
        reached = next;
    }
    reached.last().copied().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn stars_match_segments() {
        for (pattern, path, expected) in [
            ("events/*", "events/a", true),
            ("events/*", "events/a/b", false),
            ("events/*", "events", false),
            ("**", "a/b/c", true),
            ("a/**", "a", true),
            ("a/**/z", "a/b/c/z", true),
            ("a/**/z", "a/b/c", false),
            ("/a/b/", "a/b", true),
            ("**/**/**/**/x", "a/a/a/a/a/a/a/a/y", false),
        ] {
            assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
        }
    }
}
