//! Node functions.

use std::{future::Future, pin::Pin, sync::Arc};

use serde::de::DeserializeOwned;

use crate::{Cx, NodeInput, NodeResult, Result};

/// An async function that can be a node: `async fn(Cx, T) -> NodeResult`.
///
/// A node owns its input, because it may be run again: `String`, not `&str`. The compiler reports a borrowed
/// input as "implementation of `Deserialize` is not general enough".
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a node",
    label = "not an async function of a `Cx` and an input",
    note = "a node is an `async fn(cx: Cx, input: T) -> NodeResult`; `T` is `String` for the raw input, `()` for none, or a type with `Deserialize`"
)]
pub trait NodeFunction<T>: Send + Sync + 'static {
    /// Runs the node.
    fn run(&self, cx: Cx, input: T) -> Pin<Box<dyn Future<Output = NodeResult> + Send>>;
}

impl<T, F, Fut> NodeFunction<T> for F
where
    F: Fn(Cx, T) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = NodeResult> + Send + 'static,
{
    fn run(&self, cx: Cx, input: T) -> Pin<Box<dyn Future<Output = NodeResult> + Send>> {
        Box::pin(self(cx, input))
    }
}

/// A node function with its input type erased.
pub(crate) type Handler =
    Arc<dyn Fn(Cx, NodeInput) -> Result<Pin<Box<dyn Future<Output = NodeResult> + Send>>> + Send + Sync>;

pub(crate) fn erase<T: DeserializeOwned + 'static>(function: impl NodeFunction<T>) -> Handler {
    Arc::new(move |cx, input| Ok(function.run(cx, input.read()?)))
}
