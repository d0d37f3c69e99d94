//! Links of the pages: files and headings that they name must exist.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::MarkdownPage;

/// The extensions that the pages use.
pub(super) fn parser(text: &str) -> Parser<'_> {
    Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH)
}

/// Links that lead nowhere.
pub(super) fn check(root: &Path, pages: &[MarkdownPage]) -> Vec<String> {
    let anchors: HashMap<&Path, Vec<String>> =
        pages.iter().map(|page| (page.path.as_path(), anchors(&page.text))).collect();
    let mut problems = Vec::new();
    for page in pages {
        for link in links(&page.text) {
            if let Some(why) = problem(root, page, &link, &anchors) {
                problems.push(format!("{}: `{link}`: {why}", page.path.display()));
            }
        }
    }
    problems
}

fn problem(
    root: &Path,
    page: &MarkdownPage,
    link: &str,
    anchors: &HashMap<&Path, Vec<String>>,
) -> Option<&'static str> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
    let target = target(&page.path, path);
    if !root.join(&target).exists() {
        return Some("there is no such file");
    }
    let known = anchors.get(target.as_path())?;
    let anchor = anchor?;
    (!known.iter().any(|known| known == anchor)).then_some("there is no such heading")
}

/// The file that a link of a page names.
pub(super) fn target(page: &Path, path: &str) -> PathBuf {
    if path.is_empty() {
        return page.to_owned();
    }
    let mut target = page.parent().map(Path::to_owned).unwrap_or_default();
    for part in Path::new(path).components() {
        match part {
            Component::ParentDir => {
                target.pop();
            }
            Component::CurDir => {}
            other => target.push(other),
        }
    }
    target
}

/// The links and images of a page, also those that are written as HTML.
fn links(text: &str) -> Vec<String> {
    let mut links = Vec::new();
    for event in parser(text) {
        match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                links.push(dest_url.into_string());
            }
            Event::Html(html) | Event::InlineHtml(html) => {
                for attribute in ["src=\"", "href=\""] {
                    let values = html.split(attribute).skip(1).filter_map(|rest| rest.split('"').next());
                    links.extend(values.map(str::to_owned));
                }
            }
            _ => {}
        }
    }
    links
}

/// The anchors of a page's headings, as GitHub makes them.
fn anchors(text: &str) -> Vec<String> {
    let (mut anchors, mut heading) = (Vec::<String>::new(), None::<String>);
    for event in parser(text) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::Text(text) | Event::Code(text) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&text);
                }
            }
            Event::End(TagEnd::Heading(_)) => {
                let anchor = anchor(&heading.take().unwrap_or_default());
                let repeats = anchors.iter().filter(|known| **known == anchor).count();
                anchors.push(if repeats == 0 { anchor } else { format!("{anchor}-{repeats}") });
            }
            _ => {}
        }
    }
    anchors
}

/// The anchor of a heading.
pub(super) fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|each| each.is_alphanumeric() || matches!(each, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|each| if each == ' ' { '-' } else { each }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_are_those_of_github() {
        let text = "# Keep `this_one`, please!\n\n## Again\n\n## Again\n";
        assert_eq!(anchors(text), ["keep-this_one-please", "again", "again-1"]);
    }

    #[test]
    fn links_are_found_in_markdown_and_in_html() {
        let text = "[a](b.md#c) ![d](e.png)\n\n<img src=\"f.png\">\n\n`[no](x)`\n";
        assert_eq!(links(text), ["b.md#c", "e.png", "f.png"]);
        assert_eq!(target(Path::new("docs/guides/a.md"), "../b.md"), PathBuf::from("docs/b.md"));
    }

    #[test]
    fn broken_links_are_reported() {
        let page = MarkdownPage {
            path: "README.md".into(),
            text: "[a](#none) [b](none.md) [c](#top)\n\n# Top\n".into(),
        };
        let problems = check(Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap(), &[page]);
        assert_eq!(problems.len(), 2, "{problems:?}");
    }
}
