//! `headwater store`: checks, counts, copies and backs up stores, and deletes single runs.

mod backup;
mod check;
mod compact;
mod copy;
mod delete;
mod location;
mod stats;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::failure::{CommandFailure, ExitVerdict};
pub(super) use location::StoreLocation;

/// Check a store, count its contents, copy or back it up, free its space, or delete a run.
///
/// STORE is a folder, or a URL as in the setting `store`; default: the store of the settings. Stop the server
/// before working on its folder; only `backup`, and `copy` from it, work while it runs.
#[derive(Debug, Args)]
pub(crate) struct StoreCommand {
    #[command(subcommand)]
    action: StoreAction,
}

#[derive(Debug, Subcommand)]
enum StoreAction {
    /// Read the whole store without changing it and report damage; the exit code is 1 if there is any.
    Check {
        /// The store: a folder or a URL.
        store: Option<StoreLocation>,
    },
    /// Count the runs, records and values in a store.
    Stats {
        /// The store: a folder or a URL.
        store: Option<StoreLocation>,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    Copy(copy::CopyArgs),
    /// Copy the folder of a store into a new or empty one and check the copy. The server may run meanwhile.
    Backup {
        /// The new or empty folder.
        to: PathBuf,
        /// The store: a folder.
        store: Option<StoreLocation>,
    },
    /// Check a backup and copy it into a new or empty folder, for a server to start with.
    Restore {
        /// The folder of the backup.
        from: PathBuf,
        /// The new or empty folder: `DATA/store` of a server with `--data DATA`.
        to: PathBuf,
    },
    /// Free the space of deleted and expired runs at once. A running server does so by itself.
    Compact {
        /// The store: a folder.
        store: Option<StoreLocation>,
    },
    /// Delete the journal and the values of a run, even if they cannot be read.
    DeleteRun {
        /// The id of the run.
        run: String,
        /// The store: a folder.
        store: Option<StoreLocation>,
    },
}

impl StoreCommand {
    pub(crate) fn run(&self) -> Result<ExitVerdict, CommandFailure> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .map_err(|error| CommandFailure::new(format!("cannot begin: {error}")))?;
        runtime.block_on(async {
            match &self.action {
                StoreAction::Check { store } => {
                    check::check(&StoreLocation::or_settings(store.as_ref())?).await
                }
                StoreAction::Stats { store, json } => {
                    stats::stats(&StoreLocation::or_settings(store.as_ref())?, *json).await
                }
                StoreAction::Copy(copy) => copy.run().await,
                StoreAction::Backup { to, store } => {
                    backup::backup(StoreLocation::or_settings(store.as_ref())?.folder()?, to)
                }
                StoreAction::Restore { from, to } => backup::restore(from, to),
                StoreAction::Compact { store } => {
                    compact::compact(StoreLocation::or_settings(store.as_ref())?.folder()?)
                }
                StoreAction::DeleteRun { run, store } => {
                    let store = StoreLocation::or_settings(store.as_ref())?;
                    delete::delete_run(run, store.folder()?).await
                }
            }
        })
    }
}
