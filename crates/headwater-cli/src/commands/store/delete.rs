//! `headwater store delete-run`: deletes a run, even if it cannot be read.

use std::{io::Write as _, path::Path};

use headwater_store::{Embedded, Expect, Store as _, ValuePages};
use serde::Deserialize;

use crate::{
    failure::{CommandFailure, ExitVerdict},
    style,
};

/// The number of values read per request.
const PAGE: usize = 16;

/// The one field of a value that links it to its run.
#[derive(Deserialize)]
struct OfRun {
    run: String,
}

pub(super) async fn delete_run(run: &str, folder: &Path) -> Result<ExitVerdict, CommandFailure> {
    let store = Embedded::open(folder).map_err(|error| CommandFailure::of_folder(folder, &error))?;
    let failed = |error: headwater_store::Error| CommandFailure::of_folder(folder, &error);
    let journal = run.into();
    let there = store.info(&journal).await.map_err(failed)?.is_some();
    let (mut removed, mut damaged) = (0_u64, 0_u64);
    let mut pages = ValuePages::new(&store, "").size(PAGE);
    while let Some(page) = pages.next().await.map_err(failed)? {
        for (key, value) in &page {
            let named = key.split('/').any(|part| part == run);
            // Only the run's name is parsed, so values with other damage are still found.
            let of_run = || serde_json::from_slice::<OfRun>(&value.bytes).is_ok_and(|value| value.run == run);
            if named || of_run() {
                store.remove(key, Expect::Any).await.map_err(failed)?;
                removed += 1;
            } else if value.damaged {
                damaged += 1;
            }
        }
    }
    // The journal goes last, so that an interrupted command finds the run when it is repeated.
    store.delete(&journal).await.map_err(failed)?;
    store.flush().await.map_err(failed)?;
    let mut out = style::stdout(false);
    if !there && removed == 0 {
        writeln!(out, "there is no run {} in {}", style::printable(run), folder.display())?;
        out.flush()?;
        return Ok(ExitVerdict::AtFault);
    }
    writeln!(out, "removed run {}: its journal and {removed} values", style::printable(run))?;
    if damaged > 0 {
        writeln!(
            out,
            "kept {damaged} damaged values that may belong to any run: `headwater store check` names them"
        )?;
    }
    out.flush()?;
    Ok(ExitVerdict::Sound)
}
