//! The settings of the server and the origin of each value: a flag, the environment, a file, or the default.
//!
//! [`keys`] is the one list of settings; the file, the environment, `headwater config` and the manual all use
//! it.

mod file;
pub(crate) mod flags;
mod keys;
mod layers;
mod operate;
mod parse;
mod read;
mod settings;
#[cfg(test)]
mod tests;
mod value;

pub(crate) use keys::{KEYS, SettingKey};
pub(crate) use layers::Layers;
pub(crate) use parse::length as duration;
pub(crate) use settings::{JwtSettings, LogFormat, OnFailure, ServerSettings, StoreUrl};
pub(crate) use value::SettingValue;
