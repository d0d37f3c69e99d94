//! Whether the store can be read and written.

use std::{
    fs::{self, File},
    io,
    path::Path,
    sync::Arc,
    time::Duration,
};

use headwater_store::{
    ErrorKind,
    embedded::{Folder, check as check_files},
};

use super::CheckResult;
use crate::{
    config::{ServerSettings, StoreUrl},
    serve::store::{LONGEST_REQUEST, ServerProcess, connect},
};

/// A store of more bytes is not read: `store check` does that.
const LARGE: u64 = 1 << 30;

/// How long a database may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) async fn check(settings: &ServerSettings) -> CheckResult {
    match &settings.store {
        StoreUrl::Memory(_) => CheckResult::warning(
            "store",
            "in memory: runs are lost when the server stops; `store = \"file:FOLDER\"` keeps them",
        ),
        StoreUrl::File(folder) => check_folder(settings, folder),
        shared => match tokio::time::timeout(PATIENCE, connect(shared, LONGEST_REQUEST)).await {
            Ok(Ok(_)) => CheckResult::good("store", format!("{shared} answers")),
            Ok(Err(failure)) => CheckResult::wrong("store", failure.to_string()),
            Err(_) => CheckResult::wrong(
                "store",
                format!(
                    "{shared} does not answer within {} s: is it running and reachable?",
                    PATIENCE.as_secs()
                ),
            ),
        },
    }
}

fn check_folder(settings: &ServerSettings, folder: &Path) -> CheckResult {
    let shown = folder.display();
    // The store creates the folders that are missing.
    let existing = folder.ancestors().find(|path| path.exists() || path.as_os_str().is_empty());
    let existing = existing.filter(|path| !path.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if let Err(error) = try_write(existing) {
        let message = format!(
            "cannot write to {}: {error}; set `data` or `store` to another folder",
            existing.display()
        );
        return CheckResult::wrong("store", message);
    }
    if existing != folder {
        return CheckResult::good("store", format!("{shown} will be created"));
    }
    let size = size(folder);
    if size > LARGE {
        let message = format!("{shown} has {} GiB: `headwater store check` reads it", size >> 30);
        return CheckResult::good("store", message);
    }
    let checked = Folder::unchanged(folder).map_err(|error| error.to_string());
    match checked.map(|files| check_files(Arc::new(files))) {
        Ok(Ok(report)) if report.is_good() => CheckResult::good("store", format!("{shown} is undamaged")),
        Ok(Ok(_)) => CheckResult::wrong(
            "store",
            format!("{shown} is damaged: `headwater store check {shown}` lists what"),
        ),
        Ok(Err(error)) if *error.kind() == ErrorKind::Locked => {
            let who = ServerProcess::read(&settings.data).map_or_else(
                || "another process".to_owned(),
                |serving| format!("process {}, which listens on {}", serving.pid, serving.address),
            );
            CheckResult::good("store", format!("{shown} is in use by {who}"))
        }
        Ok(Err(error)) => CheckResult::wrong("store", format!("cannot read {shown}: {error}")),
        Err(error) => CheckResult::wrong("store", format!("cannot read {shown}: {error}")),
    }
}

fn size(folder: &Path) -> u64 {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    entries.filter_map(|entry| Some(entry.metadata().ok()?.len())).sum()
}

/// Creates a file in the folder and removes it.
fn try_write(folder: &Path) -> io::Result<()> {
    let path = folder.join(format!(".headwater-doctor-{}", std::process::id()));
    File::create_new(&path)?;
    fs::remove_file(&path)
}
