//! `headwater store compact`: frees what deleted and expired data takes.

use std::{io::Write as _, path::Path, sync::Arc};

use headwater_store::embedded::{Folder, compact as compact_files};

use crate::{
    failure::{CommandFailure, ExitVerdict},
    style,
};

pub(super) fn compact(folder: &Path) -> Result<ExitVerdict, CommandFailure> {
    let files =
        Folder::new(folder).map_err(|error| CommandFailure::reading(&folder.display().to_string(), error))?;
    let swept = compact_files(Arc::new(files)).map_err(|error| CommandFailure::of_folder(folder, &error))?;
    let mut out = style::stdout(false);
    writeln!(
        out,
        "freed {} bytes; {} and {} had expired",
        style::thousands(swept.bytes),
        style::count(swept.journals, "journal"),
        style::count(swept.values, "value"),
    )?;
    out.flush()?;
    Ok(ExitVerdict::Sound)
}
