//! Parses the input of the agent `tools`.

/// The tool calls that an input asks for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct RequestedTools {
    pub(super) cities: Vec<String>,
    pub(super) file: Option<String>,
    pub(super) location: bool,
}

/// Cities that are recognised anywhere in an input.
const CITIES: [&str; 12] = [
    "Amsterdam",
    "Atlantis",
    "Berlin",
    "Lisbon",
    "London",
    "Madrid",
    "Oslo",
    "Paris",
    "Rome",
    "Tokyo",
    "Vienna",
    "Zurich",
];

impl RequestedTools {
    pub(super) fn in_input(input: &str) -> Self {
        let words: Vec<_> = input.split_whitespace().map(bare).filter(|word| !word.is_empty()).collect();
        let is = |word: &&str, wanted: &str| word.eq_ignore_ascii_case(wanted);
        if words.iter().any(|word| is(word, "everything")) {
            return Self {
                cities: vec!["Paris".to_owned(), "Rome".to_owned()],
                file: Some("notes.txt".to_owned()),
                location: true,
            };
        }
        let mut cities = Vec::new();
        for word in &words {
            if let Some(city) = CITIES.iter().find(|city| is(word, city))
                && !cities.iter().any(|known| known == city)
            {
                cities.push((*city).to_owned());
            }
        }
        let weather = words.iter().any(|word| is(word, "weather"));
        if cities.is_empty() && weather {
            let after = words.iter().skip_while(|word| !is(word, "in")).nth(1);
            cities.push(after.map_or_else(|| "Paris".to_owned(), |city| (*city).to_owned()));
        }
        let deletes = words.iter().any(|word| is(word, "delete"));
        let file = deletes.then(|| {
            let path = words.iter().rev().find(|word| word.contains(['.', '/']));
            path.map_or_else(|| "notes.txt".to_owned(), |path| (*path).to_owned())
        });
        let location = input.to_lowercase().contains("where am i");
        Self { cities, file, location }
    }

    pub(super) fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// A word without surrounding punctuation; dots within it stay.
fn bare(word: &str) -> &str {
    word.trim_matches(|char: char| !char.is_alphanumeric() && !matches!(char, '/' | '_')).trim_matches('.')
}
