//! Taking connections. `axum::serve` does as well; this takes half of its memory for a reader that waits, and lets go of
//! whoever does not say what they want.

use std::{io, pin::pin, time::Duration};

use axum::Router;
use hyper::server::conn::{http1, http2};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::graceful::{GracefulShutdown, Watcher},
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    time::{sleep, timeout},
};

/// How long somebody who has connected, or whose last request was answered, may take to say what they want.
const HEAD: Duration = Duration::from_secs(30);

/// How long it waits when no more connections can be had, as when too many files are open.
const PAUSE: Duration = Duration::from_secs(1);

/// What HTTP/2 begins with.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// How long it waits for the rest of that: what was looked at and not taken is ready at once.
const REST: Duration = Duration::from_millis(20);

/// Serves routes over HTTP/1.1 and HTTP/2 without TLS, until `stop` comes. Then nobody else is let in, and the responses
/// that are under way may come to their ends.
///
/// ```no_run
/// # async fn example(agents: headwater_server::Agents) -> std::io::Result<()> {
/// use headwater_server::{Options, Server, serve};
///
/// let server = Server::new(agents, Options::default());
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:8787").await?;
/// serve(listener, server.router(), async {
///     let _ = tokio::signal::ctrl_c().await;
///     // Readers come back, here or elsewhere.
///     server.let_go();
/// })
/// .await;
/// # Ok(())
/// # }
/// ```
pub async fn serve(listener: TcpListener, routes: Router, stop: impl Future<Output = ()>) {
    // Made ready once: from here on a clone is a pointer.
    let routes = TowerToHyperService::new(routes.with_state(()));
    let connections = GracefulShutdown::new();
    let (stopping, stopped) = watch::channel(false);
    let mut stop = pin!(stop);
    loop {
        let taken = tokio::select! {
            taken = listener.accept() => taken,
            () = &mut stop => break,
        };
        match taken {
            Ok((stream, _)) => {
                let connection = Connection {
                    stream,
                    routes: routes.clone(),
                    stopped: stopped.clone(),
                    watcher: connections.watcher(),
                };
                tokio::spawn(connection.serve());
            }
            // One that was given up before it was taken.
            Err(error) if is_of_connection(&error) => {}
            Err(error) => {
                tracing::error!(%error, "no connection can be taken");
                sleep(PAUSE).await;
            }
        }
    }
    drop(listener);
    stopping.send_replace(true);
    connections.shutdown().await;
}

fn is_of_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

/// Whether a connection begins as HTTP/2 does.
async fn speaks_http2(stream: &TcpStream) -> io::Result<bool> {
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

/// A connection that was taken. Its task ends with it, or when the server does.
struct Connection {
    stream: TcpStream,
    routes: TowerToHyperService<Router>,
    stopped: watch::Receiver<bool>,
    watcher: Watcher,
}

impl Connection {
    async fn serve(mut self) {
        // A stream is many small pieces: each is sent at once, also where the last one was not yet confirmed.
        if let Err(error) = self.stream.set_nodelay(true) {
            tracing::debug!(%error, "a connection may hold back small pieces");
        }
        // Looked at beforehand: who finds out while reading keeps twice the room for what is read.
        let looked = tokio::select! {
            looked = timeout(HEAD, speaks_http2(&self.stream)) => looked,
            _ = self.stopped.wait_for(|stopped| *stopped) => return,
        };
        let Ok(Ok(http2)) = looked else { return };
        let Self { stream, routes, watcher, .. } = self;
        let stream = TokioIo::new(stream);
        let served = if http2 {
            let mut http2 = http2::Builder::new(TokioExecutor::new());
            http2.timer(TokioTimer::new()).keep_alive_interval(HEAD).keep_alive_timeout(HEAD);
            Box::pin(watcher.watch(http2.serve_connection(stream, routes))).await
        } else {
            let mut http1 = http1::Builder::new();
            http1.timer(TokioTimer::new()).header_read_timeout(HEAD);
            watcher.watch(http1.serve_connection(stream, routes)).await
        };
        if let Err(error) = served {
            tracing::debug!(%error, "a connection was cut");
        }
    }
}
