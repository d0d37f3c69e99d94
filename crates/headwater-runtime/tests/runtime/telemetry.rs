//! Telemetry of a run: spans, their nesting, and what they must not contain.

use std::{
    collections::BTreeMap,
    fmt::{Debug, Write as _},
    sync::{Arc, Mutex},
};

use headwater_models::{
    ModelError, ModelErrorKind,
    scripted::{Call, Fault, Rule, ScriptedModel, When},
};
use headwater_runtime::{Choice, Cx, Next, NodeResult, Start};
use headwater_tools::{FunctionTool, ToolContext, ToolError, schemars::JsonSchema};
use serde::Deserialize;
use serde_json::json;
use tracing::{
    Instrument as _, Subscriber,
    field::{Field, Visit},
    instrument::WithSubscriber as _,
    span::{Attributes, Id, Record},
};
use tracing_subscriber::{
    Layer,
    layer::{Context, SubscriberExt as _},
    registry::LookupSpan,
};

use crate::harness::{World, one, scripted};

/// The last known state of a span.
#[derive(Debug, Clone, Default)]
struct SpanState {
    name: &'static str,
    parent: Option<u64>,
    follows: Option<u64>,
    fields: BTreeMap<&'static str, String>,
    closed: bool,
}

impl SpanState {
    fn field(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", String::as_str)
    }
}

impl Visit for SpanState {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.fields.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.fields.insert(field.name(), value.to_owned());
    }
}

/// Collects all spans, in the order they began.
#[derive(Debug, Clone, Default)]
struct Spans(Arc<Mutex<Vec<(u64, SpanState)>>>);

impl Spans {
    fn change(&self, id: &Id, change: impl FnOnce(&mut SpanState)) {
        let mut spans = self.0.lock().unwrap();
        // An id is reused once its span is closed.
        if let Some((_, seen)) = spans.iter_mut().rev().find(|(known, _)| *known == id.into_u64()) {
            change(seen);
        }
    }

    fn all(&self) -> Vec<(u64, SpanState)> {
        self.0.lock().unwrap().clone()
    }

    /// The spans with this name.
    fn named(&self, name: &str) -> Vec<SpanState> {
        self.all().into_iter().map(|(_, seen)| seen).filter(|seen| seen.name == name).collect()
    }

    /// The span tree as indented lines of exported span names.
    fn tree(&self) -> String {
        let spans = self.all();
        let mut lines = String::new();
        let mut depths: BTreeMap<u64, usize> = BTreeMap::new();
        for (id, seen) in &spans {
            let depth = seen.parent.and_then(|parent| depths.get(&parent)).map_or(0, |depth| depth + 1);
            depths.insert(*id, depth);
            writeln!(lines, "{:width$}{}", "", seen.field("otel.name"), width = depth * 2).unwrap();
        }
        lines
    }
}

impl<S: Subscriber + for<'span> LookupSpan<'span>> Layer<S> for Spans {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if !attributes.metadata().target().starts_with("headwater") {
            return;
        }
        let mut seen = SpanState { name: attributes.metadata().name(), ..SpanState::default() };
        seen.parent = context.span(id).unwrap().parent().map(|parent| parent.id().into_u64());
        attributes.record(&mut seen);
        self.0.lock().unwrap().push((id.into_u64(), seen));
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, _: Context<'_, S>) {
        self.change(id, |seen| values.record(seen));
    }

    fn on_follows_from(&self, id: &Id, follows: &Id, _: Context<'_, S>) {
        self.change(id, |seen| seen.follows = Some(follows.into_u64()));
    }

    fn on_close(&self, id: Id, _: Context<'_, S>) {
        self.change(&id, |seen| seen.closed = true);
    }
}

#[derive(Deserialize, JsonSchema)]
struct City {
    city: String,
}

fn weather() -> FunctionTool<City> {
    FunctionTool::new("weather", |input: City, _: ToolContext| async move {
        // Yields, so that spans are exited and entered again.
        tokio::task::yield_now().await;
        if input.city == "Atlantis" {
            return Err(ToolError::new("secret: it is under water"));
        }
        Ok(format!("secret: sunny in {}", input.city))
    })
}

async fn node(cx: Cx, input: String) -> NodeResult {
    let reply = cx.reason("writer").agent_tools(["weather"]).input(input).await?;
    Ok(Next::message(reply.text))
}

fn world(model: ScriptedModel) -> World {
    World::with(one(node), |agent| agent.name("guide").model("writer", model).tool(weather()))
}

/// Runs a future and returns the spans it created.
async fn seen<T>(work: impl Future<Output = T>) -> (T, Spans) {
    let spans = Spans::default();
    let subscriber = tracing_subscriber::registry().with(spans.clone());
    // Everything runs on one thread, so that spawned tasks have the same subscriber.
    let guard = tracing::subscriber::set_default(subscriber);
    let done = work.with_current_subscriber().await;
    drop(guard);
    (done, spans)
}

#[tokio::test]
async fn run_span_contains_nodes_with_model_calls_and_tools() {
    let calls = ["Oslo", "Rome"].map(|city| Call::new("weather", json!({ "city": city })));
    let model = scripted([
        Rule::when(When::pass(0)).text("secret: let me see").tools(calls),
        Rule::always().text("secret: it is {tool.weather}"),
    ]);
    let world = world(model);
    let (_, spans) = seen(async {
        let request = tracing::info_span!(target: "headwater_test", "request", otel.name = "request");
        let began = world.agent.start(Start::new("secret question")).instrument(request);
        began.await.unwrap().outcome().await.unwrap();
        world.idle().await;
    })
    .await;
    assert_eq!(
        spans.tree(),
        "request\n\
         invoke_agent guide\n\
         \x20 node node\n\
         \x20   chat test\n\
         \x20   execute_tool weather\n\
         \x20   execute_tool weather\n\
         \x20   chat test\n"
    );
    let all = spans.all();
    let (request, run) = (all[0].0, &spans.named("run")[0]);
    assert_eq!(run.follows, Some(request), "a run is not part of the request, which may be over before");
    assert_eq!(run.field("gen_ai.operation.name"), "invoke_agent");
    assert_eq!(run.field("gen_ai.agent.name"), "guide");
    assert_eq!(run.field("headwater.resumed"), "false");
    for (finish, call) in ["tool_calls", "stop"].iter().zip(spans.named("model")) {
        assert_eq!(call.field("gen_ai.operation.name"), "chat");
        assert_eq!(call.field("gen_ai.provider.name"), "scripted");
        assert_eq!(call.field("gen_ai.request.model"), "test");
        assert_eq!(call.field("gen_ai.response.finish_reasons"), *finish);
        assert!(call.field("gen_ai.usage.input_tokens").parse::<u64>().unwrap() > 0, "{call:?}");
        assert!(call.field("gen_ai.usage.output_tokens").parse::<u64>().unwrap() > 0, "{call:?}");
        assert!(call.field("gen_ai.response.time_to_first_chunk").parse::<f64>().is_ok(), "{call:?}");
        assert_eq!(call.field("error.type"), "");
    }
    let tool = &spans.named("tool")[0];
    assert_eq!(tool.field("gen_ai.operation.name"), "execute_tool");
    assert_eq!(tool.field("gen_ai.tool.name"), "weather");
    assert_eq!(tool.field("gen_ai.tool.type"), "function");
    assert!(!tool.field("gen_ai.tool.call.id").is_empty());
    assert!(all.iter().all(|(_, seen)| seen.closed), "{all:?}");
    let said = format!("{all:?}");
    assert!(!said.contains("secret") && !said.contains("Oslo"), "content is in no span: {said}");
}

#[tokio::test]
async fn failed_span_has_the_code_and_not_the_message() {
    let model = scripted([
        Rule::when(When::pass(0)).tools([Call::new("weather", json!({ "city": "Atlantis" }))]),
        Rule::always().fault(Fault::error(ModelError::new(ModelErrorKind::Auth, "secret: a wrong key"))),
    ]);
    let world = world(model);
    let (_, spans) = seen(async {
        world.run("x").await;
        world.idle().await;
    })
    .await;
    let error = |name: &str| {
        let last = spans.named(name).pop().unwrap();
        (last.field("otel.status_code").to_owned(), last.field("error.type").to_owned())
    };
    let is = |code: &str| ("ERROR".to_owned(), code.to_owned());
    assert_eq!(error("tool"), is("tool.failed"));
    assert_eq!(error("node").0, "ERROR");
    assert_eq!(error("run").0, "ERROR");
    assert_eq!(error("model").0, "ERROR");
    assert!(!error("run").1.is_empty() && !error("model").1.is_empty());
    assert!(!format!("{:?}", spans.all()).contains("secret"));
}

async fn choose(cx: Cx, _: String) -> NodeResult {
    let answer = cx.interrupt(Choice::new("Which?").option("a", "A")).await?;
    Ok(Next::message(answer))
}

#[tokio::test]
async fn resumed_run_has_a_new_span_with_the_same_name() {
    let world = World::of(one(choose));
    let (run, spans) = seen(async {
        let waits = world.run("x").await;
        world.idle().await;
        waits.answer("a").await;
        world.idle().await;
        waits.id().as_str().to_owned()
    })
    .await;
    let runs = spans.named("run");
    let told: Vec<_> =
        runs.iter().map(|run| (run.field("headwater.run"), run.field("headwater.resumed"))).collect();
    assert_eq!(told, [(run.as_str(), "false"), (run.as_str(), "true")]);
    assert!(runs.iter().all(|run| run.closed && run.field("error.type").is_empty()), "{runs:?}");
}
