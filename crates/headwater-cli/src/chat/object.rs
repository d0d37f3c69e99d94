//! JSON values for people: as one line, and as a tree of fields that fills in.

use serde_json::{Map, Value};

use super::{
    markdown::{self, MarkdownLook},
    styled::{StyledLine, columns},
};
use crate::style::{DIM, PLAIN};

/// The widest column of names.
const NAMES: usize = 18;

/// A value in one line: fields of an object as `name: value`.
pub(super) fn summary(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.split_whitespace().collect::<Vec<_>>().join(" "),
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(_, value)| !is_empty(value));
            let fields = fields.map(|(name, value)| format!("{name}: {}", inner(value)));
            fields.collect::<Vec<_>>().join(", ")
        }
        Value::Array(items) => items.iter().map(inner).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

fn inner(value: &Value) -> String {
    match value {
        Value::Array(items) if !items.iter().any(|item| item.is_array() || item.is_object()) => {
            items.iter().map(summary).collect::<Vec<_>>().join(" · ")
        }
        Value::Object(_) | Value::Array(_) => value.to_string(),
        scalar => summary(scalar),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

/// A value as lines: a table if it has columns and rows, otherwise its fields, one below the other.
pub(super) fn lines(value: &Value, look: MarkdownLook) -> Vec<StyledLine> {
    match value {
        Value::Object(fields) => object(fields, look),
        Value::Array(items) => list(items, look),
        scalar => text(&summary(scalar), look),
    }
}

fn object(fields: &Map<String, Value>, look: MarkdownLook) -> Vec<StyledLine> {
    let shown: Vec<_> = fields.iter().filter(|(_, value)| !is_empty(value)).collect();
    let names = shown.iter().map(|(name, _)| columns(name)).max().unwrap_or(0).min(NAMES);
    let table = table(fields, look);
    let mut lines = Vec::new();
    for (name, value) in shown {
        if table.is_some() && name == "columns" {
            continue;
        }
        if let (Some(table), "rows") = (&table, name.as_str()) {
            lines.extend(table.iter().cloned());
            continue;
        }
        let name = StyledLine::dim(name).truncate(NAMES);
        let space = " ".repeat(names.saturating_sub(name.width()) + 2);
        let indent = StyledLine::plain(&" ".repeat(names + 2));
        let first = name.clone().add(PLAIN, &space);
        match value {
            Value::Object(_) => {
                lines.push(name);
                let within = MarkdownLook { width: look.width.saturating_sub(2).max(16), ..look };
                lines.extend(indented(self::lines(value, within), "  "));
            }
            Value::Array(items) => {
                let within = MarkdownLook { width: look.width.saturating_sub(names + 2).max(16), ..look };
                let mut prefix = first;
                for line in list(items, within) {
                    prefix.append(line);
                    lines.push(std::mem::replace(&mut prefix, indent.clone()));
                }
            }
            Value::String(text) => {
                lines.extend(StyledLine::plain(text.trim_end()).wrap_behind(&first, &indent, look.width));
            }
            scalar => lines.push(first.add(PLAIN, &scalar.to_string())),
        }
    }
    lines
}

fn list(items: &[Value], look: MarkdownLook) -> Vec<StyledLine> {
    let (first, rest) = (StyledLine::of(DIM, "• "), StyledLine::plain("  "));
    let mut lines = Vec::new();
    for item in items {
        match item {
            Value::Object(fields) => {
                let within = MarkdownLook { width: look.width.saturating_sub(2).max(16), ..look };
                let mut prefix = first.clone();
                for line in object(fields, within) {
                    prefix.append(line);
                    lines.push(std::mem::replace(&mut prefix, rest.clone()));
                }
            }
            other => lines.extend(StyledLine::plain(&summary(other)).wrap_behind(&first, &rest, look.width)),
        }
    }
    lines
}

/// The table of an object with `columns` and `rows`.
fn table(fields: &Map<String, Value>, look: MarkdownLook) -> Option<Vec<StyledLine>> {
    let head = fields.get("columns")?.as_array()?;
    let rows = fields.get("rows")?.as_array()?;
    if !rows.iter().all(Value::is_array) {
        return None;
    }
    let cells = |row: &Value, style| -> Vec<StyledLine> {
        let items = row.as_array().map(Vec::as_slice).unwrap_or_default();
        items.iter().map(|cell| StyledLine::of(style, &summary(cell))).collect()
    };
    let head = head.iter().map(|cell| StyledLine::of(crate::style::BOLD, &summary(cell))).collect();
    let rows: Vec<_> = std::iter::once(head).chain(rows.iter().map(|row| cells(row, PLAIN))).collect();
    Some(markdown::table(&rows, &[], look.width))
}

fn text(text: &str, look: MarkdownLook) -> Vec<StyledLine> {
    StyledLine::plain(text).wrap(look.width)
}

/// Lines behind an indentation.
pub(super) fn indented(lines: Vec<StyledLine>, indent: &str) -> Vec<StyledLine> {
    let behind = |line: StyledLine| {
        if line.is_empty() {
            return line;
        }
        let mut out = StyledLine::plain(indent);
        out.append(line);
        out
    };
    lines.into_iter().map(behind).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(value: &Value) -> Vec<String> {
        lines(value, MarkdownLook { width: 40, colour: true }).iter().map(StyledLine::text).collect()
    }

    #[test]
    fn summaries_take_one_line() {
        assert_eq!(
            summary(&json!({ "city": "Paris", "days": [1, 2], "none": null })),
            "city: Paris, days: 1 · 2"
        );
        assert_eq!(summary(&json!("two\nlines")), "two lines");
    }

    #[test]
    fn fields_are_aligned_and_empty_ones_left_out() {
        let draft = json!({ "subject": "The boat", "body": "", "bullets": ["Fast", "Quiet"] });
        assert_eq!(shown(&draft), ["subject  The boat", "bullets  • Fast", "         • Quiet"]);
        let nested = json!({ "day": { "city": "Lisbon", "sights": 2 } });
        assert_eq!(shown(&nested), ["day", "  city    Lisbon", "  sights  2"]);
    }

    #[test]
    fn columns_and_rows_are_a_table() {
        let rivers =
            json!({ "title": "Rivers", "columns": ["name", "km"], "rows": [["Nile", 6650], ["Po"]] });
        assert_eq!(shown(&rivers), ["title    Rivers", "name │ km", "─────┼─────", "Nile │ 6650", "Po   │"]);
    }
}
