//! `headwater store stats`: counts the contents of a store.

use std::{fs, io::Write, path::Path};

use headwater_store::{
    Time,
    survey::{Depth, Survey},
};
use serde_json::{Value, json};

use super::location::StoreLocation;
use crate::{
    failure::{CommandFailure, ExitVerdict},
    style,
};

pub(super) async fn stats(location: &StoreLocation, json: bool) -> Result<ExitVerdict, CommandFailure> {
    let store = location.open().await?;
    let survey = Survey::of(&*store, Depth::Counts)
        .await
        .map_err(|error| CommandFailure::new(format!("cannot read {location}: {error}")))?;
    let space = if location.is_folder() { Some(space_of(location.folder()?)?) } else { None };
    let mut out = style::stdout(json);
    if json {
        serde_json::to_writer_pretty(&mut out, &as_json(&survey, space))?;
        writeln!(out)?;
    } else {
        print(&mut out, &survey, space)?;
    }
    out.flush()?;
    Ok(ExitVerdict::at_fault_if(!survey.is_good()))
}

/// The total size of the files in a folder.
fn space_of(folder: &Path) -> Result<u64, CommandFailure> {
    let size =
        || -> std::io::Result<u64> { fs::read_dir(folder)?.map(|entry| Ok(entry?.metadata()?.len())).sum() };
    size().map_err(|error| CommandFailure::reading(&folder.display().to_string(), error))
}

fn print(out: &mut impl Write, survey: &Survey, space: Option<u64>) -> Result<(), CommandFailure> {
    let count = style::thousands;
    let journals = survey.journals;
    writeln!(
        out,
        "journals  {}: {} active, {} waiting, {} closed ({} kept forever)",
        count(journals.total()),
        count(journals.active),
        count(journals.waiting),
        count(journals.closed),
        count(journals.kept),
    )?;
    writeln!(
        out,
        "records   {}, {} bytes, {} in the largest journal",
        count(survey.records),
        count(survey.record_bytes),
        count(survey.largest_journal),
    )?;
    if let (Some(oldest), Some(newest)) = (survey.oldest, survey.newest) {
        writeln!(out, "          oldest {}, newest journal {}", date(oldest), date(newest))?;
    }
    for (kind, values) in &survey.values {
        let expiring = match values.expiring {
            0 => String::new(),
            expiring => format!(", {} expire", count(expiring)),
        };
        let bytes = count(values.bytes);
        writeln!(
            out,
            "values    {} of {}, {bytes} bytes{expiring}",
            count(values.count),
            style::printable(kind)
        )?;
    }
    if let Some(space) = space {
        writeln!(out, "space     {} bytes", count(space))?;
    }
    for problem in &survey.problems {
        writeln!(out, "damaged   {}", style::printable(problem))?;
    }
    Ok(())
}

fn as_json(survey: &Survey, space: Option<u64>) -> Value {
    let journals = survey.journals;
    let values = survey.values.iter().map(|(kind, values)| {
        let counts = json!({ "count": values.count, "bytes": values.bytes, "expiring": values.expiring });
        (kind.clone(), counts)
    });
    json!({
        "journals": {
            "total": journals.total(),
            "active": journals.active,
            "waiting": journals.waiting,
            "closed": journals.closed,
            "kept": journals.kept,
        },
        "records": survey.records,
        "recordBytes": survey.record_bytes,
        "largestJournal": survey.largest_journal,
        "oldest": survey.oldest.map(date),
        "newest": survey.newest.map(date),
        "values": values.collect::<serde_json::Map<_, _>>(),
        "space": space,
        "problems": survey.problems,
    })
}

fn date(time: Time) -> String {
    headwater_protocol::rfc3339(time.0)
}
