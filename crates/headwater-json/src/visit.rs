//! What a parser tells about a text.

/// Is told what a [`Parser`](crate::Parser) finds, in the order of the text.
///
/// Every method does nothing unless it is given. A string comes as `begin_string`, then its parts as they arrive,
/// then `end_string`; no part is empty, none ends within a character, and of one pushed piece there is at most one.
///
/// ```
/// use headwater_json::{Parser, Visit};
///
/// #[derive(Default)]
/// struct Depth(usize, usize);
///
/// impl Visit for Depth {
///     fn begin_array(&mut self) {
///         self.0 += 1;
///         self.1 = self.1.max(self.0);
///     }
///     fn end_array(&mut self) {
///         self.0 -= 1;
///     }
/// }
///
/// let mut depth = Depth::default();
/// let mut parser = Parser::default();
/// parser.push("[[1", &mut depth)?;
/// parser.push(",[]]]", &mut depth)?;
/// assert_eq!(depth.1, 3);
/// # Ok::<(), headwater_json::Error>(())
/// ```
pub trait Visit {
    /// `{`
    fn begin_object(&mut self) {}
    /// `}`
    fn end_object(&mut self) {}
    /// `[`
    fn begin_array(&mut self) {}
    /// `]`
    fn end_array(&mut self) {}
    /// A whole key, without its escapes. Says whether its value is wanted: what is not is checked like all else, but
    /// nothing of it is told, which is faster.
    fn key(&mut self, _key: &str) -> bool {
        true
    }
    /// The opening quote of a string that is a value.
    fn begin_string(&mut self) {}
    /// The next part of it, without its escapes.
    fn text(&mut self, _part: &str) {}
    /// Its closing quote.
    fn end_string(&mut self) {}
    /// A whole number, as it was written.
    fn number(&mut self, _text: &str) {}
    /// `true` or `false`
    fn bool(&mut self, _value: bool) {}
    /// `null`
    fn null(&mut self) {}
}

/// Looks at nothing: the text is only checked.
impl Visit for () {}
