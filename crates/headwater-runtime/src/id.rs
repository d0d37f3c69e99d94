//! Ids that sort by time: a prefix and a UUID of version 7, as `run_01932c07209f7c4a9b1e4c1fd3a5e0b2`.

use std::time::{SystemTime, UNIX_EPOCH};

use headwater_protocol::RunId;
use uuid::{Builder, Uuid};

use crate::{Error, Result, error::ErrorKind};

/// A new id. It sorts after those made in an earlier millisecond, and its 74 random bits cannot be guessed.
///
/// # Errors
/// When the system has no random bytes.
pub fn fresh_id(prefix: &str) -> Result<String> {
    let mut random = [0; 10];
    getrandom::fill(&mut random)
        .map_err(|error| Error::new(ErrorKind::Hook, format!("no random bytes for an id: {error}")))?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(write(prefix, u64::try_from(now.as_millis()).unwrap_or(u64::MAX), &random))
}

/// A new run.
pub(crate) fn fresh_run() -> Result<RunId> {
    fresh_id("run").map(Into::into)
}

/// An id derived from content of a run, equal for equal content. It sorts by the time in the id of the run; a
/// run id chosen by its client has no time, and counts as the oldest.
pub(crate) fn derived_id(prefix: &str, run: &RunId, content: &[u8; 10]) -> String {
    write(prefix, time_of(run.as_str()).unwrap_or(0), content)
}

fn write(prefix: &str, milliseconds: u64, random: &[u8; 10]) -> String {
    let uuid = Builder::from_unix_timestamp_millis(milliseconds, random).into_uuid();
    format!("{prefix}_{}", uuid.simple())
}

/// The time in an id of this form, in milliseconds since 1970.
fn time_of(id: &str) -> Option<u64> {
    let (_, uuid) = id.rsplit_once('_')?;
    let uuid = Uuid::try_parse(uuid).ok().filter(|uuid| uuid.get_version_num() == 7)?;
    u64::try_from(uuid.as_u128() >> 80).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_by_the_time_in_them() {
        let (low, high) = ([0; 10], [255; 10]);
        let times = [0, 1, 1_763_380_000_000, 1_763_380_000_001, (1 << 48) - 1];
        let ids: Vec<_> = times.iter().map(|time| write("run", *time, &high)).collect();
        assert!(ids.is_sorted());
        for (id, time) in ids.iter().zip(times) {
            assert_eq!(time_of(id), Some(time), "{id}");
        }
        assert!(write("run", 7, &high) < write("run", 8, &low));
    }

    #[test]
    fn derived_ids_sort_with_their_runs() {
        let (old, new) = (RunId::from(write("run", 7, &[1; 10])), RunId::from(write("run", 8, &[0; 10])));
        assert!(derived_id("req", &old, &[9; 10]) < derived_id("req", &new, &[0; 10]));
        assert_eq!(derived_id("req", &old, &[9; 10]), derived_id("req", &old, &[9; 10]));
        assert!(derived_id("req", &"mine".into(), &[9; 10]) < derived_id("req", &old, &[0; 10]));
    }

    #[test]
    fn fresh_ids_are_all_different() {
        let mut ids: Vec<_> = (0..1_000).map(|_| fresh_id("run").unwrap()).collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), 1_000);
    }
}
