//! Tables that fit the terminal.

use anstyle::Style;

use crate::style::{DIM, PLAIN, abbreviate, printable, width};

/// The least width of the last column, which takes the rest of the line.
const LAST: usize = 16;

/// Rows below headings. The last column is abbreviated to the width of the terminal; where the others leave it no room,
/// optional columns are left out, the rightmost first.
#[derive(Debug)]
pub(crate) struct TextTable {
    columns: Vec<TableColumn>,
    rows: Vec<Vec<TableCell>>,
}

#[derive(Debug, Clone, Copy)]
struct TableColumn {
    heading: &'static str,
    is_optional: bool,
}

/// A cell: its text in one style.
#[derive(Debug, Default)]
pub(crate) struct TableCell {
    text: String,
    style: Style,
}

impl TableCell {
    pub(crate) fn styled(style: Style, text: impl Into<String>) -> Self {
        // A line end or a tab would break the columns.
        let text = printable(&text.into()).replace(['\n', '\t'], " ");
        Self { text, style }
    }
}

impl<T: Into<String>> From<T> for TableCell {
    fn from(text: T) -> Self {
        Self::styled(PLAIN, text)
    }
}

impl TextTable {
    /// A table with these columns; a heading in parentheses is of an optional one.
    pub(crate) fn new(headings: &[&'static str]) -> Self {
        let column = |heading: &&'static str| match heading.strip_prefix('(') {
            Some(heading) => TableColumn { heading: heading.trim_end_matches(')'), is_optional: true },
            None => TableColumn { heading, is_optional: false },
        };
        Self { columns: headings.iter().map(column).collect(), rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = TableCell>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The lines of the table, the headings first; none if it has no rows.
    pub(crate) fn lines(&self, terminal: usize) -> Vec<String> {
        if self.rows.is_empty() {
            return Vec::new();
        }
        let widths = self.widths(terminal);
        let headings = self.columns.iter().map(|column| (column.heading, DIM));
        let mut lines = vec![line(headings, &widths)];
        for row in &self.rows {
            lines.push(line(row.iter().map(|cell| (cell.text.as_str(), cell.style)), &widths));
        }
        lines
    }

    /// The width of each column; 0 for one that is left out. A column without a value is left out too.
    fn widths(&self, terminal: usize) -> Vec<usize> {
        let widest = |at: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(at)).map(|cell| width(&cell.text));
            cells.max().unwrap_or(0)
        };
        let mut widths: Vec<usize> = Vec::new();
        for (at, column) in self.columns.iter().enumerate() {
            let widest = widest(at);
            widths.push(if widest == 0 && column.is_optional {
                0
            } else {
                widest.max(width(column.heading))
            });
        }
        let last = widths.len().saturating_sub(1);
        let before = |widths: &[usize]| {
            widths.iter().take(last).filter(|width| **width > 0).map(|width| width + 2).sum::<usize>()
        };
        let needed = widths.last().copied().unwrap_or(0).min(LAST);
        while before(&widths) + needed > terminal {
            let optional = |at: &usize| self.columns.get(*at).is_some_and(|column| column.is_optional);
            let shown = |at: &usize| widths.get(*at).is_some_and(|width| *width > 0);
            let Some(dropped) = (0..last).rev().find(|at| optional(at) && shown(at)) else { break };
            widths.iter_mut().skip(dropped).take(1).for_each(|width| *width = 0);
        }
        let room = terminal.saturating_sub(before(&widths)).max(LAST);
        widths.iter_mut().skip(last).for_each(|width| *width = (*width).min(room));
        widths
    }
}

fn line<'a>(cells: impl Iterator<Item = (&'a str, Style)>, widths: &[usize]) -> String {
    let mut line = String::new();
    // Blanks are written before the next cell, so that no line ends in them.
    let mut gap = 0;
    for ((text, style), &room) in cells.zip(widths) {
        if room == 0 {
            continue;
        }
        let text = abbreviate(text, room);
        if !text.is_empty() {
            line.extend(std::iter::repeat_n(' ', gap));
            line.push_str(&format!("{style}{text}{style:#}"));
            gap = 0;
        }
        gap += room - width(&text) + 2;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> TextTable {
        let mut table = TextTable::new(&["ID", "(OWNER)", "(COST)", "TEXT"]);
        table.row(["a".into(), "ann".into(), TableCell::default(), "a long text with many words".into()]);
        table.row(["bcd".into(), TableCell::default(), TableCell::default(), "two\nlines".into()]);
        table
    }

    fn plain(terminal: usize) -> Vec<String> {
        let lines = table().lines(terminal);
        lines.iter().map(|line| anstream::adapter::strip_str(line).to_string()).collect()
    }

    #[test]
    fn last_column_is_abbreviated_to_the_terminal() {
        let expected = ["ID   OWNER  TEXT", "a    ann    a long text with ma…", "bcd         two lines"];
        assert_eq!(plain(32), expected);
    }

    #[test]
    fn optional_columns_give_way_to_the_last_one() {
        assert_eq!(plain(22), ["ID   TEXT", "a    a long text with…", "bcd  two lines"]);
    }

    #[test]
    fn table_without_rows_has_no_lines() {
        assert!(TextTable::new(&["ID"]).lines(80).is_empty());
    }
}
