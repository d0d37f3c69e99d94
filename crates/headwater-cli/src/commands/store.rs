//! `headwater store`: checks, counts and copies stores, and deletes single runs.

mod check;
mod copy;
mod delete;
mod location;
mod stats;

use clap::{Args, Subcommand};

use crate::failure::{Failure, Verdict};
use location::StoreLocation;

/// Check a store, count its contents, copy it to another store, or delete a run.
///
/// STORE is a folder, or a URL as in the setting `store`; default: the store of the settings. Stop the server
/// before working on its folder.
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
    /// Delete the journal and the values of a run, even if they cannot be read.
    DeleteRun {
        /// The id of the run.
        run: String,
        /// The store: a folder.
        store: Option<StoreLocation>,
    },
}

impl StoreCommand {
    pub(crate) fn run(&self) -> Result<Verdict, Failure> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .map_err(|error| Failure::new(format!("cannot begin: {error}")))?;
        runtime.block_on(async {
            match &self.action {
                StoreAction::Check { store } => {
                    check::check(&StoreLocation::or_settings(store.as_ref())?).await
                }
                StoreAction::Stats { store, json } => {
                    stats::stats(&StoreLocation::or_settings(store.as_ref())?, *json).await
                }
                StoreAction::Copy(copy) => copy.run().await,
                StoreAction::DeleteRun { run, store } => {
                    let store = StoreLocation::or_settings(store.as_ref())?;
                    delete::delete_run(run, store.folder()?).await
                }
            }
        })
    }
}
