//! `headwater runs export`.

use std::path::PathBuf;

use clap::Args;
use headwater_dialects::Dialect;
use headwater_protocol::Framing;

use crate::{
    args,
    commands::remote::NewDocument,
    failure::{CommandFailure, ExitVerdict},
    server_args::{ServerArgs, block_on},
};

/// Write the stream of a run to a file, for inspect, convert and reduce.
///
/// A run that is active is written until it ends or waits.
#[derive(Debug, Args)]
pub(super) struct ExportRun {
    /// The id of the run.
    run: String,

    /// The dialect of the stream.
    #[arg(long, short, value_name = "DIALECT", default_value = "native", value_parser = args::dialect())]
    dialect: &'static dyn Dialect,

    /// The framing of the stream. Default: that of the dialect.
    #[arg(long, value_name = "FRAMING", value_parser = args::framing())]
    framing: Option<Framing>,

    /// A new file to write. Default: standard output.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    server: ServerArgs,
}

impl ExportRun {
    pub(super) fn run(&self) -> Result<ExitVerdict, CommandFailure> {
        let usual = self.dialect.default_profile().framings.first().copied();
        let framing = self.framing.or(usual).unwrap_or(Framing::Sse);
        block_on(async {
            let run = self.server.client().run(&self.run);
            let mut body = run.export(self.dialect.name(), framing).await?;
            let mut document = NewDocument::create(self.output.as_deref())?;
            while let Some(bytes) = body.next().await? {
                document.write(&bytes)?;
            }
            document.finish()
        })?;
        Ok(ExitVerdict::Sound)
    }
}
