//! Logs on standard error, and spans to an OpenTelemetry collector.

use std::io::{self, IsTerminal};

use tracing::Subscriber;
use tracing_subscriber::{
    EnvFilter, Layer, fmt, layer::SubscriberExt as _, registry::LookupSpan, util::SubscriberInitExt as _,
};

use crate::{
    config::{LogFormat, ServerSettings},
    failure::CommandFailure,
};

/// Starts logging and, if configured, exporting. Must be called within the Tokio runtime.
pub(crate) fn begin(settings: &ServerSettings) -> Result<TelemetryExport, CommandFailure> {
    let filter = EnvFilter::try_new(filter(&settings.log_level)).map_err(|error| {
        CommandFailure::new(format!("`log.level`: invalid log filter `{}`: {error}", settings.log_level))
    })?;
    let exporting = TelemetryExport::new(settings)?;
    let begun = match exporting.layer() {
        // The log level does not apply to exported spans.
        Some(spans) => {
            tracing_subscriber::registry().with(spans).with(lines(settings).with_filter(filter)).try_init()
        }
        None => tracing_subscriber::registry().with(filter).with(lines(settings)).try_init(),
    };
    begun.map_err(|error| CommandFailure::new(format!("cannot start logging: {error}")))?;
    Ok(exporting)
}

/// The log filter. The MCP client library logs every connection in long lines at `info`, so only its warnings
/// are logged unless the setting names it. A setting that excludes warnings is not changed.
fn filter(level: &str) -> String {
    let general = level.split(',').map(str::trim).rfind(|part| !part.contains(['=', '[']));
    // A directive without a level is a module name, except for the level words.
    let quiet = general.is_none_or(|part| {
        let quieter = ["off", "error"].iter().any(|word| part.eq_ignore_ascii_case(word));
        quieter || matches!(part, "" | "0" | "1")
    });
    if quiet || level.contains("rmcp") { level.to_owned() } else { format!("{level},rmcp=warn") }
}

/// The layer that writes log lines.
fn lines<S>(settings: &ServerSettings) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    let colours =
        io::stderr().is_terminal() && anstream::ColorChoice::global() != anstream::ColorChoice::Never;
    match settings.log_format {
        LogFormat::Text => fmt::layer().with_writer(io::stderr).with_ansi(colours).boxed(),
        LogFormat::Json => fmt::layer().json().with_writer(io::stderr).boxed(),
    }
}

/// The exporter of spans and metrics, if one is configured.
#[cfg(feature = "otel")]
#[derive(Debug)]
pub(crate) struct TelemetryExport(Option<headwater_server::otel::Export>);

#[cfg(feature = "otel")]
impl TelemetryExport {
    fn new(settings: &ServerSettings) -> Result<Self, CommandFailure> {
        let disabled = std::env::var("OTEL_SDK_DISABLED").is_ok_and(|said| said.eq_ignore_ascii_case("true"));
        let Some(otel) = settings.otel.as_ref().filter(|_| !disabled) else { return Ok(Self(None)) };
        let export = headwater_server::otel::Export::new(&otel.endpoint, &otel.service);
        let export = export.map_err(|error| CommandFailure::new(format!("`otel.endpoint`: {error}")))?;
        Ok(Self(Some(export)))
    }

    fn layer<S>(&self) -> Option<impl Layer<S> + Send + Sync + use<S>>
    where
        S: Subscriber + for<'span> LookupSpan<'span> + Send + Sync,
    {
        self.0.as_ref().map(headwater_server::otel::Export::layer)
    }

    /// Sends the remaining spans and metrics.
    pub(crate) async fn close(self) {
        if let Some(export) = self.0
            && let Err(error) = export.close().await
        {
            tracing::warn!("{error}");
        }
    }
}

/// A build without the feature `otel` exports nothing.
#[cfg(not(feature = "otel"))]
#[derive(Debug)]
pub(crate) struct TelemetryExport;

#[cfg(not(feature = "otel"))]
impl TelemetryExport {
    #[expect(clippy::unnecessary_wraps, reason = "a build with the feature can fail")]
    fn new(_: &ServerSettings) -> Result<Self, CommandFailure> {
        Ok(Self)
    }

    #[expect(clippy::unused_self, reason = "a build with the feature uses it")]
    fn layer(&self) -> Option<tracing_subscriber::layer::Identity> {
        None
    }

    pub(crate) async fn close(self) {}
}

#[cfg(test)]
mod tests {
    use super::filter;

    #[test]
    fn filter_adds_warnings_of_rmcp_only_to_levels_that_log_warnings() {
        for level in ["info", "debug", "warn", "info,headwater_server=debug", "headwater_store=off,trace"] {
            assert_eq!(filter(level), format!("{level},rmcp=warn"));
        }
        for level in [
            "off",
            "error",
            "ERROR",
            "off,headwater_server=info",
            "headwater_server=debug",
            "error,headwater_server=debug",
            "info,rmcp=debug",
            "rmcp=trace",
            "",
        ] {
            assert_eq!(filter(level), level);
        }
    }
}
