//! Damage to the files of a folder.

use std::fmt;

use crate::JournalId;

/// A place where the stored bytes differ from the written ones.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Damage {
    /// The name of the file.
    pub file: String,
    /// The offset in the file.
    pub offset: u64,
    /// The number of bytes; 0 if unknown.
    pub bytes: u64,
    /// A description of the damage.
    pub what: String,
    /// The affected journal, if known.
    pub journal: Option<JournalId>,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at offset {}: {}", self.file, self.offset, self.what)?;
        if self.bytes > 0 {
            write!(f, ", {} bytes", self.bytes)?;
        }
        match &self.journal {
            Some(journal) => write!(f, ", journal {journal}"),
            None => Ok(()),
        }
    }
}
