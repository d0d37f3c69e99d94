//! A model that emits text when a test lets it.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use futures_util::{StreamExt as _, stream};
use headwater_models::{Model, ModelEvent, ModelRequest, ModelStream};
use headwater_protocol::{FinishReason, Usage};
use tokio::sync::Semaphore;

/// A model that emits a text over and over.
#[derive(Debug, Clone)]
pub(crate) struct StreamingModel(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    delta: String,
    times: usize,
    asked: AtomicU64,
    said: AtomicU64,
    /// Each delta takes one.
    permits: Semaphore,
}

impl StreamingModel {
    /// Emits a text this many times, at once.
    pub(crate) fn new(delta: impl Into<String>, times: usize) -> Self {
        let talker = Self::quiet(delta, times);
        talker.speak(Semaphore::MAX_PERMITS);
        talker
    }

    /// Emits a text this many times, each on demand.
    pub(crate) fn quiet(delta: impl Into<String>, times: usize) -> Self {
        let (asked, said) = (AtomicU64::new(0), AtomicU64::new(0));
        Self(Arc::new(Inner { delta: delta.into(), times, asked, said, permits: Semaphore::new(0) }))
    }

    /// Releases this many more deltas.
    pub(crate) fn speak(&self, times: usize) {
        self.0.permits.add_permits(times);
    }

    pub(crate) fn asked(&self) -> u64 {
        self.0.asked.load(Ordering::Relaxed)
    }

    /// The number of deltas consumed.
    pub(crate) fn said(&self) -> u64 {
        self.0.said.load(Ordering::Relaxed)
    }
}

impl Model for StreamingModel {
    fn name(&self) -> &str {
        "test:streaming"
    }

    fn ask(&self, _: ModelRequest) -> ModelStream {
        let inner = self.0.clone();
        inner.asked.fetch_add(1, Ordering::Relaxed);
        let times = inner.times;
        let says = stream::iter(0..times).then(move |_| {
            let inner = inner.clone();
            async move {
                inner.permits.acquire().await.unwrap().forget();
                inner.said.fetch_add(1, Ordering::Relaxed);
                Ok(ModelEvent::TextDelta { part: 0, delta: inner.delta.clone() })
            }
        });
        let start = stream::iter([Ok(ModelEvent::TextStart { part: 0, metadata: None })]);
        let end = stream::iter([
            Ok(ModelEvent::TextEnd { part: 0, metadata: None }),
            Ok(ModelEvent::Finished {
                reason: FinishReason::Stop,
                raw_reason: None,
                usage: Usage::default(),
                raw_usage: None,
                raw: Some(serde_json::json!({ "times": times })),
                metadata: None,
            }),
        ]);
        Box::pin(start.chain(says).chain(end))
    }
}

impl From<StreamingModel> for headwater_runtime::ModelRef {
    fn from(talker: StreamingModel) -> Self {
        Self::Model(Arc::new(talker))
    }
}
