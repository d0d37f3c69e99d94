//! A table in a document that a command writes, row by row from what its tests print.

use std::fs;
use std::path::Path;

use crate::command::Failure;

/// What comes before a row in the output of a test.
pub(crate) const ROW: &str = "figure: ";
/// The same for a row with figures.
pub(crate) const FIGURES: &str = "measured: ";
const END: &str = "<!-- end -->";

/// A table, and the rows that it must have. A run that lacks one of them is not whole.
pub(crate) struct Table {
    pub(crate) document: &'static str,
    /// The command that writes it, as the document says.
    pub(crate) command: &'static str,
    pub(crate) heading: &'static str,
    pub(crate) rows: &'static [&'static str],
}

/// The part of a document that a command writes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DocumentBlock {
    pub(crate) document: &'static str,
    /// The command that writes it, as the document says.
    pub(crate) command: &'static str,
}

/// A block in the text of its document, and what is around it.
struct TablePosition<'a> {
    before: &'a str,
    begin: String,
    written: &'a str,
    after: &'a str,
}

impl Table {
    /// Prints the table of the rows that were found, and compares it with the one in the document, or writes it there.
    pub(crate) fn settle(&self, root: &Path, found: &[String], write: bool) -> Result<(), Failure> {
        let (mut table, mut missing) = (self.heading.to_owned(), Vec::new());
        for name in self.rows {
            match found.iter().find(|row| row.starts_with(&format!("| {name} | "))) {
                Some(row) => table = format!("{table}{row}\n"),
                None => missing.push(name),
            }
        }
        anstream::print!("{table}");
        for name in &missing {
            anstream::println!("skipped or failed: {name}");
        }
        let block = self.block();
        let written = block.read(root)?;
        if write {
            if !missing.is_empty() {
                return Err(Failure::new(format!("{missing:?} did not run, so the table is not written")));
            }
            return block.write(root, &table);
        }
        if missing.is_empty() && written != table.trim() {
            let message =
                format!("the table in {} is another one: `{}` writes it", self.document, self.command);
            return Err(Failure::new(message));
        }
        Ok(())
    }

    /// Prints the table of the rows that were found, and writes it into the document on demand. A row that was not found
    /// stays as it is there. Nothing is compared: counts and figures are those of the last long run.
    pub(crate) fn update(&self, root: &Path, found: &[String], write: bool) -> Result<(), Failure> {
        let block = self.block();
        let written = block.read(root)?;
        let known: Vec<_> = found.iter().map(String::as_str).chain(written.lines()).collect();
        let rows = self.rows.iter().filter_map(|name| {
            known.iter().find(|row| row.starts_with(&format!("| {name} | "))).map(|row| format!("{row}\n"))
        });
        let table = format!("{}{}", self.heading, rows.collect::<String>());
        anstream::print!("{table}");
        if write { block.write(root, &table) } else { Ok(()) }
    }

    /// The rows among these that the document lacks.
    pub(crate) fn lacks(&self, root: &Path, rows: &[String]) -> Result<Vec<String>, Failure> {
        let text = self.block().text(root)?;
        Ok(rows.iter().filter(|row| !text.lines().any(|line| line == row.as_str())).cloned().collect())
    }

    fn block(&self) -> DocumentBlock {
        DocumentBlock { document: self.document, command: self.command }
    }
}

impl DocumentBlock {
    /// What the document has now.
    pub(crate) fn read(&self, root: &Path) -> Result<String, Failure> {
        let text = self.text(root)?;
        Ok(self.place(&text)?.written.trim().to_owned())
    }

    /// Replaces what the document has.
    pub(crate) fn write(&self, root: &Path, content: &str) -> Result<(), Failure> {
        let text = self.text(root)?;
        let TablePosition { before, begin, after, .. } = self.place(&text)?;
        let path = root.join(self.document);
        fs::write(&path, format!("{before}{begin}\n{}\n\n{END}{after}", content.trim()))
            .map_err(|error| Failure::new(format!("cannot write {}: {error}", path.display())))
    }

    fn place<'a>(&self, text: &'a str) -> Result<TablePosition<'a>, Failure> {
        let begin = format!("<!-- written by `{}` -->\n", self.command);
        let split = text.split_once(&begin).and_then(|(before, rest)| {
            let (written, after) = rest.split_once(END)?;
            Some((before, written, after))
        });
        let Some((before, written, after)) = split else {
            let place = begin.trim();
            return Err(Failure::new(format!("{} has no place for the table: `{place}`", self.document)));
        };
        Ok(TablePosition { before, begin, written, after })
    }

    fn text(&self, root: &Path) -> Result<String, Failure> {
        let path = root.join(self.document);
        fs::read_to_string(&path)
            .map_err(|error| Failure::new(format!("cannot read {}: {error}", path.display())))
    }
}

/// The rows that a run printed.
pub(crate) fn rows(output: &str) -> Vec<String> {
    rows_after(ROW, output)
}

/// The rows with figures of this machine that a run printed.
pub(crate) fn figures(output: &str) -> Vec<String> {
    rows_after(FIGURES, output)
}

fn rows_after(word: &str, output: &str) -> Vec<String> {
    let row = |line: &str| Some(format!("| {} |", line.split_once(word)?.1.trim()));
    output.lines().filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_wherever_a_line_has_them() {
        let output = "test x ... figure: forged tokens | 1,286 | 0 through\n# \\# figure: hostile page events | 352 | 0 through\nok";
        let expected = ["| forged tokens | 1,286 | 0 through |", "| hostile page events | 352 | 0 through |"];
        assert_eq!(rows(output), expected);
    }
}
