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
        .map(|name| (strsim::osa_distance(wanted, name), name))
        .filter(|(distance, name)| *distance <= limit && *distance < name.chars().count())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_suggests_only_similar_names() {
        let known = ["text", "reasoning", "tool"];
        assert_eq!(nearest("resoning", known), Some("reasoning"));
        assert_eq!(nearest("tols", known), Some("tool"));
        assert_eq!(nearest("weather", known), None);
    }
}
