//! The interface between the parser and its users.

/// Receives the tokens that a [`Parser`](crate::Parser) reads, in document order.
///
/// Every method does nothing by default. A string is reported as `begin_string`, its parts as they arrive,
/// then `end_string`. A part is never empty, never ends inside a character, and there is at most one per
/// pushed piece.
///
/// ```
/// use headwater_json::{Parser, Visitor};
///
/// #[derive(Default)]
/// struct Depth(usize, usize);
///
/// impl Visitor for Depth {
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
pub trait Visitor {
    /// `{`
    fn begin_object(&mut self) {}
    /// `}`
    fn end_object(&mut self) {}
    /// `[`
    fn begin_array(&mut self) {}
    /// `]`
    fn end_array(&mut self) {}
    /// A complete key, unescaped. Returns whether the value is wanted. A skipped value is still checked but
    /// not reported, which is faster.
    fn key(&mut self, _key: &str) -> bool {
        true
    }
    /// The opening quote of a string value.
    fn begin_string(&mut self) {}
    /// The next part of the string, unescaped.
    fn text(&mut self, _part: &str) {}
    /// The closing quote of the string.
    fn end_string(&mut self) {}
    /// A complete number, as written.
    fn number(&mut self, _text: &str) {}
    /// `true` or `false`
    fn bool(&mut self, _value: bool) {}
    /// `null`
    fn null(&mut self) {}
}

/// Ignores all tokens, to check a text only.
impl Visitor for () {}
