//! Accepting connections. Compared to `axum::serve` this takes half the memory for a waiting reader, and
//! closes connections whose peer neither sends requests nor reads responses.

mod activity;
mod io;

use std::{
    future::poll_fn, io as std_io, num::NonZeroUsize, pin::pin, sync::Arc, task::Poll, time::Duration,
};

use axum::Router;
use hyper::server::conn::{http1, http2};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore, watch},
    time::{sleep, timeout},
};

use self::{
    activity::{Activity, CountedRoutes, StreamTasks},
    io::Progressing,
};

/// Pause when no connection can be accepted, for example with too many open files.
const PAUSE: Duration = Duration::from_secs(1);

/// The first bytes of HTTP/2.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// How long to wait for the rest of the preface: bytes that were peeked are ready at once.
const REST: Duration = Duration::from_millis(20);

/// The most bytes that a connection, or a stream of HTTP/2, buffers before it takes no more of an answer, and the longest head
/// of a request.
const BUFFER: usize = 64 << 10;

/// The answer to a connection that is one too many.
const REFUSAL: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\ncontent-length: 88\r\n\
    retry-after: 1\r\nconnection: close\r\n\r\n\
    {\"error\":\"too many connections are open: try again later\",\"code\":\"connections.too-many\"}";

/// How connections are served, over HTTP/1.1 and HTTP/2 without TLS.
///
/// ```no_run
/// # async fn example(agents: headwater_server::Agents) -> std::io::Result<()> {
/// use std::time::Duration;
/// use headwater_server::{Connections, Options, Server};
///
/// let server = Server::new(agents, Options::default());
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:8787").await?;
/// let routes = server.application(axum::Router::new());
/// Connections::default().idle(Duration::from_secs(10)).serve(listener, routes, std::future::pending()).await;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Connections {
    idle: Duration,
    stall: Duration,
    most: Option<NonZeroUsize>,
}

impl Default for Connections {
    fn default() -> Self {
        Self { idle: Duration::from_secs(30), stall: Duration::from_secs(60), most: None }
    }
}

impl Connections {
    /// Sets how long a connection may be open without a request: 30 s. It is also the time limit for the head
    /// of a request.
    #[must_use]
    pub fn idle(mut self, idle: Duration) -> Self {
        self.idle = idle;
        self
    }

    /// Sets how long a reader may take no bytes before its connection, or its stream of HTTP/2, is closed: 60
    /// s. The run continues, and the reader may reconnect with its cursor.
    #[must_use]
    pub fn stall(mut self, stall: Duration) -> Self {
        self.stall = stall;
        self
    }

    /// Sets the maximum number of open connections: the process's limit of open files, less an eighth for the
    /// store, models and tools. Further ones get 503 at once.
    #[must_use]
    pub fn most(mut self, most: NonZeroUsize) -> Self {
        self.most = Some(most);
        self
    }

    /// Serves routes until `stop` completes. Then no connection is accepted, and started responses may
    /// finish.
    pub async fn serve(self, listener: TcpListener, routes: Router, stop: impl Future<Output = ()>) {
        // Made ready once: from here on a clone is a pointer.
        let routes = TowerToHyperService::new(routes.with_state(()));
        let most = self.most.map_or_else(open_files, NonZeroUsize::get).min(Semaphore::MAX_PERMITS);
        let permits = Arc::new(Semaphore::new(most));
        // Connections hold the receiver, so the sender knows when the last one has ended.
        let (stopping, stopped) = watch::channel(false);
        let mut stop = pin!(stop);
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = &mut stop => break,
            };
            match accepted {
                Ok((stream, _)) => match permits.clone().try_acquire_owned() {
                    Ok(permit) => {
                        let (limits, routes, stopped) = (self.clone(), routes.clone(), stopped.clone());
                        let connection = Connection { stream, routes, stopped, limits, _permit: permit };
                        tokio::spawn(connection.serve());
                    }
                    Err(_) => refuse(&stream),
                },
                // One that was closed before it was accepted.
                Err(error) if is_of_connection(&error) => {}
                Err(error) => {
                    tracing::error!(%error, "cannot accept a connection");
                    sleep(PAUSE).await;
                }
            }
        }
        drop((listener, stopped));
        stopping.send_replace(true);
        stopping.closed().await;
    }
}

/// Serves routes with the usual limits of [`Connections`] until `stop` comes.
///
/// ```no_run
/// # async fn example(agents: headwater_server::Agents) -> std::io::Result<()> {
/// use headwater_server::{Options, Server, serve};
///
/// let server = Server::new(agents, Options::default());
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:8787").await?;
/// serve(listener, server.application(axum::Router::new()), async {
///     let _ = tokio::signal::ctrl_c().await;
///     // Readers reconnect, here or elsewhere.
///     server.let_go();
/// })
/// .await;
/// # Ok(())
/// # }
/// ```
pub async fn serve(listener: TcpListener, routes: Router, stop: impl Future<Output = ()>) {
    Connections::default().serve(listener, routes, stop).await;
}

/// The number of connections that fit into the limit of open files, with an eighth left for everything else.
fn open_files() -> usize {
    #[cfg(unix)]
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    #[cfg(not(unix))]
    let limit: Option<u64> = None;
    let limit = usize::try_from(limit.unwrap_or(1 << 20)).unwrap_or(usize::MAX);
    // A few files are needed however low the limit is.
    limit.saturating_sub((limit / 8).max(32)).max(1)
}

/// Answers a connection that is one too many, as far as that is possible without waiting.
fn refuse(stream: &TcpStream) {
    metrics::counter!("headwater_connections_refused_total").increment(1);
    let _ = stream.try_write(REFUSAL);
}

fn is_of_connection(error: &std_io::Error) -> bool {
    use std_io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

/// Waits until the server stops.
async fn stop(stopped: &mut watch::Receiver<bool>) {
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

/// Whether a connection starts with the preface of HTTP/2.
async fn speaks_http2(stream: &TcpStream) -> std_io::Result<bool> {
    let mut begin = [0; PREFACE.len()];
    loop {
        let length = stream.peek(&mut begin).await?;
        let seen = begin.get(..length).unwrap_or_default();
        if seen.is_empty() || !PREFACE.starts_with(seen) {
            return Ok(false);
        }
        if seen == PREFACE {
            return Ok(true);
        }
        sleep(REST).await;
    }
}

/// An accepted connection. Its task ends with it, or when the server does.
struct Connection {
    stream: TcpStream,
    routes: TowerToHyperService<Router>,
    stopped: watch::Receiver<bool>,
    limits: Connections,
    _permit: OwnedSemaphorePermit,
}

impl Connection {
    async fn serve(mut self) {
        // A stream has many small pieces: each is sent at once, even if the last one is not confirmed yet.
        if let Err(error) = self.stream.set_nodelay(true) {
            tracing::debug!(%error, "a connection may hold back small pieces");
        }
        // Peek first: detecting the version while reading needs twice the buffer.
        let peeked = tokio::select! {
            peeked = timeout(self.limits.idle, speaks_http2(&self.stream)) => peeked,
            () = stop(&mut self.stopped) => return,
        };
        let Ok(Ok(http2)) = peeked else { return };
        let served = if http2 { Box::pin(self.serve_http2()).await } else { self.serve_http1().await };
        if let Err(error) = served {
            tracing::debug!(%error, "a connection was closed");
        }
    }

    async fn serve_http1(self) -> hyper::Result<()> {
        let Self { stream, routes, mut stopped, limits, .. } = self;
        let mut http1 = http1::Builder::new();
        http1.timer(TokioTimer::new()).header_read_timeout(limits.idle).max_buf_size(BUFFER);
        let stream = TokioIo::new(Progressing::new(stream, limits.stall));
        let mut connection = pin!(http1.serve_connection(stream, routes));
        let changed = stopped.clone();
        let mut stop = pin!(stop(&mut stopped));
        let mut armed = false;
        // A stream is polled for each of its pieces, and polling the shared stop signal takes a lock. It is
        // polled once, to register this task, and when the server stops.
        let served = poll_fn(|cx| {
            if let Poll::Ready(served) = connection.as_mut().poll(cx) {
                return Poll::Ready(Some(served));
            }
            if armed && !changed.has_changed().unwrap_or(true) {
                return Poll::Pending;
            }
            armed = true;
            stop.as_mut().poll(cx).map(|()| None)
        });
        if let Some(served) = served.await {
            return served;
        }
        connection.as_mut().graceful_shutdown();
        connection.await
    }

    async fn serve_http2(self) -> hyper::Result<()> {
        let Self { stream, routes, mut stopped, limits, .. } = self;
        let mut http2 = http2::Builder::new(StreamTasks::new(limits.stall));
        http2.timer(TokioTimer::new()).keep_alive_interval(limits.idle).keep_alive_timeout(limits.idle);
        http2.max_send_buf_size(BUFFER);
        let activity = Arc::new(Activity::default());
        let routes = CountedRoutes::new(routes, activity.clone());
        let stream = TokioIo::new(Progressing::new(stream, limits.stall));
        let mut connection = pin!(http2.serve_connection(stream, routes));
        tokio::select! {
            served = connection.as_mut() => return served,
            () = stop(&mut stopped) => {
                connection.as_mut().graceful_shutdown();
                return connection.await;
            }
            // A client that answers pings is alive, but may still be idle.
            () = activity.idle(limits.idle) => {}
        }
        connection.as_mut().graceful_shutdown();
        // It ends when the client confirms; one that does not is closed all the same.
        timeout(limits.idle, connection).await.unwrap_or(Ok(()))
    }
}
