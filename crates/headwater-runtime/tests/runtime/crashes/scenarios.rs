//! The workflows of the crash tests, one for each kind of work that a crash can interrupt.

mod full;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use headwater_models::{
    ModelError, ModelErrorKind,
    scripted::{Call, Fault, Rule, Script, ScriptedModel, When},
};
use headwater_protocol::{Interrupt, InterruptKind, ToolSpec};
use headwater_runtime::{
    Agent, AgentBuilder, AgentOptions, Answer, AnswerValue, Ask, Choice, Cx, END, Failover, Next, NodeError,
    NodeOptions, NodeResult, OnError, OpenQuestion, Retry, START, StructuredOutput, Text, ToolOptions,
    Workflow, WorkflowBuilder,
};
use headwater_tools::{Approval, ClientTool, FunctionTool, ToolContext, ToolError, Tools, UnfinishedPolicy};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Side effects outside the process, which survive its death: how often each happened.
#[derive(Debug, Clone, Default)]
pub(super) struct World(Arc<Mutex<BTreeMap<String, u32>>>);

impl World {
    pub(super) fn did(&self, what: impl Into<String>) -> u32 {
        let mut done = self.0.lock().unwrap();
        let times = done.entry(what.into()).or_default();
        *times += 1;
        *times
    }

    pub(super) fn done(&self) -> BTreeMap<String, u32> {
        self.0.lock().unwrap().clone()
    }
}

/// A workflow and its models.
pub(super) struct Scenario {
    pub(super) name: &'static str,
    /// Builds the agent without its store, and its models.
    pub(super) build: fn(&World) -> (AgentBuilder, Vec<ScriptedModel>),
    /// Parts of parallel branches arrive in any order.
    pub(super) parallel: bool,
    /// Failures are decided outside, so a crash may save the run a retry.
    pub(super) flaky: bool,
    /// It ends when its journal is full; takeovers make that happen earlier.
    pub(super) full: bool,
}

pub(super) const ALL: &[Scenario] = &[
    scenario("talk", talk),
    scenario("object", object),
    scenario("tools", tools),
    scenario("fragile tool", |world| one_tool(world, UnfinishedPolicy::Fail)),
    scenario("asking tool", |world| one_tool(world, UnfinishedPolicy::Ask)),
    scenario("approvals", approvals),
    scenario("questions", questions),
    scenario("guard", guard),
    Scenario { parallel: true, ..scenario("branches", branches) },
    scenario("failover", failover),
    Scenario { flaky: true, ..scenario("retries", retries) },
    scenario("transitions", transitions),
    scenario("quiet", quiet),
    scenario("large outputs", |world| large(world, 4_000)),
    scenario("large answer", |world| large(world, 400)),
    Scenario { full: true, ..scenario("full journal", full::full) },
];

const fn scenario(name: &'static str, build: fn(&World) -> (AgentBuilder, Vec<ScriptedModel>)) -> Scenario {
    Scenario { name, build, parallel: false, flaky: false, full: false }
}

fn agent(workflow: WorkflowBuilder, model: &ScriptedModel) -> AgentBuilder {
    Agent::builder().workflow(workflow.build().unwrap()).model("m", model.clone())
}

fn model(script: Script) -> ScriptedModel {
    ScriptedModel::new(script.chunk(9))
}

fn asks(asked: &Interrupt, what: &str) -> bool {
    asked.question.as_deref().is_some_and(|question| question.contains(what))
}

/// Whether the question is about a tool that was running when the process died.
pub(super) fn is_about_a_crash(asked: &Interrupt) -> bool {
    asks(asked, "process died")
}

/// The same answer to the same question every time.
pub(super) fn answer(question: &OpenQuestion) -> Answer {
    let request = question.request.clone();
    let answered = match (question.interrupt(), question.approval()) {
        (Some(asked), _) if asks(asked, "decline") => Answer::declined(request),
        (Some(asked), _) if is_about_a_crash(asked) => Answer::given(request, "repeat"),
        (Some(asked), _) if asked.kind == InterruptKind::Choice => {
            Answer::given(request, asked.options[0].id.clone())
        }
        (Some(_), _) => Answer::given(request, "blue"),
        (None, Some((tool, _))) if tool.name == "delete" => Answer::denied(request, Some("too risky")),
        (None, Some(_)) => Answer::approved(request),
        (None, None) => Answer::new(request, AnswerValue::Output(json!({ "lat": 59.9 }))),
    };
    answered.by(None)
}

/// Text, reasoning, emits, steps, state, and a loop.
fn talk(world: &World) -> (AgentBuilder, Vec<ScriptedModel>) {
    async fn speak(cx: Cx, world: World) -> NodeResult {
        let round = cx.node_state("round", 0_u32)?;
        round.update(|round| round + 1)?;
        let seen = cx.workflow_state("seen", Vec::<u32>::new())?;
        seen.update(|mut seen| {
            seen.push(seen.len() as u32);
            seen
        })?;
        cx.emit().status(format!("round {}", round.get()?))?;
        let (now, number, id) = (cx.now()?, cx.random()?, cx.id()?);
        let visit = round.get()?;
        let paid = cx
            .step("pay", || async move {
                world.did(format!("step pay {visit}"));
                Ok((now, number, id))
            })
            .await?;
        cx.emit().transient("receipt", json!(visit))?;
        let reply = cx.reason("m").input(format!("round {visit}")).await?;
        cx.emit().source_url(format!("s{visit}"), "https://example.org", None)?;
        let same = (cx.now()?, paid.2.is_empty());
        cx.emit().data("round", Some("r"), json!({ "round": visit, "same": same.1 }))?;
        let next = if visit < 3 { "again" } else { "done" };
        Ok(Next::condition(next)
            .with_data(&json!({ "said": reply.text }))?
            .with_message(format!("end of {visit}")))
    }
    async fn sum(cx: Cx, _: ()) -> NodeResult {
        let seen = cx.workflow_state("seen", Vec::<u32>::new())?.get()?;
        Ok(Next::go().with_structured("sum", json!({ "seen": seen })).with_result(&seen)?)
    }
    let m = model(
        Script::new("talk")
            .rule(Rule::always().reasoning("They want an answer.").text("You said {input}, did you?")),
    );
    let world = world.clone();
    let workflow = Workflow::new("talk")
        .node("speak", move |cx: Cx, (): ()| speak(cx, world.clone()))
        .node("sum", sum)
        .edge(START, "speak")
        .edge_when("speak", "again", "speak")
        .edge_when("speak", "done", "sum")
        .edge("sum", END);
    (agent(workflow, &m), vec![m])
}

/// State that guards a block before a wait, with counted hooks on both sides of it.
fn guard(world: &World) -> (AgentBuilder, Vec<ScriptedModel>) {
    async fn node(cx: Cx, world: World) -> NodeResult {
        let started = cx.node_state("started", None::<String>)?;
        let log = cx.workflow_state("log", Vec::<String>::new())?;
        let note = |what: &str| {
            let what = what.to_owned();
            log.update(|mut log| {
                log.push(what);
                log
            })
        };
        cx.emit().status("begins")?;
        note("before")?;
        if started.get()?.is_none() {
            cx.emit().status("works")?;
            note("guarded")?;
            cx.step("pay", || async { Ok(world.did("step pay before")) }).await?;
            started.set(Some(cx.id()?))?;
        }
        let colour = cx.interrupt(Text::new("Which colour?")).id("colour").await?;
        cx.emit().status("works")?;
        note(&colour)?;
        cx.step("pay", || async { Ok(world.did("step pay after")) }).await?;
        let same = started.get()? == Some(cx.id()?);
        let reply = cx.reason("m").input(colour).await?;
        started.set(None)?;
        let shape = cx.interrupt(Text::new("Which shape?")).id("shape").await?;
        Ok(Next::message(format!("{} {shape} {same}", reply.text)).with_result(&log.get()?)?)
    }
    let m = model(Script::new("guard").rule(Rule::always().text("It is {input}.")));
    let world = world.clone();
    let workflow = Workflow::new("guard")
        .node("node", move |cx: Cx, (): ()| node(cx, world.clone()))
        .edge(START, "node")
        .edge("node", END);
    (agent(workflow, &m), vec![m])
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Draft {
    subject: String,
    body: String,
    bullets: Vec<String>,
}

/// A streamed object that fails validation and is retried, and one that a node shows.
fn object(_: &World) -> (AgentBuilder, Vec<ScriptedModel>) {
    async fn compose(cx: Cx, _: ()) -> NodeResult {
        let shown = StructuredOutput::new("email").set("subject").text("body").append("bullets");
        let draft =
            cx.reason("m").input("write").output::<Draft>().structured(shown).output_retries(1).await?;
        let own = cx.structured("note").stream("note");
        own.set("subject", &draft.output.subject)?;
        own.text("body", "a")?;
        own.text("body", "b")?;
        own.finish(&json!({ "subject": "S", "body": "ab" }))?;
        Ok(Next::data(&draft.output)?)
    }
    let good = json!({ "subject": "Beta", "body": "It is open now, to all.", "bullets": ["fast", "small"] });
    let bad = json!({ "subject": "Beta", "body": "It is open", "bullets": "none" });
    let m = model(
        Script::new("object")
            .rule(Rule::when(When::pass(0)).json(bad))
            .rule(Rule::when(When::input_contains("Answer again")).json(good)),
    );
    let workflow =
        Workflow::new("object").node("compose", compose).edge(START, "compose").edge("compose", END);
    (agent(workflow, &m), vec![m])
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Query {
    q: String,
}

fn counted(world: &World, name: &'static str, unfinished: UnfinishedPolicy) -> FunctionTool<Query> {
    let world = world.clone();
    let call = move |query: Query, context: ToolContext| {
        let world = world.clone();
        async move {
            world.did(format!("tool {name} {}", context.idempotency_key));
            context.progress(headwater_tools::ToolOutput::text("half"));
            tokio::task::yield_now().await;
            match query.q.as_str() {
                "bad" => Err(ToolError::new("it broke")),
                "large" => Ok("large ".repeat(100)),
                found => Ok(format!("found {found}")),
            }
        }
    };
    FunctionTool::new(name, call).unfinished(unfinished)
}

/// Tools in sequence and in parallel, one that fails, one that does not exist.
fn tools(world: &World) -> (AgentBuilder, Vec<ScriptedModel>) {
    async fn search(cx: Cx, _: ()) -> NodeResult {
        let reply = cx.reason("m").input("search").agent_tools(["find", "look"]).await?;
        Ok(Next::data(&json!({ "calls": reply.tool_results.len() }))?)
    }
    let m = model(
        Script::new("tools")
            .rule(Rule::when(When::pass(0)).text("First. ").tool("find", json!({ "q": "one" })))
            .rule(Rule::when(When::pass(1)).tools([
                Call::new("find", json!({ "q": "two" })).id("c2"),
                Call::new("look", json!({ "q": "bad" })).id("c3"),
                Call::new("none", json!({ "q": "x" })).id("c4"),
            ]))
            .rule(Rule::when(When::pass(2)).text("I found {tool.find} at last.")),
    );
    let workflow = Workflow::new("tools").node("search", search).edge(START, "search").edge("search", END);
    let agent = agent(workflow, &m).tool(counted(world, "find", UnfinishedPolicy::Repeat)).tool(counted(
        world,
        "look",
        UnfinishedPolicy::Repeat,
    ));
    (agent, vec![m])
}

fn one_tool(world: &World, unfinished: UnfinishedPolicy) -> (AgentBuilder, Vec<ScriptedModel>) {
    async fn pay(cx: Cx, _: ()) -> NodeResult {
        cx.reason("m").input("pay").agent_tools(["pay"]).await?;
        let sure = cx.interrupt(Text::new("Which colour?")).await?;
        Ok(Next::message(sure))
    }
    let m = model(
        Script::new("pay")
            .rule(Rule::when(When::pass(0)).tool("pay", json!({ "q": "one" })))
            .rule(Rule::when(When::pass(1)).text("That was that.")),
    );
    let workflow = Workflow::new("pay").node("pay", pay).edge(START, "pay").edge("pay", END);
    (agent(workflow, &m).tool(counted(world, "pay", unfinished)), vec![m])
}

/// An approved call, a refused one, and one that the page executes.
fn approvals(world: &World) -> (AgentBuilder, Vec<ScriptedModel>) {
    async fn act(cx: Cx, world: World) -> NodeResult {
        let tools = Tools::new()
            .with(counted(&world, "send", UnfinishedPolicy::Repeat).approval(Approval::Needed))?
            .with(counted(&world, "delete", UnfinishedPolicy::Repeat).approval(Approval::Needed))?
            .with(ClientTool::new(ToolSpec::new("position", json!({ "type": "object" }))))?;
        let reply = cx.reason("m").id("act").input("act").tools(tools).await?;
        Ok(Next::data(&json!({ "calls": reply.tool_results.len() }))?)
    }
    let m = model(
        Script::new("approvals")
            .rule(Rule::when(When::pass(0)).tools([
                Call::new("send", json!({ "q": "mail" })).id("c1"),
                Call::new("delete", json!({ "q": "all" })).id("c2"),
            ]))
            .rule(Rule::when(When::pass(1)).tool("position", json!({})))
            .rule(Rule::when(When::pass(2)).text("You are {tool.position}.")),
    );
    let world = world.clone();
    let workflow = Workflow::new("approvals")
        .node("act", move |cx: Cx, (): ()| act(cx, world.clone()))
        .edge(START, "act")
        .edge("act", END);
    (agent(workflow, &m), vec![m])
}

/// Several questions of a node, a declined one, and one asked by the model.
fn questions(world: &World) -> (AgentBuilder, Vec<ScriptedModel>) {
    async fn ask(cx: Cx, world: World) -> NodeResult {
        let first = cx.interrupt(Text::new("Which colour?")).id("colour").await?;
        let (sizes, kind, maybe) = tokio::join!(
            cx.interrupt(Choice::new("Which size?").option("s", "S").option("m", "M")).id("size"),
            cx.interrupt(Text::new("Which kind?")).id("kind"),
            cx.interrupt(Text::new("Will you decline?")).id("maybe").declinable(),
        );
        assert_eq!(maybe?, None);
        let (sizes, kind) = (sizes?, kind?);
        let order = format!("{first} {sizes} {kind}");
        let order = cx
            .step("order", || async move {
                world.did("step order");
                Ok(order)
            })
            .await?;
        let reply = cx.reason("m").input("sum up").interrupt(Ask::required()).await?;
        Ok(Next::message(format!("{order}: {}", reply.text)))
    }
    let request =
        json!({ "interruptRequest": { "kind": "text", "question": "For whom?" }, "draftText": "…" });
    let m = model(
        Script::new("questions")
            .rule(Rule::when(When::schema(true)).json(request))
            .rule(Rule::always().text("It is for Ben.")),
    );
    let world = world.clone();
    let workflow = Workflow::new("questions")
        .node("ask", move |cx: Cx, (): ()| ask(cx, world.clone()))
        .edge(START, "ask")
        .edge("ask", END);
    (agent(workflow, &m), vec![m])
}

/// Two branches with a model, a person and a tool, and a node where they meet.
fn branches(world: &World) -> (AgentBuilder, Vec<ScriptedModel>) {
    async fn branch(cx: Cx, world: World, name: &'static str) -> NodeResult {
        cx.emit().status(name)?;
        let tools = Tools::new().with(counted(&world, "find", UnfinishedPolicy::Repeat))?;
        let reply = cx.reason("m").id("ask").input(name).tools(tools).await?;
        let colour = cx.interrupt(Text::new(format!("Which colour for {name}?"))).await?;
        let done = cx
            .step("paint", || async move {
                world.did(format!("step paint {name}"));
                Ok(colour)
            })
            .await?;
        Ok(Next::data(&json!({ name: format!("{} {done}", reply.text) }))?)
    }
    async fn meet(cx: Cx, input: Value) -> NodeResult {
        cx.reason("m").input(format!("{} and {}", input["left"], input["right"])).await?;
        Ok(Next::go().with_result(&json!([input["left"], input["right"]]))?)
    }
    let m = model(
        Script::new("branches")
            .rule(
                Rule::when(When::pass(0).and(When::tool_offered("find"))).tools([Call::new(
                    "find",
                    json!({ "q": "{input}" }),
                )
                .id("call-{input}")]),
            )
            .rule(Rule::always().text("I noted {input}.")),
    );
    let (left, right) = (world.clone(), world.clone());
    let workflow = Workflow::new("branches")
        .node("left", move |cx: Cx, (): ()| branch(cx, left.clone(), "left"))
        .node("right", move |cx: Cx, (): ()| branch(cx, right.clone(), "right"))
        .node("meet", meet)
        .edge(START, "left")
        .edge(START, "right")
        .edge("left", "meet")
        .edge("right", "meet")
        .edge("meet", END);
    (agent(workflow, &m), vec![m])
}

/// Models that fail midway: retried, replaced by another, and continued from the partial text.
fn failover(_: &World) -> (AgentBuilder, Vec<ScriptedModel>) {
    async fn speak(cx: Cx, _: ()) -> NodeResult {
        let restarted = cx.reason("m").id("restart").input("restart").fallback("other").await?;
        let shown = StructuredOutput::new("email").set("subject").text("body");
        cx.reason("m").id("object").input("object").output::<Draft>().structured(shown).await?;
        let kept = cx
            .reason("m")
            .id("continue")
            .input("continue")
            .attempts(1)
            .fallback("other")
            .failover(Failover::Continue)
            .await?;
        Ok(Next::data(&json!({ "all": [restarted.text, kept.text] }))?)
    }
    let draft = json!({ "subject": "Beta", "body": "It is open now.", "bullets": [] });
    let busy = ModelError::new(ModelErrorKind::Overloaded, "try again later");
    let m = model(
        Script::new("first")
            .rule(
                Rule::when(When::input("restart").and(When::attempt(0)))
                    .text("It was a dark")
                    .fault(Fault::cut()),
            )
            .rule(Rule::when(When::input("restart")).reasoning("hm").text("It was").fault(Fault::error(busy)))
            .rule(
                Rule::when(When::input("object").and(When::attempt(0)))
                    .text(r#"{"subject":"Beta","body":"It was"#)
                    .fault(Fault::cut()),
            )
            .rule(Rule::when(When::input("object")).json(draft))
            .rule(Rule::when(When::input("continue")).text("Once upon a ").fault(Fault::cut())),
    );
    let other = model(
        Script::new("other")
            .rule(Rule::when(When::input("continue")).text("time there was a run."))
            .rule(Rule::always().text("It was a bright day.")),
    );
    let workflow = Workflow::new("failover").node("speak", speak).edge(START, "speak").edge("speak", END);
    (agent(workflow, &m).model("other", other.clone()), vec![m, other])
}

/// A node that is retried, and one that fails and continues elsewhere.
fn retries(world: &World) -> (AgentBuilder, Vec<ScriptedModel>) {
    async fn flaky(cx: Cx, world: World) -> NodeResult {
        cx.emit().status("trying")?;
        cx.reason("m").id("before").input("before").await?;
        let first = world.clone();
        cx.step("once", || async move {
            first.did("step once");
            Ok(())
        })
        .await?;
        cx.step("flaky", || async move {
            let times = world.did("flaky");
            if times < 2 { Err(NodeError::new("not yet")) } else { Ok(times) }
        })
        .await?;
        cx.reason("m").id("after").input("after").await?;
        Ok(Next::message("it worked"))
    }
    async fn hopeless(cx: Cx, _: ()) -> NodeResult {
        cx.reason("m").id("hopeless").input("hopeless").attempts(1).await?;
        Ok(Next::go())
    }
    async fn mend(cx: Cx, input: Value) -> NodeResult {
        cx.emit().data("error", None, input["error"]["code"].clone())?;
        Ok(Next::message("mended"))
    }
    let refused = ModelError::new(ModelErrorKind::InvalidRequest, "never");
    let m = model(
        Script::new("retries")
            .rule(Rule::when(When::input("hopeless")).text("I will ").fault(Fault::error(refused)))
            .rule(Rule::always().text("This is what I say {input} it.")),
    );
    let world = world.clone();
    let retry = NodeOptions::default().retry(Retry::times(3).delay(Duration::from_millis(10)));
    let workflow = Workflow::new("retries")
        .node_with("flaky", retry, move |cx: Cx, (): ()| flaky(cx, world.clone()))
        .node_with(
            "hopeless",
            NodeOptions::default().retry(Retry::times(2)).on_error(OnError::GoTo("mend".into())),
            hopeless,
        )
        .node("mend", mend)
        .edge(START, "flaky")
        .edge("flaky", "hopeless")
        .edge("mend", END);
    (agent(workflow, &m), vec![m])
}

/// One workflow that hands over to another.
fn transitions(world: &World) -> (AgentBuilder, Vec<ScriptedModel>) {
    async fn first(cx: Cx, _: ()) -> NodeResult {
        cx.workflow_state("trail", vec!["first".to_owned()])?;
        let reply = cx.reason("m").input("first").await?;
        Ok(Next::transition("second").with_data(&json!({ "first": reply.text }))?)
    }
    async fn second(cx: Cx, world: World, input: Value) -> NodeResult {
        cx.workflow_state("trail", Vec::<String>::new())?.update(|mut trail| {
            trail.push("second".into());
            trail
        })?;
        cx.step("second", || async move {
            world.did("step second");
            Ok(())
        })
        .await?;
        let go = cx.interrupt(Choice::new("Continue?").option("yes", "Yes")).await?;
        Ok(Next::condition(go).with_data(&json!({ "second": input["first"] }))?)
    }
    async fn last(cx: Cx, input: Value) -> NodeResult {
        let trail = cx.workflow_state("trail", Vec::<String>::new())?.get()?;
        cx.reason("m").input(format!("{} {trail:?}", input["second"])).await?;
        Ok(Next::go().with_result(&trail)?)
    }
    let m = model(Script::new("transitions").rule(Rule::always().text("I noted {input} from you.")));
    let world = world.clone();
    let one = Workflow::new("first").node("first", first).edge(START, "first").edge("first", END);
    let two = Workflow::new("second")
        .node("second", move |cx: Cx, input: Value| second(cx, world.clone(), input))
        .node("last", last)
        .edge(START, "second")
        .edge_when("second", "yes", "last")
        .edge("last", END);
    let agent = agent(one, &m).workflow(two.build().unwrap()).default_workflow("first");
    (agent, vec![m])
}

/// Hidden calls, with a provider that reuses an id.
fn quiet(world: &World) -> (AgentBuilder, Vec<ScriptedModel>) {
    async fn search(cx: Cx, _: ()) -> NodeResult {
        let mut texts = Vec::new();
        for (id, emit) in [("a", false), ("b", true)] {
            let options = ToolOptions::default().emit(false);
            let asked = cx.reason("m").id(id).input(id).agent_tools(["find"]);
            let reply = asked.emit(emit).tool_options(options).await?;
            texts.push((reply.text, reply.tool_results[0].input.clone()));
        }
        let size = cx.interrupt(Text::new("Which size?")).await?;
        Ok(Next::message(size).with_result(&texts)?)
    }
    let call = |q: &str| Call::new("find", json!({ "q": q })).id("c1");
    let m = model(
        Script::new("quiet")
            .rule(Rule::when(When::after_tool("find")).text("It is {tool.find}."))
            .rule(Rule::when(When::input("a")).tools([call("one")]))
            .rule(Rule::when(When::input("b")).tools([call("two")])),
    );
    let workflow = Workflow::new("quiet").node("search", search).edge(START, "search").edge("search", END);
    (agent(workflow, &m).tool(counted(world, "find", UnfinishedPolicy::Repeat)), vec![m])
}

/// A tool output and a model answer that exceed small limits.
fn large(world: &World, max_answer: usize) -> (AgentBuilder, Vec<ScriptedModel>) {
    async fn search(cx: Cx, _: ()) -> NodeResult {
        let reply = cx.reason("m").input("go").agent_tools(["fragile", "repeatable"]).await?;
        Ok(Next::go().with_result(&reply.text)?)
    }
    let m = model(
        Script::new("large")
            .rule(Rule::when(When::pass(0)).text("First. ").tools([
                Call::new("fragile", json!({ "q": "large" })).id("c1"),
                Call::new("repeatable", json!({ "q": "large" })).id("c2"),
            ]))
            .rule(Rule::always().chunk(100).text("It was far too much for one page. ".repeat(40))),
    );
    let workflow = Workflow::new("large").node("search", search).edge(START, "search").edge("search", END);
    let mut options = AgentOptions::default();
    options.max_tool_output_bytes = 500;
    options.max_answer_bytes = max_answer;
    let agent = agent(workflow, &m)
        .options(options)
        .tool(counted(world, "fragile", UnfinishedPolicy::Fail))
        .tool(counted(world, "repeatable", UnfinishedPolicy::Repeat));
    (agent, vec![m])
}
