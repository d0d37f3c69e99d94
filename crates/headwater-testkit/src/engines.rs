//! Real Redis and Postgres servers for tests, each in a temporary folder on a free port.
//!
//! A server is killed when it is dropped, and also when the test process dies without dropping it. As root it
//! runs as the user `nobody`, because Postgres refuses to run as root.
//!
//! If one of the programs is not installed, set `HEADWATER_WITHOUT` to `redis`, `postgres` or both, separated
//! by commas. `start` then prints that the test is skipped and returns `None`:
//!
//! ```no_run
//! use headwater_testkit::engines::RedisServer;
//!
//! let Some(mut redis) = RedisServer::start() else { return };
//! let url = redis.url();
//! redis.restart(); // the same URL, and what its append-only file has
//! ```

mod certificates;
mod folder;
mod pgbouncer;
mod postgres;
mod process;
mod redis;
mod resp;
mod small_disk;

pub use self::{
    pgbouncer::PgBouncer,
    postgres::{PostgresOptions, PostgresServer},
    redis::{RedisOptions, RedisServer},
    small_disk::SmallDisk,
};

use std::env;

/// Environment variable that names missing programs.
const WITHOUT: &str = "HEADWATER_WITHOUT";

/// Whether `HEADWATER_WITHOUT` names an engine, so that its tests are skipped. Prints a note in that case.
#[allow(clippy::print_stdout, reason = "the test output must show why a test was skipped")]
#[must_use]
pub fn left_out(part: &str) -> bool {
    let left_out = env::var(WITHOUT).is_ok_and(|parts| names(&parts, part));
    if left_out {
        println!("skipped: {WITHOUT} names {part}");
    }
    left_out
}

/// Whether a comma-separated list contains a name.
fn names(list: &str, name: &str) -> bool {
    list.split(',').any(|item| item.trim() == name)
}

/// Fails a test whose engine does not work.
#[allow(clippy::panic, reason = "only tests call this, and a panic is how a test fails")]
#[track_caller]
fn fail(engine: &str, why: &str) -> ! {
    panic!("{engine}: {why}")
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn list_of_engines_is_split_at_commas() {
        assert!(names("redis, postgres", "postgres") && names("redis", "redis"));
        assert!(!names("redis", "postgres") && !names("", "redis") && !names("redis-cluster", "redis"));
    }
}
