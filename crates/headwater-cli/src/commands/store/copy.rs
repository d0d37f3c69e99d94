//! `headwater store copy`: copies runs and sessions to another store.

use std::{
    io::Write as _,
    sync::Mutex,
    time::{Duration, Instant},
};

use clap::Args;
use headwater_store::copy::{CopyCounts, CopyOptions, CopyProgress, CopyReport, copy};
use serde_json::{Value, json};

use super::location::{ReadableStore, StoreLocation};
use crate::{
    failure::{CommandFailure, ExitVerdict},
    style,
};

/// Copy all runs, sessions and other values to another store, and read them back to compare.
///
/// Cursors and tokens held by clients stay valid. The source may be in use by a server, but changes made during
/// the copy are missing until you copy again with --update; of a folder in use a backup is made in the folder for
/// temporary files, and copied. To move with little downtime, copy while the server runs, stop it, copy with
/// --update, and start it on the target. The exit code is 1 if something could not be copied.
#[derive(Debug, Args)]
pub(crate) struct CopyArgs {
    /// The store to read: a folder or a URL.
    from: StoreLocation,
    /// The store to write, which must be empty: a folder or a URL.
    to: StoreLocation,
    /// Update an earlier copy: copy what has changed and delete what the source no longer has.
    #[arg(long)]
    update: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

impl CopyArgs {
    pub(super) async fn run(&self) -> Result<ExitVerdict, CommandFailure> {
        let Self { from, to, .. } = self;
        if from.is_same(to) {
            return Err(CommandFailure::new(format!(
                "cannot copy {from} into itself: give another store to write"
            )));
        }
        // Dropped in reverse order: the store before the folder that it is in.
        let ReadableStore { backup, store: source } = from.open_to_read().await?;
        if let Some(backup) = &backup {
            let place = backup.folder.display();
            style::note(&format!(
                "{from} is in use by a server: copying a backup made now in {place}; copy again with --update when the \
                 server is stopped"
            ));
        }
        let target = to.open_or_begin().await?;
        let options = CopyOptions { update: self.update, ..CopyOptions::default() };
        let shown = Mutex::new(Instant::now());
        let report = copy(&*source, &*target, &options, |progress| show(&shown, progress))
            .await
            .map_err(|error| CommandFailure::new(format!("cannot copy {from} to {to}: {error}")))?;
        let mut out = style::stdout(self.json);
        if self.json {
            serde_json::to_writer_pretty(&mut out, &as_json(&report))?;
            writeln!(out)?;
        } else {
            self.print(&mut out, &report)?;
        }
        out.flush()?;
        Ok(ExitVerdict::at_fault_if(!report.is_good()))
    }

    fn print(&self, out: &mut impl std::io::Write, report: &CopyReport) -> Result<(), CommandFailure> {
        let records = style::count(report.records, "record");
        writeln!(out, "journals  {}, with {records}", counts(&report.journals))?;
        writeln!(out, "values    {}", counts(&report.values))?;
        let bytes = style::thousands(report.bytes);
        writeln!(out, "copied    {bytes} bytes, read back and compared; digest {}", report.digest)?;
        for problem in &report.problems {
            writeln!(out, "failed    {}", style::printable(&problem.to_string()))?;
        }
        let failed = report.journals.failed + report.values.failed;
        let left = failed - report.problems.len() as u64;
        if left > 0 {
            writeln!(out, "          and {} more", style::thousands(left))?;
        }
        if report.active > 0 {
            let runs = style::count(report.active, "run");
            writeln!(
                out,
                "active    {runs} had a driver: if a server still uses {}, stop it and copy with --update",
                self.from
            )?;
        }
        Ok(())
    }
}

/// How often a long copy reports its progress.
const SHOWN_EVERY: Duration = Duration::from_secs(2);

fn show(shown: &Mutex<Instant>, progress: CopyProgress) {
    let Ok(mut last) = shown.lock() else { return };
    if last.elapsed() < SHOWN_EVERY {
        return;
    }
    *last = Instant::now();
    let count = style::thousands;
    let CopyProgress { journals, journals_total, values, bytes } = progress;
    let of_all = format!("{} of {} journals", count(journals), count(journals_total));
    style::note(&format!("{of_all}, {}, {} MiB copied", style::count(values, "value"), count(bytes >> 20)));
}

fn counts(counts: &CopyCounts) -> String {
    let mut text = format!("{} copied", style::thousands(counts.copied));
    for (number, what) in
        [(counts.unchanged, "unchanged"), (counts.removed, "removed"), (counts.failed, "failed")]
    {
        if number > 0 {
            text.push_str(&format!(", {} {what}", style::thousands(number)));
        }
    }
    text
}

fn as_json(report: &CopyReport) -> Value {
    let counts = |counts: &CopyCounts| {
        json!({
            "copied": counts.copied,
            "unchanged": counts.unchanged,
            "removed": counts.removed,
            "failed": counts.failed,
        })
    };
    let problems = report
        .problems
        .iter()
        .map(|problem| json!({ "what": problem.what, "code": problem.code, "message": problem.message }));
    json!({
        "journals": counts(&report.journals),
        "values": counts(&report.values),
        "records": report.records,
        "bytes": report.bytes,
        "active": report.active,
        "digest": report.digest.to_string(),
        "problems": problems.collect::<Vec<_>>(),
    })
}
