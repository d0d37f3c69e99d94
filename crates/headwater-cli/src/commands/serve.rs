//! `headwater serve`: serves agents over HTTP.

use clap::Args;

use crate::{
    Agents,
    config::{Settings, flags::Flags},
    failure::{Failure, Verdict},
    serve, style,
};

/// Serve agents to chat pages, in every dialect.
///
/// Without AGENT it serves demo agents that need no key. Settings come from flags, from the environment (HEADWATER_LISTEN
/// and the like) and from `headwater.toml`, in this order; `headwater config` shows what is in force.
#[derive(Debug, Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    flags: Flags,
}

impl Serve {
    pub(crate) fn run(&self, agents: &Agents) -> Result<Verdict, Failure> {
        let layers = self.flags.layers()?;
        for warning in &layers.warnings {
            style::warning(warning);
        }
        let settings = Settings::of(&layers)?;
        serve::logs::begin(&settings)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .map_err(|error| Failure::new(format!("cannot begin: {error}")))?;
        runtime.block_on(serve::serve(settings, agents))?;
        Ok(Verdict::Sound)
    }
}
