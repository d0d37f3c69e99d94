//! The connections of one process: one to write records, one for other writes, one to read, and one that listens.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use redis::{
    AsyncConnectionConfig, Cmd, Pipeline, RedisError, RedisResult, Value as Reply,
    aio::{MultiplexedConnection, PubSub},
};

use super::{
    fault::{code_of, fault},
    scripts::LoadedScript,
    url::{Durability, RedisUrl},
};
use crate::{
    Error, ErrorKind, Result,
    remote::{Answer, EngineFault},
};

/// How long a write waits for replicas or the disk before it is sent again.
const WAIT_MILLISECONDS: u64 = 2_000;

/// Maximum number of redirects while a store is opened. One is normal, unless a slot is being moved.
const REDIRECTS: usize = 5;

/// The connection for a request. A write that waits for replicas or the disk delays later requests on its
/// connection, so reads have their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RedisLane {
    Writer,
    Changes,
    Reads,
}

pub(super) struct RedisConnections {
    pub(super) url: RedisUrl,
    /// The cluster node of the last redirect.
    node: Mutex<Option<(String, u16)>>,
    timeout: Duration,
    writer: RedisSlot,
    changes: RedisSlot,
    reads: RedisSlot,
}

#[derive(Default)]
struct RedisSlot(tokio::sync::Mutex<(u64, Option<MultiplexedConnection>)>);

impl std::fmt::Debug for RedisConnections {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connections").field("url", &self.url).finish_non_exhaustive()
    }
}

impl RedisConnections {
    pub(super) fn new(url: RedisUrl, timeout: Duration) -> Result<Self> {
        // A URL that cannot be used is refused before anything is tried.
        url.client(None)?;
        Ok(Self {
            url,
            node: Mutex::default(),
            timeout,
            writer: RedisSlot::default(),
            changes: RedisSlot::default(),
            reads: RedisSlot::default(),
        })
    }

    fn node(&self) -> Option<(String, u16)> {
        self.node.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn point_to(&self, node: Option<(String, u16)>) {
        *self.node.lock().unwrap_or_else(PoisonError::into_inner) = node;
    }

    /// Switches to the cluster node of a redirect, if the error is one.
    fn follow_redirect(&self, error: &RedisError) -> bool {
        // The driver returns the address as one text, and the number of the slot.
        let named = error.redirect_node().and_then(|(address, _slot)| address.rsplit_once(':'));
        let Some((host, Ok(port))) = named.map(|(host, port)| (host, port.parse())) else { return false };
        // A node may omit the host of a redirect: then it is the host that sent it.
        let host = match host {
            "" => self.node().map_or_else(|| self.url.host(), |(asked, _)| asked),
            host => host.to_owned(),
        };
        self.point_to(Some((host, port)));
        true
    }

    fn client(&self) -> RedisResult<redis::Client> {
        let unusable =
            |error: Error| RedisError::from((redis::ErrorKind::InvalidClientConfig, "", error.to_string()));
        self.url.client(self.node().as_ref()).map_err(unusable)
    }

    pub(super) async fn connect(&self) -> RedisResult<MultiplexedConnection> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(Duration::from_secs(10)))
            .set_response_timeout(Some(self.timeout));
        let connected = self.client()?.get_multiplexed_async_connection_with_config(&config).await;
        if connected.is_err() {
            // The node may have left the cluster: start again with the server of the URL.
            self.point_to(None);
        }
        connected
    }

    /// Connects to the cluster node that owns a key; other nodes redirect to it. A standalone server owns all
    /// keys.
    pub(super) async fn connect_to_owner(&self, key: &[u8]) -> RedisResult<MultiplexedConnection> {
        let mut redirects = 0;
        loop {
            let mut connection = self.connect().await?;
            let asked: RedisResult<Reply> = redis::cmd("EXISTS").arg(key).query_async(&mut connection).await;
            match asked {
                Err(error) if redirects < REDIRECTS && self.follow_redirect(&error) => redirects += 1,
                Err(error) => return Err(error),
                Ok(_) => return Ok(connection),
            }
        }
    }

    pub(super) async fn listen(&self, channel: &str) -> RedisResult<PubSub> {
        let mut listening = self.client()?.get_async_pubsub().await?;
        listening.subscribe(channel).await?;
        Ok(listening)
    }

    fn slot(&self, lane: RedisLane) -> &RedisSlot {
        match lane {
            RedisLane::Writer => &self.writer,
            RedisLane::Changes => &self.changes,
            RedisLane::Reads => &self.reads,
        }
    }

    async fn connection(&self, slot: &RedisSlot) -> RedisResult<(u64, MultiplexedConnection)> {
        let mut held = slot.0.lock().await;
        if let (generation, Some(connection)) = &*held {
            return Ok((*generation, connection.clone()));
        }
        let connection = self.connect().await?;
        held.0 += 1;
        held.1 = Some(connection.clone());
        Ok((held.0, connection))
    }

    async fn forget(&self, slot: &RedisSlot, generation: u64) {
        let mut held = slot.0.lock().await;
        if held.0 == generation {
            held.1 = None;
        }
    }

    /// Runs a script. A write is answered when it is as durable as the URL asks for.
    pub(super) async fn run(
        &self,
        lane: RedisLane,
        doing: &'static str,
        script: &LoadedScript,
        keys: &[&[u8]],
        arguments: &[&[u8]],
    ) -> Answer<Reply> {
        let mut command = redis::cmd("EVALSHA");
        command.arg(&script.hash).arg(keys.len());
        keys.iter().chain(arguments).for_each(|word| {
            command.arg(*word);
        });
        let answer = self.send(lane, doing, &command).await;
        let unknown = |error: &RedisError| code_of(error) == "NOSCRIPT";
        match answer {
            Err(SendError::Failed(error)) if unknown(&error) => {
                // A server that was restarted has forgotten its scripts.
                let mut load = redis::cmd("SCRIPT");
                load.arg("LOAD").arg(&script.code);
                self.send(RedisLane::Reads, doing, &load).await.map_err(|error| error.fault(doing))?;
                self.send(lane, doing, &command).await.map_err(|error| error.fault(doing))
            }
            answer => answer.map_err(|error| error.fault(doing)),
        }
    }

    async fn send(&self, lane: RedisLane, doing: &str, command: &Cmd) -> Result<Reply, SendError> {
        let slot = self.slot(lane);
        let (generation, mut connection) = self.connection(slot).await?;
        let sent = self.send_over(&mut connection, lane, doing, command).await;
        if let Err(SendError::Failed(error)) = &sent {
            self.follow_redirect(error);
            // A lost connection, or a server that no longer accepts writes: the next request reconnects.
            if error.code().is_none() || matches!(code_of(error), "READONLY" | "MOVED" | "NOAUTH") {
                self.forget(slot, generation).await;
            }
        }
        sent
    }

    async fn send_over(
        &self,
        connection: &mut MultiplexedConnection,
        lane: RedisLane,
        doing: &str,
        command: &Cmd,
    ) -> Result<Reply, SendError> {
        let Durability { replicas, fsynced } = self.url.durability;
        if lane == RedisLane::Reads || (replicas == 0 && !fsynced) {
            return Ok(command.query_async(connection).await?);
        }
        let mut wait = redis::cmd(if fsynced { "WAITAOF" } else { "WAIT" });
        if fsynced {
            wait.arg(1);
        }
        wait.arg(replicas).arg(WAIT_MILLISECONDS);
        let mut both = Pipeline::new();
        both.add_command(command.clone()).add_command(wait);
        let (reply, reached): (Reply, Reply) = both.query_async(connection).await?;
        if is_reached(&reached, replicas) {
            return Ok(reply);
        }
        Err(SendError::NotDurable(format!(
            "Redis, {doing}: written, but not yet on {replicas} replicas{}, as the store's URL asks for; it is tried again",
            if fsynced { " and fsynced" } else { "" }
        )))
    }
}

/// Whether the awaited state was reached.
fn is_reached(reached: &Reply, replicas: u32) -> bool {
    match reached {
        Reply::Int(reached) => *reached >= i64::from(replicas),
        Reply::Array(reached) => match &**reached {
            [Reply::Int(local), Reply::Int(remote)] => *local >= 1 && *remote >= i64::from(replicas),
            _ => false,
        },
        _ => false,
    }
}

/// Why a request has no answer.
enum SendError {
    Failed(RedisError),
    /// The write is done, and not as durable as it should be.
    NotDurable(String),
}

impl From<RedisError> for SendError {
    fn from(error: RedisError) -> Self {
        Self::Failed(error)
    }
}

impl SendError {
    fn fault(self, doing: &str) -> EngineFault {
        match self {
            Self::Failed(error) => fault(doing, &error),
            Self::NotDurable(message) => {
                EngineFault::Unreachable(Error::new(ErrorKind::Unavailable, message))
            }
        }
    }
}
