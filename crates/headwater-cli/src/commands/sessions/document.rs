//! `headwater sessions export` and `import`.

use std::path::PathBuf;

use clap::Args;
use serde_json::Value;

use super::show::write;
use crate::{
    commands::remote::{NewDocument, RemoteArgs},
    failure::{CommandFailure, ExitVerdict},
    input::read_document,
    server_args::{ServerArgs, block_on},
};

/// Write a session as a JSON document, with all its turns.
#[derive(Debug, Args)]
pub(super) struct ExportSession {
    /// The id of the session.
    session: String,

    /// A new file to write. Default: standard output.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    server: ServerArgs,
}

impl ExportSession {
    pub(super) fn run(&self) -> Result<ExitVerdict, CommandFailure> {
        let session = self.server.client().session(&self.session);
        let exported = block_on(async { Ok(session.export().await?) })?;
        let mut document = NewDocument::create(self.output.as_deref())?;
        document.write(&serde_json::to_vec_pretty(&exported)?)?;
        document.write(b"\n")?;
        document.finish()?;
        Ok(ExitVerdict::Sound)
    }
}

/// Create a session from the document of an export, under a new id.
#[derive(Debug, Args)]
pub(super) struct ImportSession {
    /// The document. Default: standard input, also `-`.
    file: Option<PathBuf>,

    #[command(flatten)]
    remote: RemoteArgs,
}

impl ImportSession {
    pub(super) fn run(&self) -> Result<ExitVerdict, CommandFailure> {
        let bytes = read_document(self.file.as_deref())?;
        let document: Value = serde_json::from_slice(&bytes).map_err(|error| {
            let name = self.file.as_ref().map_or("standard input".into(), |file| file.display().to_string());
            CommandFailure::new(format!("{name} is not the JSON document of an export: {error}"))
        })?;
        let client = self.remote.client();
        self.remote.print(async { Ok(client.import_session(&document).await?) }, write)
    }
}
