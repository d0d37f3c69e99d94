//! `headwater serve`: serves agents over HTTP.

use std::path::PathBuf;

use clap::Args;
use headwater_models::{
    ModelError, Models,
    http::{Retries, Timeouts, Transport},
};

use crate::{
    ProgramAgents,
    config::{ServerSettings, flags::Flags},
    failure::{CommandFailure, ExitVerdict},
    serve::{self, StudioPage},
    style,
};

/// Serve agents to chat pages, in every dialect.
///
/// Without AGENT it serves demo agents that need no key. Settings come from flags, from the environment
/// (HEADWATER_LISTEN and so on) and from `headwater.toml`, in this order; `headwater config` shows the
/// effective values.
#[derive(Debug, Args)]
pub(crate) struct ServeCommand {
    #[command(flatten)]
    flags: Flags,

    /// Record the traffic with model providers in files of this folder, without keys.
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,

    /// Replay recorded provider responses from this folder instead of calling providers; no key is needed.
    #[arg(long, value_name = "DIR", conflicts_with = "record")]
    replay: Option<PathBuf>,

    /// Open the page in the browser once the server is ready.
    #[arg(long)]
    open: bool,
}

impl ServeCommand {
    pub(crate) fn run(&self, agents: &ProgramAgents) -> Result<ExitVerdict, CommandFailure> {
        let layers = self.flags.layers()?;
        for warning in &layers.warnings {
            style::warning(warning);
        }
        let settings = ServerSettings::of(&layers)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .map_err(|error| CommandFailure::new(format!("cannot begin: {error}")))?;
        let page = if self.open { StudioPage::Open } else { StudioPage::Closed };
        runtime.block_on(async {
            let exporting = serve::logs::begin(&settings)?;
            let served = serve::serve(&settings, self.models(&settings)?, agents, None, page).await;
            exporting.close().await;
            served
        })?;
        Ok(ExitVerdict::Sound)
    }

    /// The registry of provider models: live, recording, or replaying.
    fn models(&self, settings: &ServerSettings) -> Result<Models, CommandFailure> {
        let failed = |error: ModelError| CommandFailure::new(error.to_string());
        let mut models = Models::new();
        // With default timeouts the registry builds its own HTTP client on first use.
        if settings.model_timeouts != Timeouts::default() {
            let transport = Transport::with(settings.model_timeouts, Retries::default());
            models = models.transport(transport.map_err(failed)?);
        }
        let models = match (&self.record, &self.replay) {
            (Some(folder), _) => models.recording(folder),
            (None, Some(folder)) => models.playing(folder, false),
            (None, None) => Ok(models),
        };
        models.map_err(failed)
    }
}
