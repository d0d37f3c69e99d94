//! Logs, on standard error.

use std::io::{self, IsTerminal};

use tracing_subscriber::{EnvFilter, fmt, layer::SubscriberExt as _, util::SubscriberInitExt as _};

use crate::{
    config::{LogFormat, Settings},
    failure::Failure,
};

/// Begins to log as the settings say.
pub(crate) fn begin(settings: &Settings) -> Result<(), Failure> {
    let filter = EnvFilter::try_new(&settings.log_level).map_err(|error| {
        Failure::new(format!("`log.level`: `{}` is not a filter of logs: {error}", settings.log_level))
    })?;
    let logs = tracing_subscriber::registry().with(filter);
    let colours =
        io::stderr().is_terminal() && anstream::ColorChoice::global() != anstream::ColorChoice::Never;
    let begun = match settings.log_format {
        LogFormat::Text => logs.with(fmt::layer().with_writer(io::stderr).with_ansi(colours)).try_init(),
        LogFormat::Json => logs.with(fmt::layer().json().with_writer(io::stderr)).try_init(),
    };
    begun.map_err(|error| Failure::new(format!("cannot begin to log: {error}")))
}
