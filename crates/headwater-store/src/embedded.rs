//! A store in a folder.

mod files;

pub use files::{File, Files, Guard};
