//! Emits declared fields while the document arrives.

mod seen;
mod walk;

use crate::chunk::Chunk;
use crate::completion::Completion;
use crate::error::Error;
use crate::fields::Fields;
use crate::options::Options;
use crate::parser::Parser;
use walk::{Walk, Walker};

/// Finds the declared [`Fields`] of a document that comes in pieces, and emits each as a [`Chunk`] as soon as it is known.
///
/// - A *set* field is emitted once, when its value is complete: a string with its closing quote, an object or an array
///   with its bracket, `true`, `false` and `null` with their last letter, a number with the byte after it.
/// - A *text* field is emitted as the string grows, never half a character; at most once for each piece.
/// - An *append* field is emitted when items are complete; those that complete within one piece go together, unless
///   something else is emitted between them. An item of which something was emitted on its own, because there is
///   also a field within it, is `set` at its index instead, so that the array never gets it twice.
/// - A value of another type than the field asks for is not emitted, nor is what no field matches. An empty string and an
///   empty array are emitted as one empty chunk.
/// - A key that comes again counts, as everywhere; if chunks of the earlier one cannot simply be replaced, a `set`
///   without a value takes them away first.
///
/// Chunks come in the order of the document. At one place `text` and `append` come before `set`; what is within a value
/// comes before the value. How the document is cut into pieces changes nothing but how text and items are cut.
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
    walk: Walk,
}

impl Extractor {
    /// An extractor that skips what comes before the document and ignores what comes after it.
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

    /// An extractor that reads in another way.
    ///
    /// ```
    /// use headwater_json::{Extractor, Fields, Options};
    ///
    /// let fields = Fields::builder().set("a").build()?;
    /// assert!(Extractor::with(fields, Options::default()).push("Sure! {", |_| {}).is_err());
    /// # Ok::<(), headwater_json::FieldError>(())
    /// ```
    pub fn with(fields: Fields, options: Options) -> Self {
        Self { parser: Parser::new(options), fields, walk: Walk::default() }
    }

    /// Reads the next piece, and emits what has become known by it.
    ///
    /// # Errors
    ///
    /// When the text cannot be the beginning of a document, or goes over a limit. All that came before the place has been
    /// emitted then.
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

    /// Reads the next piece, which need not begin or end between two characters.
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

    /// Ends the text and says whether the document is whole. Nothing is emitted at the end.
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
        // Only a number can end with the text, and then it is the whole document, which no path leads to.
        self.parser.finish(&mut ())
    }

    /// Whether the document is whole.
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

    /// Where something other than white space begins after the document, if it has come and is ignored.
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
