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
use tokio::time::timeout;
use tokio_postgres::{
    Client, Config, Row,
    types::{ToSql, Type},
};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::{
    fault::{fault, opening},
    url::{CONNECT, PostgresUrl},
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
    /// How long a request may take.
    pub(super) timeout: Duration,
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

    /// Connects with the settings of all requests. The driver limits the time of the TCP handshake only: a pooler or a
    /// server that accepts and says nothing would hold up everything that waits for this connection.
    pub(super) async fn connect(&self, config: &Config, doing: &str) -> Answer<(Client, Connecting)> {
        let limit = connect_limit(config);
        match timeout(limit, config.connect(self.tls.clone())).await {
            Ok(Ok(connected)) => Ok(connected),
            // Whatever the reason, it may be gone with the next attempt: a restart, a failover, a new password.
            Ok(Err(error)) => Err(EngineFault::Unreachable(fault(doing, &error).error().clone())),
            Err(_) => Err(silent(doing, limit)),
        }
    }

    /// A separate connection, for opening the store.
    pub(super) async fn open(&self) -> Result<Client> {
        let limit = connect_limit(&self.url.config);
        let connected = self.answered(limit, self.url.config.connect(self.tls.clone())).await?;
        let (client, connection) = connected.map_err(|error| opening(&self.url.server(), &error))?;
        tokio::spawn(connection);
        Ok(client)
    }

    /// Waits for the answer to a request, but not longer than a request may take.
    pub(super) async fn within<T>(&self, doing: &str, answer: impl Future<Output = T>) -> Answer<T> {
        timeout(self.timeout, answer).await.map_err(|_| silent(doing, self.timeout))
    }

    /// Waits for an answer while the store is opened.
    pub(super) async fn answered<T>(&self, limit: Duration, answer: impl Future<Output = T>) -> Result<T> {
        timeout(limit, answer).await.map_err(|_| {
            let message = format!(
                "cannot open the store in Postgres at {}: no answer within {} s; check that the server runs and that the \
                 URL is right",
                self.url.server(),
                limit.as_secs()
            );
            Error::new(ErrorKind::Unavailable, message)
        })
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
        match self.within(doing, answer).await {
            Ok(Ok(rows)) => Ok(rows),
            Ok(Err(error)) => {
                let fault = fault(doing, &error);
                if client.is_closed() || is_read_only(&error) {
                    // A server that became a replica stays one: the next connection may find the primary.
                    self.forget(slot, &client).await;
                }
                Err(fault)
            }
            Err(silent) => {
                self.forget(slot, &client).await;
                Err(silent)
            }
        }
    }

    async fn client(&self, slot: &PostgresSlot, doing: &str) -> Answer<Arc<Client>> {
        let mut held = slot.0.lock().await;
        if let Some(client) = held.as_ref().filter(|client| !client.is_closed()) {
            return Ok(client.clone());
        }
        *held = None;
        let (client, connection) = self.connect(&self.url.config, doing).await?;
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

/// How long connecting may take, with the handshakes of TLS and Postgres.
fn connect_limit(config: &Config) -> Duration {
    config.get_connect_timeout().copied().unwrap_or(CONNECT)
}

fn silent(doing: &str, limit: Duration) -> EngineFault {
    let message = format!("Postgres, {doing}: no answer within {} s", limit.as_secs());
    EngineFault::Unreachable(Error::new(ErrorKind::Unavailable, message))
}

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
