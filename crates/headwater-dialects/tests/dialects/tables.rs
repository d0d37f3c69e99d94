//! The tables of `docs/dialects.md`, generated from the dialects.
//!
//! Everything goes through `ALL`, so a new dialect appears in the tables as soon as it is in the list.

use std::fmt::Write as _;

use headwater_dialects::{ALL, CHAT, Dialect, Profile, READERS, Support};
use headwater_protocol::EventKind;

/// The support of each dialect for each event, as a Markdown table: the default profiles, and below it the
/// differences of other profiles.
pub(crate) fn event_table() -> String {
    let head = ["event".to_owned()].into_iter().chain(CHAT.iter().map(|dialect| code(dialect.name())));
    let rows = EventKind::ALL.iter().map(|&kind| {
        let said = CHAT.iter().map(|dialect| said(dialect.support(kind, dialect.default_profile())));
        [code(kind.name())].into_iter().chain(said).collect()
    });
    let mut out = table(&head.collect::<Vec<_>>(), rows);
    for &dialect in CHAT {
        for profile in dialect.profiles().iter().skip(1) {
            differences(dialect, profile, &mut out);
        }
    }
    out
}

/// The capabilities of each profile, as a Markdown table.
pub(crate) fn capability_table() -> String {
    let head = [
        "dialect",
        "profile",
        "clients",
        "framings",
        "retraction",
        "re-entry",
        "cursor",
        "keep-alive",
        "end marker",
        "coalesced",
    ];
    let rows = ALL.into_iter().flat_map(|dialect| {
        dialect.profiles().iter().map(|profile| {
            vec![
                code(dialect.name()),
                code(profile.name),
                profile.clients.to_owned(),
                list(profile.framings),
                profile.retraction.to_string(),
                profile.reentry.to_string(),
                profile.cursor.to_string(),
                profile.keep_alive.to_string(),
                profile.end_marker.map_or_else(|| NONE.to_owned(), code),
                if profile.coalesce { "yes" } else { "no" }.to_owned(),
            ]
        })
    });
    table(&head.map(str::to_owned), rows)
}

/// The lint rules of each dialect, as a Markdown table.
pub(crate) fn lint_table() -> String {
    let rows = READERS.into_iter().flat_map(|dialect| {
        dialect
            .lint_rules()
            .iter()
            .map(|rule| vec![code(dialect.name()), code(rule.name), rule.demands.to_owned()])
    });
    table(&["dialect", "rule", "demands"].map(str::to_owned), rows)
}

/// The text of an empty cell.
const NONE: &str = "–";

fn said(support: Support) -> String {
    match support {
        Support::Exact => "exact".to_owned(),
        Support::Shown(how) => how.to_owned(),
        Support::Hidden => NONE.to_owned(),
    }
}

fn differences(dialect: &dyn Dialect, profile: &Profile, out: &mut String) {
    let default = dialect.default_profile();
    let differs = |kind: &&EventKind| dialect.support(**kind, profile) != dialect.support(**kind, default);
    let mut kinds = EventKind::ALL.iter().filter(differs).peekable();
    // Writing to a string cannot fail.
    let _ = write!(out, "\n{} with the profile {}: ", code(dialect.name()), code(profile.name));
    if kinds.peek().is_none() {
        out.push_str("the same.\n");
        return;
    }
    let said = kinds.map(|&kind| format!("{} {}", code(kind.name()), said(dialect.support(kind, profile))));
    out.push_str(&said.collect::<Vec<_>>().join("; "));
    out.push_str(".\n");
}

fn table(head: &[String], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut out = String::new();
    row(head, &mut out);
    row(&vec!["---".to_owned(); head.len()], &mut out);
    rows.for_each(|cells| row(&cells, &mut out));
    out
}

fn row(cells: &[String], out: &mut String) {
    for cell in cells {
        out.push_str("| ");
        // A bar would begin the next cell.
        out.push_str(&cell.replace('|', "\\|"));
        out.push(' ');
    }
    out.push_str("|\n");
}

fn code(name: &str) -> String {
    format!("`{name}`")
}

fn list(items: &[impl ToString]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
