//! The site: one HTML file per page, with the table of contents beside it.

use std::fs;
use std::path::{Path, PathBuf};

use pulldown_cmark::{CowStr, Event, Tag, TagEnd, html};

use super::links::{anchor, parser, target};
use super::{MarkdownPage, REPOSITORY, SummarySection, read};
use crate::command::Failure;

const STYLE: &str = include_str!("style.css");

/// Writes the site. Gives how many pages it has.
pub(super) fn write(root: &Path, out: &Path, sections: &[SummarySection]) -> Result<usize, Failure> {
    let _ = fs::remove_dir_all(out);
    save(&out.join("style.css"), STYLE.as_bytes())?;
    let mut count = 0;
    let pages: Vec<&PathBuf> =
        sections.iter().flat_map(|section| &section.pages).map(|(_, path)| path).collect();
    for (title, path) in sections.iter().flat_map(|section| &section.pages) {
        let page = read(root, path)?;
        let html = document(&page, title, sections, &pages);
        save(&out.join(place(path)), html.as_bytes())?;
        count += 1;
    }
    if let Some(first) = pages.first() {
        let first = place(first);
        let html =
            format!("<!doctype html><meta http-equiv=\"refresh\" content=\"0; url={}\">\n", first.display());
        save(&out.join("index.html"), html.as_bytes())?;
    }
    copy_images(root, out)?;
    Ok(count)
}

/// Where a page is in the site: `docs/guides/mui.md` is `guides/mui.html`.
fn place(path: &Path) -> PathBuf {
    path.strip_prefix("docs").unwrap_or(path).with_extension("html")
}

fn save(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(path, bytes));
    written.map_err(|error| Failure::new(format!("cannot write {}: {error}", path.display())))
}

fn copy_images(root: &Path, out: &Path) -> Result<(), Failure> {
    let mut folders = vec![PathBuf::from("docs/images")];
    while let Some(folder) = folders.pop() {
        let unreadable = |error| Failure::new(format!("cannot read {}: {error}", folder.display()));
        for entry in fs::read_dir(root.join(&folder)).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let path = folder.join(entry.file_name());
            if entry.path().is_dir() {
                folders.push(path);
            } else {
                let bytes = fs::read(entry.path()).map_err(unreadable)?;
                save(&out.join(path.strip_prefix("docs").unwrap_or(&path)), &bytes)?;
            }
        }
    }
    Ok(())
}

fn document(page: &MarkdownPage, title: &str, sections: &[SummarySection], pages: &[&PathBuf]) -> String {
    let up = "../".repeat(place(&page.path).components().count().saturating_sub(1));
    let mut contents = String::new();
    for section in sections {
        contents.push_str(&format!("<h2>{}</h2>\n<ul>\n", section.name));
        for (title, path) in &section.pages {
            let here = if *path == page.path { " aria-current=\"page\"" } else { "" };
            contents
                .push_str(&format!("<li><a href=\"{up}{}\"{here}>{title}</a></li>\n", place(path).display()));
        }
        contents.push_str("</ul>\n");
    }
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>{title} · Headwater</title>\n<link rel=\"stylesheet\" href=\"{up}style.css\">\n\
         <nav>\n<a class=\"home\" href=\"{up}index.html\">Headwater</a>\n{contents}</nav>\n<main>\n{}</main>\n</html>\n",
        body(page, pages)
    )
}

/// The page as HTML, with links within the site and anchors at its headings.
fn body(page: &MarkdownPage, pages: &[&PathBuf]) -> String {
    let mut events: Vec<Event<'_>> = Vec::new();
    for event in parser(&page.text) {
        events.push(match event {
            Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
                let dest_url = CowStr::from(relink(page, &dest_url, pages));
                Event::Start(Tag::Link { link_type, dest_url, title, id })
            }
            other => other,
        });
    }
    name_headings(&mut events);
    let mut body = String::new();
    html::push_html(&mut body, events.into_iter());
    body
}

/// A link as the site has it: to a page of the site, or to the repository.
fn relink(page: &MarkdownPage, link: &str, pages: &[&PathBuf]) -> String {
    if link.contains("://") || link.starts_with(['#']) || link.starts_with("mailto:") {
        return link.to_owned();
    }
    let (path, anchor) =
        link.split_once('#').map_or((link, String::new()), |(path, it)| (path, format!("#{it}")));
    let target = target(&page.path, path);
    match pages.contains(&&target) {
        true => format!(
            "{}{anchor}",
            path.strip_suffix(".md").map_or(path.to_owned(), |path| format!("{path}.html"))
        ),
        false => format!("{REPOSITORY}/{}{anchor}", target.display()),
    }
}

/// Gives each heading the id that links name.
fn name_headings(events: &mut [Event<'_>]) {
    let mut known: Vec<String> = Vec::new();
    for at in 0..events.len() {
        if !matches!(events.get(at), Some(Event::Start(Tag::Heading { .. }))) {
            continue;
        }
        let ends = |event: &&Event<'_>| !matches!(event, Event::End(TagEnd::Heading(_)));
        let texts = events.iter().skip(at + 1).take_while(ends);
        let text: String = texts
            .filter_map(|event| match event {
                Event::Text(text) | Event::Code(text) => Some(text.as_ref()),
                _ => None,
            })
            .collect();
        let name = anchor(&text);
        let repeats = known.iter().filter(|it| **it == name).count();
        known.push(name.clone());
        let name = if repeats == 0 { name } else { format!("{name}-{repeats}") };
        if let Some(Event::Start(Tag::Heading { id, .. })) = events.get_mut(at) {
            *id = Some(CowStr::from(name));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_has_anchors_and_links_of_the_site() {
        let text = "# A `b`\n\n[c](guides/ui.md#x) [d](../deploy/README.md) [e](#a-b)\n";
        let page = MarkdownPage { path: "docs/a.md".into(), text: text.to_owned() };
        let ui = PathBuf::from("docs/guides/ui.md");
        let body = body(&page, &[&ui]);
        assert!(body.contains("<h1 id=\"a-b\">"), "{body}");
        assert!(body.contains("href=\"guides/ui.html#x\""), "{body}");
        assert!(body.contains(&format!("href=\"{REPOSITORY}/deploy/README.md\"")), "{body}");
    }
}
