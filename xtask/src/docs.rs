//! `cargo xtask docs`: the pages of `docs/` as a site, and a check of every link and of the Rust names in them.
//!
//! `docs/SUMMARY.md` is the table of contents. A link to a file or a heading that does not exist is an error.

mod links;
mod names;
mod site;

use std::fs;
use std::path::{Path, PathBuf};

use crate::command::Failure;
use crate::report::{Counts, SuiteOutcome};

/// Where links that leave the site go.
const REPOSITORY: &str = "https://github.com/headwater-rs/headwater/blob/main";

/// The table of contents.
const SUMMARY: &str = "docs/SUMMARY.md";

/// A page, by its path from the root of the repository.
#[derive(Debug, Clone)]
struct MarkdownPage {
    path: PathBuf,
    text: String,
}

/// A section of the table of contents.
#[derive(Debug, PartialEq, Eq)]
struct SummarySection {
    name: String,
    /// Titles and paths from the root of the repository.
    pages: Vec<(String, PathBuf)>,
}

/// Writes the site into a folder.
pub(crate) fn build(root: &Path, out: &Path) -> Result<usize, Failure> {
    let problems = check(root)?;
    if !problems.is_empty() {
        return Err(Failure::new(problems.join("\n")));
    }
    site::write(root, out, &summary(root)?)
}

/// The part of `cargo xtask test`.
pub(crate) fn test(root: &Path) -> Result<SuiteOutcome, Failure> {
    let out = root.join("target/site");
    let written = build(root, &out);
    Ok(match written {
        Ok(pages) => SuiteOutcome {
            counts: Counts::PASSED,
            notes: vec![format!("{pages} pages")],
            output: String::new(),
        },
        Err(problems) => {
            SuiteOutcome { counts: Counts::FAILED, notes: Vec::new(), output: problems.to_string() }
        }
    })
}

/// What is wrong with the pages: with all Markdown of the repository, not only that of the site.
fn check(root: &Path) -> Result<Vec<String>, Failure> {
    let mut pages = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let shown = folder.to_string_lossy().into_owned();
        let unreadable = |error| Failure::new(format!("cannot read {shown}: {error}"));
        for entry in fs::read_dir(root.join(&folder)).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            // A link to a folder, such as that of the facade to `docs`, would give its pages a second place.
            if entry.file_type().map_err(unreadable)?.is_dir() && !is_generated(&name) {
                folders.push(folder.join(name));
            } else if name.ends_with(".md")
                && !NOT_PAGES.contains(&folder.join(&name).to_string_lossy().as_ref())
            {
                pages.push(read(root, &folder.join(name))?);
            }
        }
    }
    pages.sort_by(|one, other| one.path.cmp(&other.path));
    let mut problems = links::check(root, &pages);
    problems.extend(names::check(&crate::shape::source::crates(root)?, &pages));
    problems.extend(pages.iter().flat_map(empty_blocks));
    Ok(problems)
}

/// Markdown whose links lead elsewhere: those of rustdoc, which includes this file into its pages.
const NOT_PAGES: [&str; 1] = ["crates/headwater/src/links.md"];

/// Whether a folder holds what others wrote, or what is built.
fn is_generated(name: &str) -> bool {
    matches!(name, ".git" | "target" | "node_modules" | "dist" | ".test" | "vendor" | ".headwater")
}

/// The parts of a page that a command or a test writes, and that have nothing in them.
fn empty_blocks(page: &MarkdownPage) -> Vec<String> {
    let mut problems = Vec::new();
    let mut begun: Option<(usize, &str)> = None;
    for (number, line) in (1..).zip(page.text.lines()) {
        let line = line.trim();
        let opens = ["<!-- generated", "<!-- written by"].iter().any(|mark| line.starts_with(mark));
        let closes = ["<!-- end", "<!-- /generated"].iter().any(|mark| line.starts_with(mark));
        match begun {
            Some((from, mark)) if closes => {
                problems.push(format!("{}:{from}: nothing is in the block {mark}", page.path.display()));
                begun = None;
            }
            _ if opens => begun = Some((number, line)),
            _ if !line.is_empty() => begun = None,
            _ => {}
        }
    }
    problems
}

/// The Markdown files of a folder, in the order of their names.
fn pages_in(root: &Path, folder: &str) -> Result<Vec<MarkdownPage>, Failure> {
    let unreadable = |error| Failure::new(format!("cannot read {folder}: {error}"));
    let mut pages = Vec::new();
    for entry in fs::read_dir(root.join(folder)).map_err(unreadable)? {
        let name = entry.map_err(unreadable)?.file_name();
        if name.to_string_lossy().ends_with(".md") {
            pages.push(read(root, &Path::new(folder).join(name))?);
        }
    }
    pages.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(pages)
}

fn read(root: &Path, path: &Path) -> Result<MarkdownPage, Failure> {
    let text = fs::read_to_string(root.join(path))
        .map_err(|error| Failure::new(format!("cannot read {}: {error}", path.display())))?;
    Ok(MarkdownPage { path: path.to_owned(), text })
}

/// The sections of the table of contents. Pages that it does not list come last.
fn summary(root: &Path) -> Result<Vec<SummarySection>, Failure> {
    let mut sections = parse_summary(&read(root, Path::new(SUMMARY))?.text);
    let mut more = SummarySection { name: "More".to_owned(), pages: Vec::new() };
    for folder in ["docs", "docs/guides"] {
        for page in pages_in(root, folder)? {
            let is_listed =
                sections.iter().flat_map(|section| &section.pages).any(|(_, path)| *path == page.path);
            if !is_listed && page.path != Path::new(SUMMARY) {
                let title = page.text.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or("Untitled");
                more.pages.push((title.to_owned(), page.path));
            }
        }
    }
    sections.extend((!more.pages.is_empty()).then_some(more));
    Ok(sections)
}

fn parse_summary(text: &str) -> Vec<SummarySection> {
    let mut sections: Vec<SummarySection> = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("## ") {
            sections.push(SummarySection { name: name.to_owned(), pages: Vec::new() });
        } else if let Some((title, path)) = line.strip_prefix("- [").and_then(|rest| rest.split_once("]("))
            && let Some(section) = sections.last_mut()
        {
            section.pages.push((title.to_owned(), Path::new("docs").join(path.trim_end_matches(')'))));
        }
    }
    sections
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_block_is_a_problem_and_a_filled_one_is_not() {
        let page = |text: &str| MarkdownPage { path: PathBuf::from("docs/a.md"), text: text.to_owned() };
        let filled = "<!-- generated: x -->\n| a |\n<!-- /generated -->\n\n<!-- written by `y` -->\n\nb\n\n<!-- end -->\n";
        assert_eq!(empty_blocks(&page(filled)), Vec::<String>::new());
        let empty = "# A\n\n<!-- written by `y` -->\n\n<!-- end -->\n";
        assert_eq!(
            empty_blocks(&page(empty)),
            ["docs/a.md:3: nothing is in the block <!-- written by `y` -->"]
        );
    }

    #[test]
    fn no_block_of_the_documents_is_empty() {
        let root = crate::root();
        for folder in ["", "docs", "docs/guides", "deploy"] {
            for page in pages_in(&root, folder).unwrap() {
                assert_eq!(empty_blocks(&page), Vec::<String>::new());
            }
        }
    }

    #[test]
    fn summary_has_sections_with_pages() {
        let sections =
            parse_summary("# Documentation\n\n## Learn\n\n- [Tutorial](tutorial.md)\n- [UI](guides/ui.md)\n");
        let pages = vec![
            ("Tutorial".to_owned(), PathBuf::from("docs/tutorial.md")),
            ("UI".to_owned(), PathBuf::from("docs/guides/ui.md")),
        ];
        assert_eq!(sections, [SummarySection { name: "Learn".to_owned(), pages }]);
    }
}
