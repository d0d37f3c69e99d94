//! Emits declared fields while the document arrives.

mod repeated_keys;
mod walk;

use crate::chunk::Chunk;
use crate::completion::Completion;
use crate::error::Error;
use crate::fields::Fields;
use crate::options::Options;
use crate::parser::Parser;
use walk::{WalkState, Walker};

/// Reads a document in pieces and emits each declared [field](Fields) as a [`Chunk`] as early as possible.
///
/// - A *set* field is emitted once, when its value is complete: a string at its closing quote, an object or
///   an array at its closing bracket, `true`, `false` and `null` at the last letter, a number at the byte
///   after it.
/// - A *text* field is emitted as the string grows, at most once per piece, never half a character.
/// - An *append* field is emitted as items complete. Items that complete in one piece are emitted together,
///   unless another chunk comes between them. If a nested field already emitted part of an item, the item is
///   `set` at its index instead, so that the array never receives it twice.
/// - A value of the wrong type is not emitted, nor is a value that no field matches. An empty string or array
///   is emitted as one empty chunk.
/// - If a key is repeated, the last value wins. Chunks of the earlier value that cannot simply be replaced
///   are removed first by a `set` without a value.
///
/// Chunks come in document order. At one path, `text` and `append` come before `set`, and nested values
/// before their container. Splitting the document differently changes only where text deltas and item groups
/// are split.
///
/// ```
/// use headwater_json::{Chunk, Completion, Extractor, Fields};
///
/// let fields = Fields::builder().set("subject").text("body").append("bullets").build()?;
/// let mut extractor = Extractor::new(fields);
/// let mut lines = Vec::new();
/// for piece in [r#"{"subject":"Beta","bo"#, r#"dy":"Hi \"#, r#"ud83d\ude00","bullets":["fa"#, r#"st","small"]}"#] {
///     extractor.push(piece, |chunk| {
///         lines.push(match chunk {
///             Chunk::Set { path, value: Some(value) } => format!("{path} = {value}"),
///             Chunk::Set { path, value: None } => format!("{path} = nothing"),
///             Chunk::Text { path, delta } => format!("{path} += {delta}"),
///             Chunk::Append { path, items } => format!("{path} ++ {}", serde_json::Value::from(items)),
///         });
///     })?;
/// }
/// assert_eq!(extractor.finish(), Completion::Complete);
/// assert_eq!(lines, [r#"subject = "Beta""#, "body += Hi ", "body += 😀", r#"bullets ++ ["fast","small"]"#]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Extractor {
    parser: Parser,
    fields: Fields,
    walk: WalkState,
}

impl Extractor {
    /// An extractor that skips prose before the document and ignores text after it.
    ///
    /// ```
    /// use headwater_json::{Extractor, Fields};
    ///
    /// let mut extractor = Extractor::new(Fields::builder().set("a").build()?);
    /// let mut count = 0;
    /// extractor.push("```json\n{\"a\":1}\n```", |_| count += 1)?;
    /// assert_eq!(count, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(fields: Fields) -> Self {
        Self::with(fields, Options::lenient())
    }

    /// An extractor with other [`Options`].
    ///
    /// ```
    /// use headwater_json::{Extractor, Fields, Options};
    ///
    /// let fields = Fields::builder().set("a").build()?;
    /// assert!(Extractor::with(fields, Options::default()).push("Sure! {", |_| {}).is_err());
    /// # Ok::<(), headwater_json::FieldError>(())
    /// ```
    pub fn with(fields: Fields, options: Options) -> Self {
        Self { parser: Parser::new(options), fields, walk: WalkState::default() }
    }

    /// Reads the next piece and emits the fields that it completes or extends.
    ///
    /// # Errors
    ///
    /// If the text cannot be the beginning of a document, or exceeds a limit. Everything before the error has
    /// been emitted.
    ///
    /// ```
    /// use headwater_json::{Extractor, Fields};
    ///
    /// let mut extractor = Extractor::new(Fields::builder().append("a").build()?);
    /// let mut items = 0;
    /// let error = extractor.push(r#"{"a":[1,2,oops"#, |_| items += 1).unwrap_err();
    /// assert_eq!((items, error.offset()), (1, 10));
    /// # Ok::<(), headwater_json::FieldError>(())
    /// ```
    #[inline]
    pub fn push<F: FnMut(Chunk<'_>)>(&mut self, piece: &str, emit: F) -> Result<(), Error> {
        let mut walker = Walker { walk: &mut self.walk, fields: self.fields.automaton(), emit };
        let read = self.parser.push(piece, &mut walker);
        walker.flush();
        read
    }

    /// Reads the next piece, which may begin or end inside a UTF-8 character.
    ///
    /// # Errors
    ///
    /// As [`push`](Self::push), and when the bytes are not UTF-8.
    ///
    /// ```
    /// use headwater_json::{Chunk, Extractor, Fields};
    ///
    /// let mut extractor = Extractor::new(Fields::builder().text("a").build()?);
    /// let mut text = String::new();
    /// for piece in [&b"{\"a\":\"\xE2\x82"[..], b"\xAC\"}"] {
    ///     extractor.push_bytes(piece, |chunk| {
    ///         if let Chunk::Text { delta, .. } = chunk {
    ///             text.push_str(delta);
    ///         }
    ///     })?;
    /// }
    /// assert_eq!(text, "€");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn push_bytes<F: FnMut(Chunk<'_>)>(&mut self, piece: &[u8], emit: F) -> Result<(), Error> {
        let mut walker = Walker { walk: &mut self.walk, fields: self.fields.automaton(), emit };
        let read = self.parser.push_bytes(piece, &mut walker);
        walker.flush();
        read
    }

    /// Ends the text and reports whether the document is complete. Emits nothing.
    ///
    /// ```
    /// use headwater_json::{Completion, Extractor, Fields};
    ///
    /// let mut extractor = Extractor::new(Fields::builder().set("a").build()?);
    /// extractor.push("I cannot do that.", |_| {})?;
    /// let Completion::Truncated(error) = extractor.finish() else { panic!() };
    /// assert_eq!(error.to_string(), "the text ends before any value began, at line 1 column 18");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn finish(&mut self) -> Completion {
        // Only a number can be completed by the end of the text. It is then the whole document, which no path
        // matches.
        self.parser.finish(&mut ())
    }

    /// Whether the document is complete.
    ///
    /// ```
    /// use headwater_json::{Extractor, Fields};
    ///
    /// let mut extractor = Extractor::new(Fields::builder().set("a").build()?);
    /// extractor.push("{}", |_| {})?;
    /// assert!(extractor.is_complete());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_complete(&self) -> bool {
        self.parser.is_complete()
    }

    /// Offset of the first ignored byte after the document that is not whitespace.
    ///
    /// ```
    /// use headwater_json::{Extractor, Fields};
    ///
    /// let mut extractor = Extractor::new(Fields::builder().set("a").build()?);
    /// extractor.push("{}\n{}", |_| {})?;
    /// assert_eq!(extractor.trailing_offset(), Some(3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn trailing_offset(&self) -> Option<u64> {
        self.parser.trailing_offset()
    }
}
