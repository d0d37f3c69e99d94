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

/// The walks of the document, each with its numbered steps.
fn walks(text: &str) -> Vec<(String, Vec<String>)> {
    let mut walks: Vec<(String, Vec<String>)> = Vec::new();
    let section = text.split("\n## ").find(|section| section.starts_with("Four walks")).unwrap_or_default();
    for line in section.lines() {
        let is_step = line.split_once(". ").is_some_and(|(number, _)| number.parse::<usize>().is_ok());
        if let Some(name) = line.strip_prefix("### ") {
            walks.push((name.to_owned(), Vec::new()));
        } else if let Some((_, steps)) = walks.last_mut() {
            match steps.last_mut() {
                _ if is_step => steps.push(line.to_owned()),
                Some(step) if line.starts_with("   ") => step.push_str(line),
                _ => {}
            }
        }
    }
    walks
}

#[test]
fn architecture_walks_four_paths_in_at_most_25_steps_each() {
    let text = fs::read_to_string(crate::root().join("docs/architecture.md")).unwrap_or_default();
    let walks = walks(&text);
    let names: Vec<_> = walks.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["A chat request", "A model delta", "An answer", "A takeover"]);
    for (name, steps) in &walks {
        let with_function = steps.iter().filter(|step| named(step).next().is_some()).count();
        assert!((8..=25).contains(&steps.len()), "{name} has {} steps", steps.len());
        // A step may also say in words what follows from the one before it.
        assert!(
            with_function + 2 >= steps.len(),
            "{name}: {with_function} of {} steps name a function",
            steps.len()
        );
    }
}

#[test]
fn steps_of_a_walk_are_found_in_a_text() {
    let text = "# x\n## Four walks\n\n### One\n1. `a/src/b.rs::c`\n   and on\n2. two\n\n### Two\n1. `d`\n## Next\n1. no\n";
    let found: Vec<_> = walks(text).into_iter().map(|(name, steps)| (name, steps.len())).collect();
    assert_eq!(found, [("One".to_owned(), 2), ("Two".to_owned(), 1)]);
}

#[test]
fn functions_are_found_in_a_text() {
    let found: Vec<_> = named("one `a/src/b.rs::c`, and `d.rs` and `E::f`").collect();
    assert_eq!(found, [("a/src/b.rs".to_owned(), "c".to_owned())]);
    assert!(named("nothing").next().is_none());
}
