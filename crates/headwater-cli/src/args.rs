//! The arguments that several commands share.

use std::path::PathBuf;

use clap::{
    Args, ValueEnum,
    builder::{PossibleValuesParser, TypedValueParser},
};
use headwater_dialects::{Dialect, Reader};
use headwater_protocol::Framing;

use crate::{dialect_detection::DetectedInput, failure::CommandFailure, input::StreamInput};

/// The input stream and how to read it.
#[derive(Debug, Args)]
pub(crate) struct StreamArgs {
    /// The dialect of the stream. Detected by default.
    #[arg(long, short, value_name = "DIALECT", value_parser = reader())]
    pub(crate) dialect: Option<&'static dyn Reader>,

    /// The framing of the stream. Detected by default.
    #[arg(long, value_name = "FRAMING", value_parser = framing())]
    pub(crate) framing: Option<Framing>,

    /// The file to read. Default: standard input, also `-`.
    pub(crate) file: Option<PathBuf>,
}

impl StreamArgs {
    /// Opens the stream and detects the dialect and framing that were not given.
    pub(crate) fn open(&self) -> Result<DetectedInput, CommandFailure> {
        DetectedInput::recognise(StreamInput::open(self.file.as_deref())?, self.dialect, self.framing)
    }

    /// The same for a file that may be a URL, to which the key is sent.
    pub(crate) fn open_with(&self, key: Option<&str>) -> Result<DetectedInput, CommandFailure> {
        let url = self.file.as_ref().and_then(|file| file.to_str());
        match url.filter(|url| url.starts_with("http://") || url.starts_with("https://")) {
            Some(url) => {
                DetectedInput::recognise(StreamInput::open_url(url, key)?, self.dialect, self.framing)
            }
            None => self.open(),
        }
    }
}

/// Parses the name of a dialect; suggests the nearest name on a typo and lists all of them in the help.
pub(crate) fn dialect() -> impl TypedValueParser<Value = &'static dyn Dialect> {
    let names = headwater_dialects::ALL.map(Dialect::name);
    PossibleValuesParser::new(names).try_map(|name| {
        headwater_dialects::find(&name)
            .ok_or_else(|| CommandFailure::new(format!("unknown dialect `{name}`")))
    })
}

/// The same for dialects that can be decoded.
pub(crate) fn reader() -> impl TypedValueParser<Value = &'static dyn Reader> {
    let names = headwater_dialects::READERS.map(Dialect::name);
    PossibleValuesParser::new(names).try_map(|name| {
        headwater_dialects::reader(&name)
            .ok_or_else(|| CommandFailure::new(format!("unknown dialect `{name}`")))
    })
}

/// Parses the name of a framing.
pub(crate) fn framing() -> impl TypedValueParser<Value = Framing> {
    PossibleValuesParser::new(["sse", "ndjson"]).try_map(|name| name.parse::<Framing>())
}

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

impl Color {
    pub(crate) fn apply(self) {
        let choice = match self {
            Self::Auto => anstream::ColorChoice::Auto,
            Self::Always => anstream::ColorChoice::Always,
            Self::Never => anstream::ColorChoice::Never,
        };
        choice.write_global();
    }
}
