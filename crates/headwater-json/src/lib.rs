//! JSON while it arrives.
//!
//! Models stream JSON: the arguments of tools, structured answers. This crate reads it piece by piece and looks at every
//! byte once, however small the pieces are and wherever they are cut.
//!
//! - [`Extractor`] emits the fields that you declare, by path, as they become known.
//! - [`PartialValue`] has the value so far at any time, and says at the end whether it is whole.
//! - [`Parser`] is what both are built on.
//! - [`InputLimits`] bound the depth and the number of values of JSON from outside, before it is parsed or stored.
//! - [`Surrogates`] joins the halves of surrogate pairs that JavaScript cut apart, which no Rust string can hold.
//!
//! ```
//! use headwater_json::{Chunk, Extractor, Fields};
//!
//! let fields = Fields::builder().set("subject").text("body").build()?;
//! let mut extractor = Extractor::new(fields);
//! for piece in ["Here it is: {\"subj", "ect\":\"Beta\",\"body\":\"Hi ", "team\"}"] {
//!     extractor.push(piece, |chunk| {
//!         if let Chunk::Text { path, delta } = chunk {
//!             assert_eq!(path, "body");
//!             print!("{delta}");
//!         }
//!     })?;
//! }
//! extractor.finish().into_result()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is accepted
//!
//! Exactly RFC 8259, to the letter: invalid JSON is an [`Error`] with its offset, line and column, and nothing is mended
//! or guessed. [`Options`] say whether prose or a Markdown fence before the value is skipped and whether what follows it is
//! ignored. Four points that the RFC leaves open are decided as `serde_json` decides them:
//!
//! - Integers of 64 bits are exact; all other numbers, `-0` among them, are the nearest 64-bit float. A number that is too
//!   large for that, such as `1e400`, is an error; one that is too small is zero.
//! - Half of a surrogate pair on its own, as `"\ud83d"`, is an error: no Rust string can hold it.
//! - A key may come twice. The later value counts, in the place of the earlier one.
//! - Nesting is limited, here to 120 levels unless [`Limits`] say otherwise.
//!
//! The same documents are accepted whatever fields are declared.
//!
//! # Paths
//!
//! See [`Fields`] for what can be declared, and [`Segment`] for how paths say keys with dots, of digits, or empty.

mod build;
mod chunk;
mod completion;
mod error;
mod extract;
mod fields;
mod limits;
mod options;
mod parser;
mod partial;
mod path;
mod present;
mod surrogate;
mod visit;

pub use chunk::Chunk;
pub use completion::Completion;
pub use error::{Error, ErrorKind};
pub use extract::Extractor;
pub use fields::{FieldError, FieldErrorKind, FieldKind, Fields, FieldsBuilder};
pub use limits::{InputLimits, LimitExceeded, LimitKind};
pub use options::{LeadIn, Limits, Options, Trailing};
pub use parser::Parser;
pub use partial::PartialValue;
pub use path::Segment;
pub use present::present;
pub use surrogate::{Mended, Surrogates, without_halves};
pub use visit::Visit;
