//! Incremental JSON: reads documents while they arrive.
//!
//! Models stream JSON as tool arguments and structured answers. This crate reads it piece by piece and looks
//! at every byte once, wherever the text is split.
//!
//! - [`Extractor`] emits declared fields as they become complete or grow.
//! - [`PartialValue`] holds the value so far, and reports at the end whether it is complete.
//! - [`Parser`] is the push parser below both.
//! - [`InputLimits`] bounds the depth and size of untrusted JSON before it is parsed or stored.
//! - [`Surrogates`] joins surrogate pairs that JavaScript split between two frames.
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
//! # Accepted input
//!
//! Exactly RFC 8259. Invalid JSON is an [`Error`] with offset, line and column; nothing is repaired or
//! guessed. [`Options`] control whether prose or a Markdown fence before the value is skipped and whether
//! text after it is ignored. Four points that the RFC leaves open follow `serde_json`:
//!
//! - 64-bit integers are exact; all other numbers, including `-0`, become the nearest 64-bit float. A number
//!   too large for a float, such as `1e400`, is an error; one too small is zero.
//! - A lone surrogate such as `"\ud83d"` is an error: a Rust string cannot hold it.
//! - If a key is repeated, the last value wins and keeps the position of the first.
//! - Nesting is limited to 120 levels by default, see [`Limits`].
//!
//! The declared fields do not change which documents are accepted.
//!
//! # Paths
//!
//! See [`Fields`] for the patterns to declare, and [`Segment`] for escaping keys that contain dots or only
//! digits, or are empty.

mod build;
mod chunk;
mod completion;
mod error;
mod extract;
mod fields;
mod limits;
mod nullable;
mod options;
mod parser;
mod partial;
mod path;
mod surrogate;
mod visit;

pub use chunk::Chunk;
pub use completion::Completion;
pub use error::{Error, ErrorKind};
pub use extract::Extractor;
pub use fields::{FieldError, FieldErrorKind, FieldKind, Fields, FieldsBuilder};
pub use limits::{InputLimits, LimitError, LimitKind};
pub use nullable::present;
pub use options::{LeadIn, Limits, Options, Trailing};
pub use parser::Parser;
pub use partial::PartialValue;
pub use path::Segment;
pub use surrogate::{FrameText, Surrogates, without_halves};
pub use visit::Visitor;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/json.md")]
struct Guide;
