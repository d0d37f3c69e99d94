//! Compares `docs/dialects.md` with the code. `HEADWATER_BLESS=1` regenerates its tables.

use crate::tables;

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/dialects.md");

/// The tables by the names of their markers.
fn tables() -> [(&'static str, String); 4] {
    [
        ("events", tables::event_table()),
        ("capabilities", tables::capability_table()),
        ("lint", tables::lint_table()),
        ("sizes", crate::sizes::table()),
    ]
}

/// The page with its tables replaced.
fn renewed(page: &str) -> String {
    let mut page = page.to_owned();
    for (name, table) in tables() {
        let open = format!("<!-- generated: {name} -->");
        let from = page.find(&open).unwrap_or_else(|| panic!("{PATH} has no {open}")) + open.len();
        let len = page[from..].find("<!-- /generated -->").unwrap_or_else(|| panic!("{open} is not closed"));
        page.replace_range(from..from + len, &format!("\n{table}"));
    }
    page
}

#[test]
fn documented_tables_equal_the_code() {
    let page = std::fs::read_to_string(PATH).unwrap();
    let renewed = renewed(&page);
    if std::env::var_os("HEADWATER_BLESS").is_some() {
        std::fs::write(PATH, renewed).unwrap();
    } else {
        let stale = renewed.lines().find(|line| !page.contains(line));
        assert!(
            page == renewed,
            "docs/dialects.md is stale; run this test with HEADWATER_BLESS=1: {stale:?}"
        );
    }
}

#[test]
fn every_dialect_has_its_section() {
    let page = std::fs::read_to_string(PATH).unwrap();
    for dialect in headwater_dialects::ALL {
        let heading = format!("\n## `{}`", dialect.name());
        assert!(page.contains(&heading), "docs/dialects.md has no section {}", heading.trim());
    }
}
