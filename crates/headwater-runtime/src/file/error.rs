//! What is wrong with an agent's file: where, why, and what was probably meant.

use std::{fmt, path::Path};

use headwater_models::{nearest, scripted::ScriptError};

use super::place::{Place, Source};
use crate::{Error, error::ErrorKind};

/// What kind of thing is wrong with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FileErrorKind {
    /// The file cannot be read.
    Read,
    /// The text is not YAML, or has a field or a value that the format does not know.
    Syntax,
    /// A value makes no sense where it stands.
    Value,
    /// Something is named that is not there.
    Reference,
    /// A workflow does not hold together.
    Workflow,
    /// A template or an expression cannot be read.
    Template,
    /// Files include each other in a circle, or two of them define the same.
    Include,
    /// The program did not bring along what the file needs.
    Missing,
}

impl FileErrorKind {
    /// A stable word for machines.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Read => "file.read",
            Self::Syntax => "file.syntax",
            Self::Value => "file.value",
            Self::Reference => "file.reference",
            Self::Workflow => "file.workflow",
            Self::Template => "file.template",
            Self::Include => "file.include",
            Self::Missing => "file.missing",
        }
    }
}

/// One thing that is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileError {
    kind: FileErrorKind,
    message: String,
    file: String,
    place: Place,
    /// The line that it is about.
    text: String,
}

impl FileError {
    pub(super) fn new(
        kind: FileErrorKind,
        source: &Source,
        place: Place,
        message: impl Into<String>,
    ) -> Self {
        let text = place.line.checked_sub(1).and_then(|line| source.text.lines().nth(line));
        Self {
            kind,
            message: message.into(),
            file: source.name.clone(),
            place,
            text: text.unwrap_or_default().to_owned(),
        }
    }

    /// A file that cannot be read.
    pub(super) fn reading(path: &Path, error: &std::io::Error) -> Self {
        Self {
            kind: FileErrorKind::Read,
            message: cannot_read(error),
            file: path.display().to_string(),
            place: Place::default(),
            text: String::new(),
        }
    }

    /// What the YAML reader refused.
    pub(super) fn yaml(source: &Source, error: serde_saphyr::Error) -> Self {
        let place = error.location().map(Place::from).unwrap_or_default();
        let message = match error.without_snippet() {
            serde_saphyr::Error::DuplicateMappingKey { key: Some(key), .. } => {
                format!("`{key}` is there twice")
            }
            serde_saphyr::Error::Eof { .. } => "the file is empty".to_owned(),
            _ => yaml_message(error, &place, source),
        };
        Self::new(FileErrorKind::Syntax, source, place, message)
    }

    /// What kind of thing is wrong.
    #[must_use]
    pub fn kind(&self) -> FileErrorKind {
        self.kind
    }

    /// A stable word for machines.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.kind.code()
    }

    /// What is wrong, without the place.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The file, as it was named.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The line, from 1; 0 if it cannot be told.
    #[must_use]
    pub fn line(&self) -> usize {
        self.place.line
    }

    /// The column in characters, from 1; 0 if it cannot be told.
    #[must_use]
    pub fn column(&self) -> usize {
        self.place.column
    }

    /// The line that it is about, as it stands in the file.
    #[must_use]
    pub fn source_line(&self) -> &str {
        &self.text
    }

    /// How many characters of that line it is about, at least one.
    #[must_use]
    pub fn width(&self) -> usize {
        let before = self.place.column.saturating_sub(1);
        let rest: String = self.text.trim_end().chars().skip(before).collect();
        let mut end = self.place.length.min(rest.len());
        while !rest.is_char_boundary(end) {
            end += 1;
        }
        rest.get(..end).map_or(1, |text| text.chars().count().max(1))
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.file)?;
        if self.place.line > 0 {
            write!(f, "{}:{}:", self.place.line, self.place.column)?;
        }
        write!(f, " {}", self.message)
    }
}

impl std::error::Error for FileError {}

/// Everything that is wrong with a file: never empty, in the order in which it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileErrors(Vec<FileError>);

impl FileErrors {
    /// Nothing if there are none.
    pub(super) fn check(errors: Vec<FileError>) -> Result<(), Self> {
        if errors.is_empty() { Ok(()) } else { Err(Self(errors)) }
    }

    /// Several, at least one.
    pub(super) fn of(errors: Vec<FileError>) -> Self {
        Self(errors)
    }

    /// The errors.
    pub fn iter(&self) -> std::slice::Iter<'_, FileError> {
        self.0.iter()
    }
}

impl From<FileError> for FileErrors {
    fn from(error: FileError) -> Self {
        Self(vec![error])
    }
}

impl<'a> IntoIterator for &'a FileErrors {
    type Item = &'a FileError;
    type IntoIter = std::slice::Iter<'a, FileError>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for FileErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, error) in self.0.iter().enumerate() {
            let break_line = if at > 0 { "\n" } else { "" };
            write!(f, "{break_line}{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for FileErrors {}

impl From<FileErrors> for Error {
    fn from(errors: FileErrors) -> Self {
        let code = errors.0.first().map_or(FileErrorKind::Value, FileError::kind).code();
        Self::new(ErrorKind::Build, errors.to_string()).with_code(code)
    }
}

/// `there is no node …`, with what was probably meant and what there is.
pub(super) fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    let list = known.clone().collect::<Vec<_>>().join(", ");
    match nearest(name, known) {
        Some(meant) => format!("there is no {what} `{name}`: did you mean `{meant}`? (known: {list})"),
        None if list.is_empty() => format!("there is no {what} `{name}`: there are none"),
        None => format!("there is no {what} `{name}` (known: {list})"),
    }
}

fn cannot_read(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
        std::io::ErrorKind::InvalidData => "the file is not UTF-8".to_owned(),
        _ => format!("cannot be read: {error}"),
    }
}

/// The reader's own words, but for those that would send a person the wrong way.
fn yaml_message(error: serde_saphyr::Error, place: &Place, source: &Source) -> String {
    let here = source.text.get(place.start..).unwrap_or_default();
    let message = ScriptError::from(error).message().to_owned();
    match message.as_str() {
        "expected string scalar" if here.starts_with("{{") || here.starts_with("{%") => {
            "a value that begins with a brace is a mapping in YAML: put the template in quotes".to_owned()
        }
        "expected string scalar" => "expected a text".to_owned(),
        "expected mapping start" => "expected a mapping".to_owned(),
        "expected sequence start" => "expected a list".to_owned(),
        _ => message,
    }
}
