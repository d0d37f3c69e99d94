//! The settings of the server and the origin of each value: a flag, the environment, a file, or the default.
//!
//! [`keys`] is the one list of settings; the file, the environment, `headwater config` and the manual all use
//! it.

mod file;
pub(crate) mod flags;
mod keys;
mod layers;
mod parse;
mod settings;
#[cfg(test)]
mod tests;

pub(crate) use keys::{KEYS, SettingKey};
pub(crate) use layers::{Layers, Value};
pub(crate) use settings::{Jwt, LogFormat, OnFailure, ServerSettings, StoreUrl};
