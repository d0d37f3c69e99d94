//! `headwater store`: checks, counts and copies stores, and deletes single runs.

mod check;
mod copy;
mod delete;
mod location;
mod stats;

use clap::{Args, Subcommand};

use crate::failure::{Failure, Verdict};
use location::Location;

/// Check a store, count its contents, copy it to another store, or delete a run.
///
/// STORE is a folder, or a URL as in the setting `store`; default: the store of the settings. Stop the server
/// before working on its folder.
#[derive(Debug, Args)]
pub(crate) struct StoreCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Read the whole store without changing it and report damage; the exit code is 1 if there is any.
    Check {
        /// The store: a folder or a URL.
        store: Option<Location>,
    },
    /// Count the runs, records and values in a store.
    Stats {
        /// The store: a folder or a URL.
        store: Option<Location>,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    Copy(copy::Copy),
    /// Delete the journal and the values of a run, even if they cannot be read.
    DeleteRun {
        /// The id of the run.
        run: String,
        /// The store: a folder.
        store: Option<Location>,
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
                Action::Check { store } => check::check(&Location::or_settings(store.as_ref())?).await,
                Action::Stats { store, json } => {
                    stats::stats(&Location::or_settings(store.as_ref())?, *json).await
                }
                Action::Copy(copy) => copy.run().await,
                Action::DeleteRun { run, store } => {
                    let store = Location::or_settings(store.as_ref())?;
                    delete::delete_run(run, store.folder()?).await
                }
            }
        })
    }
}
