//! A store in Redis or Valkey, shared by several machines.
//!
//! See `docs/store-redis.md` for the keys, rights, TLS, and the possible data loss in each setting.

mod connect;
mod engine;
mod fault;
mod keys;
mod open;
mod reply;
mod scripts;
mod url;

use std::sync::Arc;

use self::{connect::RedisConnections, engine::Redis, url::RedisUrl};
use crate::{
    Result,
    remote::{EngineClock, Options, Remote, delegate_store},
};

/// A store in Redis or Valkey.
///
/// All machines that open the same server and prefix share journals and values. The durability of an
/// acknowledged fact depends on the server's append-only file: with `appendfsync everysec`, the default, a
/// power cut loses up to a second.
///
/// ```no_run
/// use headwater_store::{RedisStore, remote::Options};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> headwater_store::Result<()> {
/// let store = RedisStore::connect("rediss://app:secret@cache.internal/0?wait=1", Options::default()).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct RedisStore(Remote<Redis>);

impl RedisStore {
    /// Connects, and checks that the server is suitable.
    ///
    /// The URL is `redis://` or, with TLS, `rediss://[user][:password]@host[:port][/database]`, with these parameters:
    ///
    /// | parameter | meaning | default |
    /// |---|---|---|
    /// | `prefix` | the beginning of all keys | `headwater` |
    /// | `wait` | how many replicas must have a write before it is acknowledged (`WAIT`) | `0` |
    /// | `waitaof` | `1`: a write is acknowledged when it is fsynced (`WAITAOF`, Redis 7.2 and Valkey) | `0` |
    /// | `tls_ca` | a PEM file with the certificates to trust instead of the system's | |
    ///
    /// Four connections are opened. Must be called within a tokio runtime, which the store's tasks run on.
    ///
    /// # Errors
    /// [`Rejected`](crate::ErrorKind::Rejected) when the URL, the password, the rights or the server are not
    /// suitable, or the prefix belongs to another application, [`Format`](crate::ErrorKind::Format) when a
    /// newer version wrote the keys, and [`Unavailable`](crate::ErrorKind::Unavailable) when the server
    /// cannot be reached.
    pub async fn connect(url: &str, options: Options) -> Result<Self> {
        let url = RedisUrl::parse(url)?;
        let time = Arc::new(EngineClock::new(&options));
        let connections = RedisConnections::new(url, options.request_timeout)?;
        let engine = Redis::open(connections, time.clone()).await?;
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

delegate_store!(RedisStore);
