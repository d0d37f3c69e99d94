//! Errors for missing runs.

use std::error::Error as _;

use headwater_protocol::RunId;

use crate::{Error, error::ErrorKind};

/// Maps a missing journal to an unknown run.
pub(super) fn read_error(run: &RunId, error: headwater_store::Error) -> Error {
    match error.kind() {
        headwater_store::ErrorKind::Unknown => unknown_run(run),
        _ => error.into(),
    }
}

/// The same for a runtime error caused by the store.
pub(super) fn fold_error(run: &RunId, error: Error) -> Error {
    let cause = error.source().and_then(|source| source.downcast_ref::<headwater_store::Error>());
    match cause.map(headwater_store::Error::kind) {
        Some(headwater_store::ErrorKind::Unknown) => unknown_run(run),
        _ => error,
    }
}

pub(crate) fn unknown_run(run: &RunId) -> Error {
    Error::new(ErrorKind::UnknownRun, format!("there is no run {run}: it never was, or is no longer kept"))
}
