//! The execution of a node: its code is polled until it returns, fails, or waits.

use std::{
    any::Any,
    future::Future as _,
    panic::AssertUnwindSafe,
    pin::pin,
    sync::{Arc, atomic::Ordering},
    task::{Context, Poll},
};

use futures_util::FutureExt as _;
use headwater_protocol::RequestId;
use serde_json::Value;
use tokio::time::timeout;
use tracing::Instrument as _;

use crate::{
    Cx, Error, Next,
    error::ErrorKind,
    node::{ActiveRun, DivergenceKind, EntryState, NodeVisit},
    telemetry,
    workflow::{Handler, NodeOptions},
};

/// How an execution ended.
#[derive(Debug)]
pub(crate) enum NodeOutcome {
    Left(Box<Next>),
    Failed(Error),
    /// It continues when one of these requests is answered.
    Parked(Vec<RequestId>),
}

/// Runs a node until it returns, fails, or waits for an answer.
pub(crate) async fn execute(
    run: Arc<ActiveRun>,
    entry: EntryState,
    retried: bool,
    handler: Handler,
    options: NodeOptions,
) -> (Arc<NodeVisit>, NodeOutcome) {
    let node = Arc::new(NodeVisit::new(run, entry, retried));
    let span = telemetry::node_span(&node.visit.node, &node.name);
    let run = run_node(&node, &handler).instrument(span.clone());
    let executed = match options.timeout {
        None => run.await,
        Some(limit) => timeout(limit, run).await.unwrap_or_else(|_| {
            let message = format!("node `{}` took longer than {limit:?}", node.visit.node);
            NodeOutcome::Failed(Error::new(ErrorKind::Timeout, message))
        }),
    };
    if let NodeOutcome::Failed(error) = &executed {
        telemetry::failed(&span, error.code());
    }
    (node, executed)
}

async fn run_node(node: &Arc<NodeVisit>, handler: &Handler) -> NodeOutcome {
    let cx = Cx::new(node.clone());
    let future = match std::panic::catch_unwind(AssertUnwindSafe(|| handler(cx, node.input.clone()))) {
        Ok(Ok(future)) => future,
        Ok(Err(error)) => return NodeOutcome::Failed(error),
        Err(panic) => return NodeOutcome::Failed(panicked(node, &*panic)),
    };
    let mut future = pin!(AssertUnwindSafe(future).catch_unwind());
    let poll = |cx: &mut Context<'_>| {
        node.is_polled.store(true, Ordering::Relaxed);
        let polled = future.as_mut().poll(cx);
        node.is_polled.store(false, Ordering::Relaxed);
        // A fatal error of the run must not be caught by the node.
        if let Some(error) = node.run.fatal() {
            return Poll::Ready(NodeOutcome::Failed(error));
        }
        match polled {
            Poll::Ready(Ok(Ok(next))) => Poll::Ready(match node.unasked() {
                Some(key) => {
                    let what = format!("`{key}` is in the journal and was not called");
                    let recorded = node.recorded_kind(&key).map(Value::from);
                    NodeOutcome::Failed(node.differs(DivergenceKind::Missing, &key, recorded, None, &what))
                }
                None => NodeOutcome::Left(Box::new(next)),
            }),
            Poll::Ready(Ok(Err(error))) => Poll::Ready(NodeOutcome::Failed(error.into_error())),
            Poll::Ready(Err(panic)) => Poll::Ready(NodeOutcome::Failed(panicked(node, &*panic))),
            Poll::Pending => match node.parked() {
                Some(requests) => Poll::Ready(NodeOutcome::Parked(requests)),
                None => Poll::Pending,
            },
        }
    };
    std::future::poll_fn(poll).await
}

fn panicked(node: &NodeVisit, panic: &(dyn Any + Send)) -> Error {
    let said = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without a word");
    Error::new(ErrorKind::Panic, format!("node `{}` panicked: {said}", node.visit.node))
}
