//! Checks when a store is opened.

use redis::{Value as Reply, aio::MultiplexedConnection};

use super::{connect::RedisConnections, fault::opening, keys::Keys, scripts::Scripts};
use crate::{Error, ErrorKind, Result};

/// The format of the keys.
const FORMAT: &str = "headwater 1";

/// Number of keys checked before a prefix without a format counts as unused.
const SCANNED: usize = 100;

/// The oldest server version that supports the scripts, and the oldest with `WAITAOF`.
const OLDEST: (u32, u32) = (6, 2);
const OLDEST_WITH_WAITAOF: (u32, u32) = (7, 2);

/// Checks that the server and the keys are suitable, and that the user has the necessary rights.
pub(super) async fn check(connections: &RedisConnections, scripts: &Scripts, keys: &Keys) -> Result<()> {
    let server = connections.url.server();
    let failed = |error: redis::RedisError| opening(&server, &error);
    let rejected = |message: String| Err(Error::new(ErrorKind::Rejected, message));
    let mut connection = connections.connect_to_owner(keys.format.as_bytes()).await.map_err(failed)?;
    let info: String = redis::cmd("INFO").query_async(&mut connection).await.map_err(failed)?;
    let (name, version) = version(&info);
    if version < OLDEST {
        return rejected(format!(
            "{name} at {server} has version {}.{}: at least 6.2 is needed",
            version.0, version.1
        ));
    }
    if field(&info, "role") == Some("slave") {
        return rejected(format!("{name} at {server} is a read-only replica: name the primary in the URL"));
    }
    let durability = connections.url.durability;
    if durability.fsynced && version < OLDEST_WITH_WAITAOF {
        return rejected(format!(
            "{name} at {server} has version {}.{} and no WAITAOF, which `waitaof` in the store's URL needs: install 7.2, \
             or leave it out and set appendfsync always",
            version.0, version.1
        ));
    }
    if durability.fsynced && field(&info, "aof_enabled") != Some("1") {
        return rejected(format!(
            "{name} at {server} has no append-only file, which `waitaof` needs: set appendonly yes"
        ));
    }
    let replicas = field(&info, "connected_slaves").and_then(|count| count.parse().ok()).unwrap_or(0);
    if durability.replicas > replicas {
        return rejected(format!(
            "{name} at {server} has {replicas} replicas, and `wait={}` in the store's URL asks for more: connect them first",
            durability.replicas
        ));
    }
    check_keys(&mut connection, &server, scripts, keys).await
}

async fn check_keys(
    connection: &mut MultiplexedConnection,
    server: &str,
    scripts: &Scripts,
    keys: &Keys,
) -> Result<()> {
    let failed = |error: redis::RedisError| opening(server, &error);
    let foreign = || {
        let message = format!(
            "Redis at {server} has keys of another application that begin with {}: choose another prefix with ?prefix=",
            keys.base
        );
        Error::new(ErrorKind::Rejected, message)
    };
    // The second check is for a process that opens the empty prefix concurrently: it writes its format before
    // its other keys.
    if !is_known(connection, keys).await.map_err(failed)?
        && is_used(connection, keys).await.map_err(failed)?
        && !is_known(connection, keys).await.map_err(failed)?
    {
        return Err(foreign());
    }
    let mut open = redis::cmd("EVAL");
    open.arg(&scripts.open.code).arg(8);
    for key in
        [&keys.format, &keys.names, &keys.keys, &keys.leases, &keys.going, &keys.expiring, &keys.numbers]
    {
        open.arg(key);
    }
    open.arg(format!("{}probe", keys.base)).arg(FORMAT).arg(&keys.channel);
    let found: String = open.query_async(connection).await.map_err(failed)?;
    match &*found {
        "" => Ok(()),
        found if found.starts_with("headwater ") => {
            let message = format!(
                "the keys {} of Redis at {server} have the format {found:?}, this program knows {FORMAT:?}: \
                 install a newer program, or choose another prefix with ?prefix=",
                keys.base
            );
            Err(Error::new(ErrorKind::Format, message))
        }
        _ => Err(foreign()),
    }
}

/// Whether the prefix has a format. Its content is checked later.
async fn is_known(connection: &mut MultiplexedConnection, keys: &Keys) -> redis::RedisResult<bool> {
    redis::cmd("EXISTS").arg(&keys.format).query_async(connection).await
}

/// Whether there are keys under the prefix, as far as a short scan finds.
async fn is_used(connection: &mut MultiplexedConnection, keys: &Keys) -> redis::RedisResult<bool> {
    // The braces of the base mean nothing in a pattern.
    let pattern = format!("{}*", keys.base);
    let mut cursor = "0".to_owned();
    for _ in 0..SCANNED {
        let (next, found): (String, Vec<Reply>) = redis::cmd("SCAN")
            .arg(&cursor)
            .arg(&["MATCH", &pattern, "COUNT", "1000"])
            .query_async(connection)
            .await?;
        if !found.is_empty() {
            return Ok(true);
        }
        if next == "0" {
            break;
        }
        cursor = next;
    }
    Ok(false)
}

fn field<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}

/// The kind of the server, and its version.
fn version(info: &str) -> (&'static str, (u32, u32)) {
    let (name, text) = match field(info, "valkey_version") {
        Some(version) => ("Valkey", version),
        None => ("Redis", field(info, "redis_version").unwrap_or_default()),
    };
    let mut parts = text.split('.').map(|part| part.parse().unwrap_or(0));
    (name, (parts.next().unwrap_or(0), parts.next().unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_is_read() {
        assert_eq!(
            version("# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\n"),
            ("Redis", (7, 0))
        );
        assert_eq!(
            version("redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.1.3\r\n"),
            ("Valkey", (8, 1))
        );
        assert_eq!(version(""), ("Redis", (0, 0)));
        assert_eq!(field("role:slave\r\nconnected_slaves:2\r\n", "connected_slaves"), Some("2"));
    }
}
