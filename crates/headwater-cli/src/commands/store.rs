//! `headwater store`: looks at the folder of a store that no server uses, and removes a run from it.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::{Args, Subcommand};
use headwater_store::{
    Embedded, ErrorKind, Expect, Store,
    embedded::{Folder, check},
};
use serde::Deserialize;

use crate::{
    config::{Layers, Settings, StoreUrl},
    failure::{Failure, Verdict},
    style,
};

/// Check the folder of a store, and remove a run from it.
///
/// The server that uses the folder must be stopped. Without FOLDER it is the one of the settings.
#[derive(Debug, Args)]
pub(crate) struct StoreCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Read every byte of a store, change nothing, and name what is damaged; the exit code is 1 then.
    Check {
        /// The folder of the store.
        folder: Option<PathBuf>,
    },
    /// Remove the journal and the values of a run, whether or not they can be read.
    DeleteRun {
        /// The id of the run.
        run: String,
        /// The folder of the store.
        folder: Option<PathBuf>,
    },
}

impl StoreCommand {
    pub(crate) fn run(&self) -> Result<Verdict, Failure> {
        match &self.action {
            Action::Check { folder } => check_folder(&existing(folder.as_deref())?),
            Action::DeleteRun { run, folder } => {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .build()
                    .map_err(|error| Failure::new(format!("cannot begin: {error}")))?;
                runtime.block_on(delete_run(run, &existing(folder.as_deref())?))
            }
        }
    }
}

/// The folder that is named, or that of the settings. It must be there: a command that looks at a store begins none.
fn existing(folder: Option<&Path>) -> Result<PathBuf, Failure> {
    let folder = match folder {
        Some(folder) => folder.to_owned(),
        None => {
            let environment = std::env::vars_os()
                .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
            let settings = Settings::of(&Layers::gather(Vec::new(), environment, None)?)?;
            match settings.store {
                StoreUrl::File(folder) => folder,
                other => {
                    let message = format!("the settings keep runs in {other}: name the folder of a store");
                    return Err(Failure::new(message));
                }
            }
        }
    };
    if folder.is_dir() {
        Ok(folder)
    } else {
        Err(Failure::new(format!("cannot read {}: there is no such folder", folder.display())))
    }
}

fn failed(folder: &Path, error: &headwater_store::Error) -> Failure {
    match error.kind() {
        ErrorKind::Locked => {
            Failure::new(format!("the store in {} is in use: stop its server first", folder.display()))
        }
        _ => Failure::new(format!("cannot read the store in {}: {error}", folder.display())),
    }
}

fn check_folder(folder: &Path) -> Result<Verdict, Failure> {
    let files =
        Folder::unchanged(folder).map_err(|error| Failure::reading(&folder.display().to_string(), error))?;
    let report = check(Arc::new(files)).map_err(|error| failed(folder, &error))?;
    let mut out = style::stdout(false);
    writeln!(out, "{}", style::printable(&report.to_string()))?;
    out.flush()?;
    Ok(Verdict::at_fault_if(!report.is_good()))
}

/// How many values are looked at in one go.
const PAGE: usize = 16;

/// Values that belong to a run name it.
#[derive(Deserialize)]
struct OfRun {
    run: String,
}

async fn delete_run(run: &str, folder: &Path) -> Result<Verdict, Failure> {
    let store = Embedded::open(folder).map_err(|error| failed(folder, &error))?;
    let failed = |error: headwater_store::Error| failed(folder, &error);
    let journal = run.into();
    let there = store.info(&journal).await.map_err(failed)?.is_some();
    let (mut removed, mut damaged) = (0_u64, 0_u64);
    let mut after: Option<String> = None;
    loop {
        let page = store.list("", after.as_deref(), PAGE).await.map_err(failed)?;
        for (key, value) in &page {
            let named = key.split('/').any(|part| part == run);
            // Nothing but the name of its run is looked for, so what cannot be read otherwise does not matter.
            let of_run = || serde_json::from_slice::<OfRun>(&value.bytes).is_ok_and(|value| value.run == run);
            if named || of_run() {
                store.remove(key, Expect::Any).await.map_err(failed)?;
                removed += 1;
            } else if value.damaged {
                damaged += 1;
            }
        }
        match page.last() {
            Some((key, _)) => after = Some(key.clone()),
            None => break,
        }
    }
    // After the values: a command that was interrupted still finds the run when it is repeated.
    store.delete(&journal).await.map_err(failed)?;
    store.flush().await.map_err(failed)?;
    let mut out = style::stdout(false);
    if !there && removed == 0 {
        writeln!(out, "there is no run {} in {}", style::printable(run), folder.display())?;
        out.flush()?;
        return Ok(Verdict::AtFault);
    }
    writeln!(out, "removed run {}: its journal and {removed} values", style::printable(run))?;
    if damaged > 0 {
        writeln!(
            out,
            "kept {damaged} damaged values that may belong to any run: `headwater store check` names them"
        )?;
    }
    out.flush()?;
    Ok(Verdict::Sound)
}
