//! A store in a Postgres database, shared by several machines.
//!
//! See `docs/store-postgres.md` for the schema, TLS, poolers and retention.

mod connect;
mod engine;
mod fault;
mod listen;
mod migrate;
mod rows;
mod sql;
mod url;

use std::sync::Arc;

use self::{connect::Pool, engine::Postgres, url::PostgresUrl};
use crate::{
    Result,
    remote::{EngineClock, Options, Remote, delegate_store},
};

/// A store in a Postgres database.
///
/// All machines that open the same database and schema share journals and values. The durability of
/// acknowledged writes depends on the server's `synchronous_commit`: with its default, a committed fact
/// survives a power cut.
///
/// ```no_run
/// use headwater_store::{PostgresStore, remote::Options};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> headwater_store::Result<()> {
/// let store = PostgresStore::connect("postgres://app:secret@db.internal/app", Options::default()).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct PostgresStore(Remote<Postgres>);

impl PostgresStore {
    /// Connects, and creates or updates the schema if necessary.
    ///
    /// The URL has the format of `psql`, with these additional parameters:
    ///
    /// | parameter | meaning | default |
    /// |---|---|---|
    /// | `schema` | the Postgres schema that holds the tables | `headwater` |
    /// | `listen_url` | another URL, percent-encoded, for the one connection that listens: past a pooler that cannot | the same |
    /// | `statement_timeout` | milliseconds after which the server ends a statement; `0` sends no such setting, for poolers | `20000` |
    /// | `sslrootcert` | a file with the certificates to trust instead of the system's | |
    ///
    /// At most six connections are opened. Must be called within a tokio runtime, which the store's tasks run on.
    ///
    /// # Errors
    /// [`Rejected`](crate::ErrorKind::Rejected) when the URL, the password, the rights or the server are not
    /// suitable, [`Format`](crate::ErrorKind::Format) when a newer version wrote the schema, and
    /// [`Unavailable`](crate::ErrorKind::Unavailable) when the server cannot be reached.
    pub async fn connect(url: &str, options: Options) -> Result<Self> {
        let url = PostgresUrl::parse(url)?;
        let time = Arc::new(EngineClock::new(&options));
        let pool = Pool::new(url, options.request_timeout)?;
        migrate::migrate(&pool).await?;
        let engine = Postgres::new(pool, time.clone()).await?;
        Ok(Self(Remote::start(engine, options, time).await?))
    }

    /// Takes writes again after the store has [stopped](crate::Store::stopped), if the server can be reached.
    ///
    /// # Errors
    /// [`Unavailable`](crate::ErrorKind::Unavailable) while it cannot.
    pub async fn recover(&self) -> Result<()> {
        self.0.recover().await
    }
}

delegate_store!(PostgresStore);
