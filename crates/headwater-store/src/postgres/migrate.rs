//! The schema, in versions that are applied in order.

use tokio_postgres::Client;

use super::{connect::Pool, fault::opening};
use crate::{Error, ErrorKind, Result};

/// The oldest server version that supports the statements.
const OLDEST: i32 = 120_000;

/// The migration to each schema version from the previous one, starting with 1. Never change a released one:
/// add another. `{schema}` is replaced.
const MIGRATIONS: &[&str] = &[include_str!("schema-1.sql")];

/// The advisory lock for schema changes. Any constant works: another application that uses it only waits.
pub(super) const LOCK: i64 = 0x6865_6164_7761_7465;

/// Brings the schema up to date, and checks that the server fits.
pub(super) async fn migrate(pool: &Pool) -> Result<()> {
    let client = pool.open().await?;
    let server = pool.url.server();
    let found =
        SchemaFacts::read(&client, &pool.url.schema).await.map_err(|error| opening(&server, &error))?;
    let rejected = |message: String| Err(Error::new(ErrorKind::Rejected, message));
    if found.server_version < OLDEST {
        let version = found.server_version / 10_000;
        return rejected(format!("Postgres at {server} has version {version}: at least 12 is needed"));
    }
    if found.read_only {
        return rejected(format!("Postgres at {server} is a read-only replica: name the primary in the URL"));
    }
    if found.version == Some(MIGRATIONS.len()) {
        return Ok(());
    }
    // Other processes may be at it: look again with the lock held.
    let begin = format!("BEGIN; SELECT pg_advisory_xact_lock({LOCK})");
    client.batch_execute(&begin).await.map_err(|error| opening(&server, &error))?;
    let applied = apply(&client, &pool.url.schema, &server).await;
    let end = if applied.is_ok() { "COMMIT" } else { "ROLLBACK" };
    let ended = client.batch_execute(end).await.map_err(|error| opening(&server, &error));
    applied.and(ended)
}

async fn apply(client: &Client, schema: &str, server: &str) -> Result<()> {
    let failed = |error: tokio_postgres::Error| opening(server, &error);
    let found = SchemaFacts::read(client, schema).await.map_err(failed)?;
    let newest = MIGRATIONS.len();
    let from = match found.version {
        Some(version) if version > newest => {
            let message = format!(
                "schema {schema} of Postgres at {server} has version {version}, this program knows {newest}: \
                 install a newer program, or choose another schema with ?schema="
            );
            return Err(Error::new(ErrorKind::Format, message));
        }
        Some(version) => version,
        None if found.tables > 0 => {
            let message = format!(
                "schema {schema} of Postgres at {server} holds tables of another application: choose another with ?schema="
            );
            return Err(Error::new(ErrorKind::Rejected, message));
        }
        None => {
            if !found.schema {
                client.batch_execute(&format!("CREATE SCHEMA {schema}")).await.map_err(failed)?;
            }
            0
        }
    };
    for migration in MIGRATIONS.iter().skip(from) {
        client.batch_execute(&migration.replace("{schema}", schema)).await.map_err(failed)?;
    }
    let note =
        format!("DELETE FROM {schema}.schema_version; INSERT INTO {schema}.schema_version VALUES ({newest})");
    client.batch_execute(&note).await.map_err(failed)
}

/// Facts about the existing schema.
struct SchemaFacts {
    server_version: i32,
    read_only: bool,
    schema: bool,
    tables: i64,
    version: Option<usize>,
}

impl SchemaFacts {
    async fn read(client: &Client, schema: &str) -> Result<Self, tokio_postgres::Error> {
        use tokio_postgres::types::Type;
        let sql = "SELECT current_setting('server_version_num')::int4, \
                   pg_is_in_recovery() OR current_setting('default_transaction_read_only') = 'on', \
                   EXISTS (SELECT FROM pg_namespace WHERE nspname = $1), \
                   (SELECT count(*) FROM pg_tables WHERE schemaname = $1), \
                   EXISTS (SELECT FROM pg_tables WHERE schemaname = $1 AND tablename = 'schema_version')";
        let rows = client.query_typed(sql, &[(&schema, Type::TEXT)]).await?;
        let mut found = Self { server_version: 0, read_only: false, schema: false, tables: 0, version: None };
        let Some(row) = rows.first() else { return Ok(found) };
        found.server_version = row.try_get(0)?;
        found.read_only = row.try_get(1)?;
        found.schema = row.try_get(2)?;
        found.tables = row.try_get(3)?;
        if row.try_get(4)? {
            let rows =
                client.query_typed(&format!("SELECT max(version) FROM {schema}.schema_version"), &[]).await?;
            let version: Option<i32> = rows.first().map(|row| row.try_get(0)).transpose()?.flatten();
            found.version = version.and_then(|version| usize::try_from(version).ok());
        }
        Ok(found)
    }
}
