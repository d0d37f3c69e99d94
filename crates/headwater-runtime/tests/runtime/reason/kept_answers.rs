//! Answers that a provider keeps: the next process reads them from there.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use futures_util::{StreamExt as _, stream};
use headwater_models::{Model, ModelEvent, ModelRequest, ModelStream};
use headwater_protocol::{Event, FinishReason, RunStatus, Usage};
use headwater_runtime::{AgentBuilder, Cx, Next, NodeResult, Run, Start};

use crate::harness::{TestRun, World, memory, one};

/// A model whose provider keeps its answers. The first process gets half of one.
#[derive(Debug, Clone, Default)]
struct Keeping {
    asked: Arc<AtomicU32>,
    resumed: Arc<AtomicU32>,
    cancelled: Arc<AtomicU32>,
    /// Whether the provider has forgotten the answer.
    forgets: bool,
}

fn half() -> Vec<ModelEvent> {
    vec![
        ModelEvent::Started { id: Some("answer-1".to_owned()), model: None },
        ModelEvent::Resumable { answer: "answer-1".to_owned() },
        ModelEvent::TextStart { part: 0, metadata: None },
        ModelEvent::TextDelta { part: 0, delta: "Half".to_owned() },
    ]
}

fn whole() -> ModelStream {
    let rest = [
        ModelEvent::TextDelta { part: 0, delta: " and whole.".to_owned() },
        ModelEvent::TextEnd { part: 0, metadata: None },
        ModelEvent::Finished {
            reason: FinishReason::Stop,
            raw_reason: None,
            usage: Usage::default(),
            raw_usage: None,
            metadata: None,
            raw: None,
        },
    ];
    Box::pin(stream::iter(half().into_iter().chain(rest).map(Ok)))
}

impl Model for Keeping {
    fn name(&self) -> &str {
        "keeping:one"
    }

    fn ask(&self, _: ModelRequest) -> ModelStream {
        if self.asked.fetch_add(1, Ordering::SeqCst) > 0 {
            return whole();
        }
        Box::pin(stream::iter(half().into_iter().map(Ok)).chain(stream::pending()))
    }

    fn resume(&self, answer: &str) -> Option<ModelStream> {
        assert_eq!(answer, "answer-1");
        self.resumed.fetch_add(1, Ordering::SeqCst);
        let gone =
            headwater_models::ModelError::new(headwater_models::ModelErrorKind::InvalidRequest, "gone");
        Some(if self.forgets { Box::pin(stream::iter([Err(gone)])) } else { whole() })
    }

    fn cancel(&self, answer: &str) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        assert_eq!(answer, "answer-1");
        self.cancelled.fetch_add(1, Ordering::SeqCst);
        Box::pin(std::future::ready(()))
    }
}

async fn reply(cx: Cx, input: String) -> NodeResult {
    cx.reason("m").input(input).await?;
    Ok(Next::go())
}

async fn half_is_shown(run: &Run) {
    let mut events = std::pin::pin!(run.events(0));
    while !matches!(events.next().await.unwrap().unwrap().event, Event::BlockDelta(_)) {}
}

/// The run after its process died in the middle of the answer.
async fn after_a_crash(model: &Keeping) -> TestRun {
    let (store, clock) = memory();
    let build = |agent: AgentBuilder| agent.workflow(one(reply)).model("m", Arc::new(model.clone()));
    let before = World::on(store, clock.clone(), build);
    let run = before.agent.start(Start::new("hello")).await.unwrap();
    half_is_shown(&run).await;
    before.agent.abandon();
    clock.advance(Duration::from_secs(60));
    let world = before.restarted(build);
    world.agent.recover().await.unwrap();
    world.idle().await;
    TestRun::of(&world.agent, world.agent.run(run.id().clone())).await
}

#[tokio::test]
async fn kept_answer_is_read_by_the_next_process_instead_of_asked_again() {
    let model = Keeping::default();
    let ran = after_a_crash(&model).await;
    assert_eq!((ran.status(), &*ran.text()), (RunStatus::Finished, "Half and whole."));
    assert_eq!((model.asked.load(Ordering::SeqCst), model.resumed.load(Ordering::SeqCst)), (1, 1));
    assert_eq!(model.cancelled.load(Ordering::SeqCst), 0, "a crash cancels nothing");
}

#[tokio::test]
async fn answer_that_the_provider_has_forgotten_is_asked_again() {
    let model = Keeping { forgets: true, ..Keeping::default() };
    let ran = after_a_crash(&model).await;
    assert_eq!((ran.status(), &*ran.text()), (RunStatus::Finished, "Half and whole."));
    assert_eq!((model.asked.load(Ordering::SeqCst), model.resumed.load(Ordering::SeqCst)), (2, 1));
}

#[tokio::test]
async fn stop_cancels_an_answer_that_the_provider_keeps() {
    let model = Keeping::default();
    let world = World::with(one(reply), |agent| agent.model("m", Arc::new(model.clone())));
    let run = world.agent.start(Start::new("hello")).await.unwrap();
    half_is_shown(&run).await;
    world.agent.stop(run.id(), None).await.unwrap().outcome().await.unwrap();
    while model.cancelled.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
}
