//! The connections of one process: one for writes, a few for everything else. Requests of many callers share
//! a connection, because each is one statement and needs no connection of its own.

use std::{
    fs,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, pem::PemObject as _},
};
use tokio_postgres::{
    Client, Config, Row,
    types::{ToSql, Type},
};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::{
    fault::{fault, opening},
    url::PostgresUrl,
};
use crate::{
    Error, ErrorKind, Result,
    remote::{Answer, EngineFault},
};

/// Number of connections for other requests: with the writer's and the listening one there are six.
const CALLS: usize = 4;

/// A parameter of a statement with its type, which saves a request to the server for it.
pub(super) type Parameter<'a> = (&'a (dyn ToSql + Sync), Type);

/// A statement that announces a change to other processes.
pub(super) type Announcement<'a> = (&'a str, &'a [Parameter<'a>]);

pub(super) struct Pool {
    pub(super) url: PostgresUrl,
    tls: MakeRustlsConnect,
    timeout: Duration,
    writer: PostgresSlot,
    calls: [PostgresSlot; CALLS],
    next: AtomicUsize,
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("url", &self.url).finish_non_exhaustive()
    }
}

/// A connection, once it is needed.
#[derive(Default)]
struct PostgresSlot(tokio::sync::Mutex<Option<Arc<Client>>>);

/// The connection for a statement.
#[derive(Debug, Clone, Copy)]
pub(super) enum PostgresLane<'a> {
    Writer,
    /// Any of the others.
    Calls,
    /// The one of this key: writes of a value happen in the order of their calls.
    Key(&'a str),
}

impl Pool {
    pub(super) fn new(url: PostgresUrl, timeout: Duration) -> Result<Self> {
        let tls = MakeRustlsConnect::new(tls_config(&url)?);
        Ok(Self {
            url,
            tls,
            timeout,
            writer: PostgresSlot::default(),
            calls: Default::default(),
            next: AtomicUsize::new(0),
        })
    }

    fn slot(&self, lane: PostgresLane<'_>) -> &PostgresSlot {
        let call = match lane {
            PostgresLane::Writer => return &self.writer,
            PostgresLane::Calls => self.next.fetch_add(1, Ordering::Relaxed),
            PostgresLane::Key(key) => crc32c::crc32c(key.as_bytes()) as usize,
        };
        self.calls.get(call % CALLS).unwrap_or(&self.writer)
    }

    /// Connects with the settings of all requests.
    pub(super) async fn connect(
        &self,
        config: &Config,
    ) -> Result<(Client, Connecting), tokio_postgres::Error> {
        config.connect(self.tls.clone()).await
    }

    /// A separate connection, for opening the store.
    pub(super) async fn open(&self) -> Result<Client> {
        let (client, connection) =
            self.connect(&self.url.config).await.map_err(|error| opening(&self.url.server(), &error))?;
        tokio::spawn(connection);
        Ok(client)
    }

    /// Runs one statement. It is not prepared under a name, so that a pooler may run the next one elsewhere.
    pub(super) async fn query(
        &self,
        lane: PostgresLane<'_>,
        doing: &'static str,
        sql: &str,
        parameters: &[Parameter<'_>],
    ) -> Answer<Vec<Row>> {
        self.query_and_announce(lane, doing, sql, parameters, None).await
    }

    /// Runs one statement, and after it another one that announces the changes. Both are sent at once, and
    /// only the first is waited for: a lost announcement delays other processes until they poll.
    ///
    /// They are not one transaction, because the server commits transactions with a notification one after
    /// the other. Each would delay those of all other processes by the latency of the disk.
    pub(super) async fn query_and_announce(
        &self,
        lane: PostgresLane<'_>,
        doing: &'static str,
        sql: &str,
        parameters: &[Parameter<'_>],
        announcement: Option<Announcement<'_>>,
    ) -> Answer<Vec<Row>> {
        let slot = self.slot(lane);
        let client = self.client(slot, doing).await?;
        let answer = async {
            let mut answer = pin!(client.query_typed(sql, parameters));
            let Some((sql, parameters)) = announcement else { return answer.await };
            tokio::select! {
                // The sending order.
                biased;
                answer = &mut answer => answer,
                _ = client.query_typed(sql, parameters) => answer.await,
            }
        };
        match tokio::time::timeout(self.timeout, answer).await {
            Ok(Ok(rows)) => Ok(rows),
            Ok(Err(error)) => {
                let fault = fault(doing, &error);
                if client.is_closed() || is_read_only(&error) {
                    // A server that became a replica stays one: the next connection may find the primary.
                    self.forget(slot, &client).await;
                }
                Err(fault)
            }
            Err(_) => {
                self.forget(slot, &client).await;
                let message = format!("Postgres, {doing}: no answer within {} s", self.timeout.as_secs());
                Err(EngineFault::Unreachable(Error::new(ErrorKind::Unavailable, message)))
            }
        }
    }

    async fn client(&self, slot: &PostgresSlot, doing: &str) -> Answer<Arc<Client>> {
        let mut held = slot.0.lock().await;
        if let Some(client) = held.as_ref().filter(|client| !client.is_closed()) {
            return Ok(client.clone());
        }
        *held = None;
        let (client, connection) = self.connect(&self.url.config).await.map_err(|error| {
            // Every cause may be gone at the next attempt: a restart, a failover, a new password.
            EngineFault::Unreachable(fault(doing, &error).error().clone())
        })?;
        tokio::spawn(connection);
        let client = Arc::new(client);
        *held = Some(client.clone());
        Ok(client)
    }

    async fn forget(&self, slot: &PostgresSlot, client: &Arc<Client>) {
        let mut held = slot.0.lock().await;
        if held.as_ref().is_some_and(|held| Arc::ptr_eq(held, client)) {
            *held = None;
        }
    }
}

/// The future that transfers the bytes of a connection.
pub(super) type Connecting = tokio_postgres::Connection<
    tokio_postgres::Socket,
    <MakeRustlsConnect as tokio_postgres::tls::MakeTlsConnect<tokio_postgres::Socket>>::Stream,
>;

fn is_read_only(error: &tokio_postgres::Error) -> bool {
    error.code() == Some(&tokio_postgres::error::SqlState::READ_ONLY_SQL_TRANSACTION)
}

fn tls_config(url: &PostgresUrl) -> Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    match &url.root_certificates {
        Some(file) => {
            let failed = |why: String| {
                let message =
                    format!("cannot read the certificates of sslrootcert={}: {why}", file.display());
                Error::new(ErrorKind::Rejected, message)
            };
            let pem = fs::read(file).map_err(|error| failed(error.to_string()))?;
            for certificate in CertificateDer::pem_slice_iter(&pem) {
                let certificate = certificate.map_err(|error| failed(error.to_string()))?;
                roots.add(certificate).map_err(|error| failed(error.to_string()))?;
            }
            if roots.is_empty() {
                return Err(failed("it has none".to_owned()));
            }
        }
        None => {
            // Without any, a server with TLS is refused, and the message has the reason.
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config =
        config.map_err(|error| Error::new(ErrorKind::Rejected, format!("cannot prepare TLS: {error}")))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}
