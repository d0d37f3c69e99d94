//! Checks that the functions which `docs/architecture.md` names exist.

use std::fs;
use std::path::Path;

/// What follows a function's file in the document: `` `crate/src/file.rs::function` ``.
const MARK: &str = ".rs::";

/// The functions that a text names, as file and name.
fn named(text: &str) -> impl Iterator<Item = (String, String)> + '_ {
    text.split('`').filter_map(|word| {
        let (file, function) = word.split_once(MARK)?;
        Some((format!("{file}.rs"), function.to_owned()))
    })
}

/// The functions that the document names and the code does not have.
fn missing(root: &Path) -> Vec<String> {
    let text = fs::read_to_string(root.join("docs/architecture.md")).unwrap_or_default();
    let is_missing = |(file, function): &(String, String)| {
        let code = fs::read_to_string(root.join("crates").join(file)).unwrap_or_default();
        !["(", "<"].iter().any(|end| code.contains(&format!("fn {function}{end}")))
    };
    named(&text).filter(is_missing).map(|(file, function)| format!("{file}::{function}")).collect()
}

#[test]
fn functions_that_the_architecture_names_exist() {
    let missing = missing(&crate::root());
    assert!(missing.is_empty(), "docs/architecture.md names functions that are not there: {missing:?}");
}

#[test]
fn functions_are_found_in_a_text() {
    let found: Vec<_> = named("one `a/src/b.rs::c`, and `d.rs` and `E::f`").collect();
    assert_eq!(found, [("a/src/b.rs".to_owned(), "c".to_owned())]);
    assert!(named("nothing").next().is_none());
}
