//! Classification of failed requests.

use tokio_postgres::error::SqlState;

use crate::{Error, ErrorKind, remote::EngineFault};

/// Classifies a request's failure while the store runs.
pub(super) fn fault(doing: &str, error: &tokio_postgres::Error) -> EngineFault {
    let Some(db) = error.as_db_error() else {
        return EngineFault::Unreachable(Error::new(
            ErrorKind::Unavailable,
            format!("Postgres, {doing}: {}", full(error)),
        ));
    };
    let (code, message) = (db.code(), db.message());
    let text = |advice: &str| format!("Postgres, {doing}: {message} ({}); {advice}", code.code());
    let unreachable =
        |advice: &str| EngineFault::Unreachable(Error::new(ErrorKind::Unavailable, text(advice)));
    let refused = |advice: &str| EngineFault::Refused(Error::new(ErrorKind::Rejected, text(advice)));
    if *code == SqlState::DISK_FULL {
        return unreachable("give the database more disk space");
    }
    if *code == SqlState::TOO_MANY_CONNECTIONS {
        return unreachable("raise max_connections, each process of Headwater uses six");
    }
    if *code == SqlState::READ_ONLY_SQL_TRANSACTION {
        return unreachable("the server is read-only: connect to the primary");
    }
    if *code == SqlState::QUERY_CANCELED {
        return unreachable("the statement took longer than statement_timeout allows");
    }
    match code.code().get(..2) {
        // Connections, resources, rollbacks, locks, an operator's intervention, and failures of the system.
        Some("08" | "53" | "40" | "55" | "57" | "58") => unreachable("it is tried again"),
        Some("42") if *code == SqlState::INSUFFICIENT_PRIVILEGE => {
            refused("grant the user the rights that docs/store-postgres.md lists")
        }
        Some("42") => {
            refused("the schema is not the one of this version: restore it, or choose another with ?schema=")
        }
        Some("28" | "3D") => unreachable("check user, password and database of the store's URL"),
        _ => refused("this is not expected: see the server's log"),
    }
}

/// Classifies a failure while the store is opened.
pub(super) fn opening(server: &str, error: &tokio_postgres::Error) -> Error {
    let Some(db) = error.as_db_error() else {
        let text = full(error);
        let advice = if text.contains("certificate") || text.contains("UnknownIssuer") {
            "; name the file with the certificates to trust as sslrootcert=FILE in the URL"
        } else {
            "; check that the server runs and that the URL is right"
        };
        return Error::new(
            ErrorKind::Unavailable,
            format!("cannot connect to Postgres at {server}: {text}{advice}"),
        );
    };
    let (code, message) = (db.code(), db.message());
    let (kind, advice) = match code.code() {
        "28P01" | "28000" => (ErrorKind::Rejected, "check user and password in the URL"),
        "3D000" => (ErrorKind::Rejected, "create the database, or name another in the URL"),
        "42501" => (ErrorKind::Rejected, "grant the user the rights that docs/store-postgres.md lists"),
        "25006" => (ErrorKind::Rejected, "the server is read-only: name the primary in the URL"),
        "53100" => (ErrorKind::Unavailable, "give the database more disk space"),
        "53300" => (ErrorKind::Unavailable, "raise max_connections, each process of Headwater uses six"),
        "57P03" => (ErrorKind::Unavailable, "the server is starting or stopping: try again"),
        "08P01" if message.contains("startup parameter") => (
            ErrorKind::Rejected,
            "a pooler is in between: see Connections and poolers in docs/store-postgres.md",
        ),
        _ => (ErrorKind::Unavailable, "see the server's log"),
    };
    Error::new(
        kind,
        format!("cannot open the store in Postgres at {server}: {message} ({}); {advice}", code.code()),
    )
}

/// An error with its causes: the driver's own text leaves them out.
fn full(error: &tokio_postgres::Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        let more = inner.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = inner.source();
    }
    text
}
