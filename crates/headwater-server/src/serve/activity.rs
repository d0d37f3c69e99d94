//! Activity of an HTTP/2 connection: whether a request is open, and whether each reader makes progress.
//!
//! A peer that answers pings keeps such a connection alive forever, and one that keeps its window closed stops a stream without
//! stopping the connection. So both are counted where requests and bodies pass.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use axum::{Router, body::Body};
use bytes::Bytes;
use hyper::{
    Request, Response,
    body::{Body as HttpBody, Frame, Incoming, SizeHint},
    rt::Executor,
    service::Service,
};
use hyper_util::service::TowerToHyperService;
use tokio::{
    sync::watch,
    time::{sleep, timeout},
};

/// The requests of a connection that are open.
#[derive(Debug, Default)]
pub(super) struct Activity {
    open: watch::Sender<usize>,
}

impl Activity {
    /// Ends when no request was open for this long.
    pub(super) async fn idle(&self, limit: Duration) {
        let mut open = self.open.subscribe();
        loop {
            let changed = timeout(limit, open.changed()).await;
            if changed.is_err() && *open.borrow_and_update() == 0 {
                return;
            }
        }
    }
}

/// A request that is open for as long as this lives.
struct OpenRequest(Arc<Activity>);

impl OpenRequest {
    fn new(activity: &Arc<Activity>) -> Self {
        activity.open.send_modify(|open| *open += 1);
        Self(activity.clone())
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        self.0.open.send_modify(|open| *open = open.saturating_sub(1));
    }
}

/// Routes that count requests until their responses have been read.
pub(super) struct CountedRoutes {
    routes: TowerToHyperService<Router>,
    activity: Arc<Activity>,
}

impl CountedRoutes {
    pub(super) fn new(routes: TowerToHyperService<Router>, activity: Arc<Activity>) -> Self {
        Self { routes, activity }
    }
}

impl Service<Request<Incoming>> for CountedRoutes {
    type Response = Response<CountedBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let open = OpenRequest::new(&self.activity);
        let response = self.routes.call(request);
        Box::pin(async move { Ok(response.await?.map(|body| CountedBody { body, _open: open })) })
    }
}

/// The body of a response, which records when its reader takes a piece.
pub(super) struct CountedBody {
    body: Body,
    _open: OpenRequest,
}

impl HttpBody for CountedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        // Outside a task of `StreamTasks` nothing is recorded.
        let _ = STREAM_PROGRESS.try_with(|taken| taken.note(matches!(frame, Poll::Ready(Some(Ok(_))))));
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Number of pieces polled from a stream's body; each poll means that its reader has taken the previous one.
#[derive(Debug, Default)]
struct StreamProgress {
    asked: AtomicU64,
    /// Whether it returned a piece that the reader has not taken yet.
    gave: AtomicBool,
}

tokio::task_local! {
    static STREAM_PROGRESS: Arc<StreamProgress>;
}

impl StreamProgress {
    fn note(&self, gave: bool) {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.gave.store(gave, Ordering::Relaxed);
    }

    /// Ends when a piece was not taken for this long, or up to twice that: the clock is checked once in that time.
    async fn stalled(&self, limit: Duration) {
        let mut before = None;
        loop {
            sleep(limit).await;
            let asked = self.gave.load(Ordering::Relaxed).then(|| self.asked.load(Ordering::Relaxed));
            if asked.is_some() && asked == before {
                return;
            }
            before = asked;
        }
    }
}

/// Runs the streams of a connection, each as a task that ends when its reader stalls.
#[derive(Debug, Clone)]
pub(super) struct StreamTasks {
    stall: Duration,
}

impl StreamTasks {
    pub(super) fn new(stall: Duration) -> Self {
        Self { stall }
    }
}

impl<F> Executor<F> for StreamTasks
where
    F: Future<Output: Send> + Send + 'static,
{
    fn execute(&self, stream: F) {
        let stall = self.stall;
        tokio::spawn(async move {
            let taken = Arc::new(StreamProgress::default());
            tokio::select! {
                _ = STREAM_PROGRESS.scope(taken.clone(), stream) => {}
                // To drop a stream resets it.
                () = taken.stalled(stall) => tracing::debug!("a stream was closed: its reader takes nothing"),
            }
        });
    }
}
