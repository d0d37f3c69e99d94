//! `headwater store check`: reads everything and reports damage.

use std::{io::Write as _, path::Path, sync::Arc};

use headwater_store::{
    embedded::{Folder, check as check_files},
    survey::{Depth, Survey},
};

use super::location::StoreLocation;
use crate::{
    failure::{CommandFailure, ExitVerdict},
    style,
};

pub(super) async fn check(location: &StoreLocation) -> Result<ExitVerdict, CommandFailure> {
    if location.is_folder() { check_folder(location.folder()?) } else { check_any(location).await }
}

/// Reads every byte of the files, including data that the store no longer exposes.
fn check_folder(folder: &Path) -> Result<ExitVerdict, CommandFailure> {
    let files = Folder::unchanged(folder)
        .map_err(|error| CommandFailure::reading(&folder.display().to_string(), error))?;
    let report = check_files(Arc::new(files)).map_err(|error| CommandFailure::of_folder(folder, &error))?;
    let mut out = style::stdout(false);
    writeln!(out, "{}", style::printable(&report.to_string()))?;
    out.flush()?;
    Ok(ExitVerdict::at_fault_if(!report.is_good()))
}

/// Reads every journal and value through the store, as a server does.
async fn check_any(location: &StoreLocation) -> Result<ExitVerdict, CommandFailure> {
    let store = location.open().await?;
    let survey = Survey::of(&*store, Depth::Everything)
        .await
        .map_err(|error| CommandFailure::new(format!("cannot read {location}: {error}")))?;
    let mut out = style::stdout(false);
    let values = survey.values.values().map(|values| values.count).sum();
    writeln!(
        out,
        "{} with {}, {}",
        style::count(survey.journals.total(), "journal"),
        style::count(survey.records, "record"),
        style::count(values, "value"),
    )?;
    for problem in &survey.problems {
        writeln!(out, "damaged: {}", style::printable(problem))?;
    }
    let left = survey.faults - survey.problems.len() as u64;
    if left > 0 {
        writeln!(out, "and {} more", style::thousands(left))?;
    }
    writeln!(out, "{}", if survey.is_good() { "good" } else { "damaged: restore the store from a copy" })?;
    out.flush()?;
    Ok(ExitVerdict::at_fault_if(!survey.is_good()))
}
