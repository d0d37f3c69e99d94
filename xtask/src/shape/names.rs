//! The names of types: which are used twice, and which say too little.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::source::{SourceCrate, definition_line};

/// Names that every crate may have, because they mean the same everywhere.
const EVERYWHERE: [&str; 6] = ["Error", "ErrorKind", "Options", "Arguments", "Builder", "Limits"];

/// Names of the standard library that a reader takes for those.
const STANDARD: [&str; 40] = [
    "From",
    "Into",
    "TryFrom",
    "TryInto",
    "Option",
    "Some",
    "None",
    "Ok",
    "Err",
    "Box",
    "Vec",
    "String",
    "ToString",
    "Iterator",
    "IntoIterator",
    "Extend",
    "Default",
    "Clone",
    "Copy",
    "Drop",
    "Send",
    "Sync",
    "Fn",
    "FnMut",
    "FnOnce",
    "Debug",
    "Display",
    "Eq",
    "Ord",
    "PartialEq",
    "PartialOrd",
    "Hash",
    "AsRef",
    "AsMut",
    "Future",
    "Rc",
    "Arc",
    "Cell",
    "Mutex",
    "Path",
];

/// Participles without the ending `ed`.
const IRREGULAR: [&str; 44] = [
    "Begun",
    "Bound",
    "Broken",
    "Brought",
    "Built",
    "Bought",
    "Caught",
    "Chosen",
    "Cut",
    "Done",
    "Drawn",
    "Driven",
    "Drawn",
    "Fed",
    "Felt",
    "Forgotten",
    "Found",
    "Given",
    "Gone",
    "Grown",
    "Heard",
    "Held",
    "Hidden",
    "Kept",
    "Known",
    "Left",
    "Lent",
    "Lost",
    "Made",
    "Meant",
    "Met",
    "Said",
    "Seen",
    "Sent",
    "Shown",
    "Spoken",
    "Spent",
    "Split",
    "Stolen",
    "Taken",
    "Thought",
    "Told",
    "Woken",
    "Written",
];

/// Words that end in `ed` and are not participles, and `Embedded`, which is what people call such a store, as in `Memory`,
/// `Redis` and `Postgres`.
const NOUNS: [&str; 9] = ["Embed", "Embedded", "Feed", "Need", "Seed", "Shed", "Speed", "Bed", "Red"];

/// A definition of a type or trait.
pub(crate) struct TypeDefinition {
    pub(crate) name: String,
    pub(crate) file: PathBuf,
    pub(crate) line: usize,
}

/// All definitions of types and traits of the workspace.
pub(crate) fn definitions(crates: &[SourceCrate]) -> Vec<TypeDefinition> {
    let mut found = Vec::new();
    for (source, module) in
        crates.iter().flat_map(|source| source.modules.iter().map(move |module| (source, module)))
    {
        let text =
            source.files.iter().find(|(file, _)| *file == module.file).map_or("", |(_, text)| text.as_str());
        for item in &module.items {
            let ident = match item {
                syn::Item::Struct(item) => &item.ident,
                syn::Item::Enum(item) => &item.ident,
                syn::Item::Trait(item) => &item.ident,
                syn::Item::Union(item) => &item.ident,
                _ => continue,
            };
            found.push(TypeDefinition {
                name: ident.to_string(),
                file: module.file.clone(),
                line: definition_line(text, &ident.to_string()),
            });
        }
    }
    found
}

/// The names that several definitions have, with those definitions.
pub(crate) fn shared(definitions: &[TypeDefinition]) -> BTreeMap<&str, Vec<&TypeDefinition>> {
    let mut by_name: BTreeMap<&str, Vec<&TypeDefinition>> = BTreeMap::new();
    for definition in definitions.iter().filter(|definition| !EVERYWHERE.contains(&&*definition.name)) {
        let all = by_name.entry(&definition.name).or_default();
        // Two in one file are the same type under two conditions, such as a feature or a system.
        if all.iter().all(|other| other.file != definition.file) {
            all.push(definition);
        }
    }
    by_name.retain(|_, all| all.len() > 1);
    by_name
}

/// Whether a name is a participle, or ends with one.
pub(crate) fn is_participle(name: &str) -> bool {
    let last = last_word(name);
    IRREGULAR.contains(&last) || (last.ends_with("ed") && last.len() > 3 && !NOUNS.contains(&last))
}

/// Whether a name is one of the standard library.
pub(crate) fn shadows(name: &str) -> bool {
    STANDARD.contains(&name)
}

/// The last word of a name in camel case.
fn last_word(name: &str) -> &str {
    let start = name.rfind(|letter: char| letter.is_ascii_uppercase()).unwrap_or(0);
    name.get(start..).unwrap_or(name)
}

/// A place in a file of the workspace.
pub(crate) fn place(root: &Path, file: &Path, line: usize) -> String {
    format!("{}:{line}", file.strip_prefix(root).unwrap_or(file).display())
}

/// The share of definitions whose name another one has, in per cent.
pub(crate) fn share(definitions: &[TypeDefinition]) -> f64 {
    let shared: BTreeSet<_> = shared(definitions).into_keys().collect();
    let many = definitions.iter().filter(|definition| shared.contains(&*definition.name)).count();
    100.0 * many as f64 / definitions.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::{is_participle, shadows};

    #[test]
    fn participles_are_recognised_by_their_last_word() {
        for name in ["Begun", "RunDriven", "Parked", "Seen"] {
            assert!(is_participle(name), "{name}");
        }
        for name in ["RunSpec", "RandomSeed", "Feed", "SentMessage", "TimeLimit"] {
            assert!(!is_participle(name), "{name}");
        }
    }

    #[test]
    fn names_of_the_standard_library_are_recognised() {
        assert!(shadows("From"));
        assert!(!shadows("ReadFrom"));
    }
}
