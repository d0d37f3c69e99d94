//! Errors in agent files: file, line, column, message and a suggestion.

use std::{fmt, path::Path};

use headwater_models::{nearest, scripted::ScriptError};

use super::span::{SourceText, TextSpan};
use crate::{Error, error::ErrorKind};

/// The kind of a [`FileError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FileErrorKind {
    /// The file cannot be read.
    Read,
    /// The text is not valid YAML, or has an unknown field or a value of the wrong type.
    Syntax,
    /// The value is not allowed here.
    Value,
    /// A name is used that is not defined.
    Reference,
    /// The workflow is incomplete or contradictory.
    Workflow,
    /// A template or an expression does not compile.
    Template,
    /// Files include each other in a circle, or define the same name twice.
    Include,
    /// The program did not supply something that the file refers to.
    Missing,
}

impl FileErrorKind {
    /// A stable code for programs.
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

/// One problem in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileError {
    kind: FileErrorKind,
    message: String,
    file: String,
    span: TextSpan,
    /// The line of the file, for display.
    text: String,
}

impl FileError {
    pub(super) fn new(
        kind: FileErrorKind,
        source: &SourceText,
        span: TextSpan,
        message: impl Into<String>,
    ) -> Self {
        let text = span.line.checked_sub(1).and_then(|line| source.text.lines().nth(line));
        Self {
            kind,
            message: message.into(),
            file: source.name.clone(),
            span,
            text: text.unwrap_or_default().to_owned(),
        }
    }

    /// An error about a file that cannot be read.
    pub(super) fn reading(path: &Path, error: &std::io::Error) -> Self {
        Self {
            kind: FileErrorKind::Read,
            message: cannot_read(error),
            file: path.display().to_string(),
            span: TextSpan::default(),
            text: String::new(),
        }
    }

    /// An error of the YAML parser.
    pub(super) fn yaml(source: &SourceText, error: serde_saphyr::Error) -> Self {
        let span = error.location().map(TextSpan::from).unwrap_or_default();
        let message = match error.without_snippet() {
            serde_saphyr::Error::DuplicateMappingKey { key: Some(key), .. } => {
                format!("duplicate key `{key}`")
            }
            serde_saphyr::Error::Eof { .. } => "the file is empty".to_owned(),
            _ => yaml_message(error, &span, source),
        };
        Self::new(FileErrorKind::Syntax, source, span, message)
    }

    /// The kind of the error.
    #[must_use]
    pub fn kind(&self) -> FileErrorKind {
        self.kind
    }

    /// A stable code for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.kind.code()
    }

    /// The message, without file and line.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The file, as it was named.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The line, from 1; 0 if unknown.
    #[must_use]
    pub fn line(&self) -> usize {
        self.span.line
    }

    /// The column in characters, from 1; 0 if unknown.
    #[must_use]
    pub fn column(&self) -> usize {
        self.span.column
    }

    /// The text of the line in the file.
    #[must_use]
    pub fn source_line(&self) -> &str {
        &self.text
    }

    /// The number of characters to underline, at least one.
    #[must_use]
    pub fn width(&self) -> usize {
        let before = self.span.column.saturating_sub(1);
        let rest: String = self.text.trim_end().chars().skip(before).collect();
        let mut end = self.span.length.min(rest.len());
        while !rest.is_char_boundary(end) {
            end += 1;
        }
        rest.get(..end).map_or(1, |text| text.chars().count().max(1))
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.file)?;
        if self.span.line > 0 {
            write!(f, "{}:{}:", self.span.line, self.span.column)?;
        }
        write!(f, " {}", self.message)
    }
}

impl std::error::Error for FileError {}

/// All problems of a file, in the order they were found. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileErrors(Vec<FileError>);

impl FileErrors {
    /// `Ok` if there are no errors.
    pub(super) fn check(errors: Vec<FileError>) -> Result<(), Self> {
        if errors.is_empty() { Ok(()) } else { Err(Self(errors)) }
    }

    /// Wraps a list of at least one error.
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

/// `there is no node …`, with the most similar name and the list of known names.
pub(super) fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    let list = known.clone().collect::<Vec<_>>().join(", ");
    match nearest(name, known) {
        Some(meant) => format!("there is no {what} `{name}`: did you mean `{meant}`? (known: {list})"),
        None if list.is_empty() => format!("there is no {what} `{name}`: none is defined"),
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

/// The parser's message, replaced where it would mislead a person.
fn yaml_message(error: serde_saphyr::Error, span: &TextSpan, source: &SourceText) -> String {
    let here = source.text.get(span.start..).unwrap_or_default();
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
