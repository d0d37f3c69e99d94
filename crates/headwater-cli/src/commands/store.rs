//! `headwater store`: looks at a store, copies it into another, and removes a run from one.

mod check;
mod copy;
mod delete;
mod location;
mod stats;

use clap::{Args, Subcommand};

use crate::failure::{Failure, Verdict};
use location::Location;

/// Check a store, count what is in it, copy it into another, and remove a run from it.
///
/// STORE is a folder, or what the setting `store` takes; without it, it is that of the settings. The server that uses a
/// folder must be stopped.
#[derive(Debug, Args)]
pub(crate) struct StoreCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Read all of a store, change nothing, and name what is damaged; the exit code is 1 then.
    Check {
        /// The store: a folder or a URL.
        store: Option<Location>,
    },
    /// Count the runs, records and values of a store.
    Stats {
        /// The store: a folder or a URL.
        store: Option<Location>,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    Copy(copy::Copy),
    /// Remove the journal and the values of a run, whether or not they can be read.
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
