//! Tables in the columns of a terminal.

use pulldown_cmark::Alignment;

use super::StyledLine;
use crate::style::DIM;

/// The narrowest that a column becomes.
const NARROW: usize = 6;

/// The columns between two cells: a line with a space on each side.
const GAP: usize = 3;

/// A table whose first row is its head. Cells wrap if it is wider than the terminal.
pub(in crate::chat) fn table(
    rows: &[Vec<StyledLine>],
    alignments: &[Alignment],
    width: usize,
) -> Vec<StyledLine> {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    if count == 0 {
        return Vec::new();
    }
    let natural: Vec<usize> = (0..count)
        .map(|at| rows.iter().filter_map(|row| row.get(at)).map(StyledLine::width).max().unwrap_or(0).max(1))
        .collect();
    let widths = fit(natural, width.saturating_sub(GAP * (count - 1)).max(count));
    let mut lines = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        lines.extend(row_lines(row, &widths, alignments));
        if index == 0 {
            let rule: Vec<_> = widths.iter().map(|&columns| "─".repeat(columns)).collect();
            lines.push(StyledLine::dim(&rule.join("─┼─")));
        }
    }
    lines
}

fn row_lines(row: &[StyledLine], widths: &[usize], alignments: &[Alignment]) -> Vec<StyledLine> {
    let cells: Vec<Vec<StyledLine>> = widths
        .iter()
        .enumerate()
        .map(|(at, &columns)| row.get(at).map(|cell| cell.wrap(columns)).unwrap_or_default())
        .collect();
    let height = cells.iter().map(Vec::len).max().unwrap_or(1);
    let line = |index: usize| {
        let mut line = StyledLine::default();
        for (at, (cell, &columns)) in cells.iter().zip(widths).enumerate() {
            if at > 0 {
                line.push(DIM, " │ ");
            }
            let text = cell.get(index).cloned().unwrap_or_default();
            let space = columns.saturating_sub(text.width());
            let left = match alignments.get(at) {
                Some(Alignment::Right) => space,
                Some(Alignment::Center) => space / 2,
                _ => 0,
            };
            line.push(crate::style::PLAIN, &" ".repeat(left));
            line.append(text);
            if at + 1 < widths.len() {
                line.push(crate::style::PLAIN, &" ".repeat(space - left));
            }
        }
        line.trim_end()
    };
    (0..height).map(line).collect()
}

/// Makes the widest columns narrower until all of them fit.
fn fit(mut widths: Vec<usize>, room: usize) -> Vec<usize> {
    while widths.iter().sum::<usize>() > room {
        let Some(widest) = widths.iter_mut().max() else { break };
        if *widest <= NARROW.min(room) || *widest <= 1 {
            break;
        }
        *widest -= 1;
    }
    widths
}
