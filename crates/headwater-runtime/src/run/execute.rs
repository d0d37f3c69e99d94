//! The execution of a node: its code is polled until it gives something, fails, or waits.

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

use super::{EntryState, NodeRun, RunShared};
use crate::{
    Cx, Error, Next,
    error::ErrorKind,
    replay::DivergenceKind,
    seeing,
    workflow::{Handler, NodeOptions},
};

/// How an execution ended.
#[derive(Debug)]
pub(crate) enum Executed {
    Left(Box<Next>),
    Failed(Error),
    /// Nothing can go on before somebody answers one of these.
    Parked(Vec<RequestId>),
}

/// Runs a node until it gives something, fails, or waits for somebody.
pub(crate) async fn execute(
    run: Arc<RunShared>,
    entry: EntryState,
    retried: bool,
    handler: Handler,
    options: NodeOptions,
) -> (Arc<NodeRun>, Executed) {
    let node = Arc::new(NodeRun::new(run, entry, retried));
    let span = seeing::node_span(&node);
    let run = run_node(&node, &handler).instrument(span.clone());
    let executed = match options.timeout {
        None => run.await,
        Some(limit) => timeout(limit, run).await.unwrap_or_else(|_| {
            let message = format!("node `{}` took longer than {limit:?}", node.visit.node);
            Executed::Failed(Error::new(ErrorKind::Timeout, message))
        }),
    };
    if let Executed::Failed(error) = &executed {
        seeing::failed(&span, error.code());
    }
    (node, executed)
}

async fn run_node(node: &Arc<NodeRun>, handler: &Handler) -> Executed {
    let cx = Cx::new(node.clone());
    let future = match std::panic::catch_unwind(AssertUnwindSafe(|| handler(cx, node.input.clone()))) {
        Ok(Ok(future)) => future,
        Ok(Err(error)) => return Executed::Failed(error),
        Err(panic) => return Executed::Failed(panicked(node, &*panic)),
    };
    let mut future = pin!(AssertUnwindSafe(future).catch_unwind());
    let poll = |cx: &mut Context<'_>| {
        node.is_polled.store(true, Ordering::Relaxed);
        let polled = future.as_mut().poll(cx);
        node.is_polled.store(false, Ordering::Relaxed);
        // What ends the run is not for the node to catch.
        if let Some(error) = node.run.fatal() {
            return Poll::Ready(Executed::Failed(error));
        }
        match polled {
            Poll::Ready(Ok(Ok(next))) => Poll::Ready(match node.unasked() {
                Some(key) => {
                    let what = format!("`{key}` is in the journal and was not called");
                    let recorded = node.recorded_kind(&key).map(Value::from);
                    Executed::Failed(node.differs(DivergenceKind::Missing, &key, recorded, None, &what))
                }
                None => Executed::Left(Box::new(next)),
            }),
            Poll::Ready(Ok(Err(error))) => Poll::Ready(Executed::Failed(error.into_error())),
            Poll::Ready(Err(panic)) => Poll::Ready(Executed::Failed(panicked(node, &*panic))),
            Poll::Pending => match node.parked() {
                Some(requests) => Poll::Ready(Executed::Parked(requests)),
                None => Poll::Pending,
            },
        }
    };
    std::future::poll_fn(poll).await
}

fn panicked(node: &NodeRun, panic: &(dyn Any + Send)) -> Error {
    let said = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without a word");
    Error::new(ErrorKind::Panic, format!("node `{}` panicked: {said}", node.visit.node))
}
