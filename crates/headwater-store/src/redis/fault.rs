//! Classification of failed requests.

use redis::RedisError;

use crate::{Error, ErrorKind, remote::EngineFault};

/// The error code at the start of the server's message. Servers before 7.0 put that of a script's command
/// inside the text.
pub(super) fn code_of(error: &RedisError) -> &str {
    const HIDDEN: [&str; 6] = ["OOM", "READONLY", "MISCONF", "NOPERM", "WRONGTYPE", "NOREPLICAS"];
    let code = error.code().unwrap_or_default();
    let detail = error.detail().unwrap_or_default();
    if code == "ERR" && (detail.contains("ACL failure") || detail.contains("user executing the script can't"))
    {
        return "NOPERM";
    }
    let hidden = |word: &&&str| code == "ERR" && detail.contains(&format!("-{word} "));
    HIDDEN.iter().find(hidden).copied().unwrap_or(code)
}

/// Advice for an error code.
fn advice(code: &str) -> &'static str {
    match code {
        "OOM" => {
            "the server has reached maxmemory: raise it, or shorten retention; keep maxmemory-policy noeviction"
        }
        "READONLY" => "the server is a read-only replica: connect to the primary",
        "MISCONF" => "the server cannot write its files: give it disk space",
        "NOPERM" => "grant the user the rights that docs/store-redis.md lists",
        "WRONGPASS" | "NOAUTH" => "check user and password of the store's URL",
        "WRONGTYPE" => "another application uses keys under this prefix: choose another with ?prefix=",
        "LOADING" => "the server is starting",
        "NOREPLICAS" => "the server has too few replicas for min-replicas-to-write",
        "MOVED" | "ASK" | "TRYAGAIN" | "CLUSTERDOWN" | "MASTERDOWN" => "the cluster is changing",
        _ => "it is tried again",
    }
}

/// Classifies a request's failure while the store runs.
pub(super) fn fault(doing: &str, error: &RedisError) -> EngineFault {
    let code = code_of(error);
    let message = format!("Redis, {doing}: {error}; {}", advice(code));
    if code == "WRONGTYPE" {
        return EngineFault::Refused(Error::new(ErrorKind::Rejected, message));
    }
    // An operator can repair any other cause while the store waits.
    EngineFault::Unreachable(Error::new(ErrorKind::Unavailable, message))
}

/// Classifies a failure while the store is opened.
pub(super) fn opening(server: &str, error: &RedisError) -> Error {
    let code = code_of(error);
    let authentication = error.kind() == redis::ErrorKind::AuthenticationFailed;
    let (kind, advice) = match code {
        _ if authentication => (ErrorKind::Rejected, advice("WRONGPASS")),
        "WRONGPASS" | "NOAUTH" | "NOPERM" | "READONLY" | "WRONGTYPE" => (ErrorKind::Rejected, advice(code)),
        "" if error.to_string().contains("ertificate") => {
            (ErrorKind::Rejected, "name the file with the certificates to trust as tls_ca=FILE in the URL")
        }
        "" => (ErrorKind::Unavailable, "check that the server runs and that the URL is right"),
        code => (ErrorKind::Unavailable, advice(code)),
    };
    Error::new(kind, format!("cannot open the store in Redis at {server}: {error}; {advice}"))
}
