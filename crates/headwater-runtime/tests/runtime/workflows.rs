//! Workflows: build errors, and the path of a run.

use headwater_runtime::{
    Agent, AgentBuilder, AgentOptions, Choice, Cx, END, Next, NodeOptions, NodeResult, OnError, START, Start,
    Text, Workflow, WorkflowBuilder,
};
use serde_json::{Map, Value, json};

use crate::harness::{TestRun, World, memory};

async fn go(_: Cx, _: ()) -> NodeResult {
    Ok(Next::go())
}

/// A node that records its visit.
fn note(name: &'static str) -> impl Fn(Cx, ()) -> std::future::Ready<NodeResult> + Send + Sync + 'static {
    move |_, ()| std::future::ready(Next::data(&json!({ name: true })).map_err(Into::into))
}

/// A node that returns the data so far as the run's result.
async fn show(cx: Cx, _: ()) -> NodeResult {
    Ok(Next::go().with_result(cx.data())?)
}

fn condition(word: &'static str) -> impl Fn(Cx, ()) -> std::future::Ready<NodeResult> + Send + Sync {
    move |_, ()| std::future::ready(Ok(Next::condition(word)))
}

#[test]
fn workflow_errors_name_the_fault() {
    let base = || Workflow::new("w").node("a", go).edge(START, "a");
    let cases: [(&str, WorkflowBuilder); 15] = [
        ("the id is empty", Workflow::new(" ").node("a", go).edge(START, "a")),
        ("`@`", Workflow::new("w@2").node("a", go).edge(START, "a")),
        ("no edge leads from START", Workflow::new("w").node("a", go)),
        ("duplicate node `a`", base().node("a", go)),
        ("invalid node name `__end__`", base().node(END, go)),
        (
            "the edge from `a` to `sned` refers to the unknown node `sned`",
            base().node("send", go).edge("a", "send").edge("a", "sned"),
        ),
        ("(did you mean `a_b`?)", base().node("a_b", go).edge("a", "a-b")),
        ("refers to the unknown node `x`", base().edge("x", "a")),
        ("node `lost` is never reached", base().node("lost", go)),
        ("the edge from `a` to `__end__` is defined twice", base().edge("a", END).edge("a", END)),
        (
            "the edge from `a` to `b` when `go` is defined twice",
            base().node("b", go).edge_when("a", "go", END).edge_when("a", "go", "b"),
        ),
        ("must not leave END or lead to START", base().edge("a", START)),
        ("must not have a condition", base().edge_when(START, "x", "a")),
        (
            "node `a` continues on errors at the unknown node `c`",
            Workflow::new("w")
                .node_with("a", NodeOptions::default().on_error(OnError::GoTo("c".into())), go)
                .edge(START, "a"),
        ),
        ("the join of `a` at `z` refers to an unknown node", base().join("a", "z")),
    ];
    for (says, builder) in cases {
        let error = builder.build().unwrap_err();
        assert!(error.to_string().contains(says), "{error} does not say {says:?}");
        assert_eq!(error.code(), "workflow.invalid", "{error}");
    }
}

#[test]
fn agent_errors_name_the_fault() {
    let flow = |id: &str| Workflow::new(id).node("a", go).edge(START, "a").build().unwrap();
    let cases: [(&str, AgentBuilder); 5] = [
        ("the agent has no workflow", Agent::builder().store(memory().0)),
        ("has no store", Agent::builder().workflow(flow("w"))),
        (
            "workflow `w` was added twice in version 1",
            Agent::builder().workflow(flow("w")).workflow(flow("w")).store(memory().0),
        ),
        (
            "the default workflow `x` was not added",
            Agent::builder().workflow(flow("w")).default_workflow("x").store(memory().0),
        ),
        (
            "model `writer`",
            Agent::builder().workflow(flow("w")).model("writer", "scripted:nobody").store(memory().0),
        ),
    ];
    for (says, builder) in cases {
        let error = builder.build().unwrap_err();
        assert!(error.to_string().contains(says), "{error} does not say {says:?}");
    }
}

#[tokio::test]
async fn condition_takes_precedence_over_intent() {
    async fn choose(_: Cx, input: String) -> NodeResult {
        Ok(match &*input {
            "both" => Next::condition("c").with_intent("i"),
            "intent" => Next::intent("i"),
            "unknown" => Next::condition("x"),
            _ => Next::go(),
        })
    }
    let workflow = Workflow::new("w")
        .node("choose", choose)
        .node("by_condition", go)
        .node("by_intent", go)
        .node("otherwise", go)
        .edge(START, "choose")
        .edge_when("choose", "c", "by_condition")
        .edge_when("choose", "i", "by_intent")
        .edge("choose", "otherwise")
        .build()
        .unwrap();
    let world = World::of(workflow);
    for (input, node) in
        [("both", "by_condition"), ("intent", "by_intent"), ("unknown", "otherwise"), ("none", "otherwise")]
    {
        assert_eq!(world.run(input).await.entered().await, ["choose", node], "{input}");
    }
}

#[tokio::test]
async fn condition_of_no_edge_ends_the_workflow_without_a_plain_edge() {
    let workflow = Workflow::new("w")
        .node("a", condition("nowhere"))
        .node("b", go)
        .edge(START, "a")
        .edge_when("a", "somewhere", "b")
        .build()
        .unwrap();
    assert_eq!(World::of(workflow).run("").await.entered().await, ["a"]);
}

#[tokio::test]
async fn loop_visits_its_node_until_done() {
    async fn count(cx: Cx, _: ()) -> NodeResult {
        let visits = cx.node_state("visits", 0)?;
        visits.update(|visits| visits + 1)?;
        let done = visits.get()? == 4;
        Ok(Next::condition(if done { "done" } else { "again" }).with_result(&visits.get()?)?)
    }
    let workflow = Workflow::new("w")
        .node("count", count)
        .edge(START, "count")
        .edge_when("count", "again", "count")
        .edge_when("count", "done", END)
        .build()
        .unwrap();
    let ran = World::of(workflow).run("").await;
    assert_eq!(ran.result(), 4);
    assert_eq!(ran.entered().await.len(), 4);
}

#[tokio::test]
async fn endless_loop_stops_at_the_step_limit_and_names_the_node() {
    let workflow = Workflow::new("w")
        .node("round", go)
        .edge(START, "round")
        .edge("round", "round")
        .max_steps(7)
        .build()
        .unwrap();
    let ran = World::of(workflow).run("").await;
    assert_eq!(ran.code(), "workflow.max-steps");
    assert!(ran.error().contains("more than 7 nodes, the last `round`"), "{}", ran.error());
}

#[tokio::test]
async fn branches_of_unequal_length_wait_for_each_other_and_bring_their_data() {
    let workflow = Workflow::new("w")
        .node("fork", note("fork"))
        .node("short", note("short"))
        .node("long", note("long"))
        .node("longer", note("longer"))
        .node("join", show)
        .edge(START, "fork")
        .edge("fork", "short")
        .edge("fork", "long")
        .edge("long", "longer")
        .edge("short", "join")
        .edge("longer", "join")
        .edge("join", END)
        .build()
        .unwrap();
    let ran = World::of(workflow).run("hi").await;
    assert_eq!(
        *ran.result(),
        json!({ "rawInput": "hi", "fork": true, "short": true, "long": true, "longer": true })
    );
    let entered = ran.entered().await;
    assert_eq!(entered.iter().filter(|node| *node == "join").count(), 1, "{entered:?}");
    assert_eq!(entered.last().unwrap(), "join");
}

#[tokio::test]
async fn branches_run_in_parallel() {
    // Each waits for the other: in sequence they would never end.
    let meeting = std::sync::Arc::new(tokio::sync::Barrier::new(2));
    let meet = move |_: Cx, _: ()| {
        let meeting = meeting.clone();
        async move {
            meeting.wait().await;
            Ok(Next::go())
        }
    };
    let workflow = Workflow::new("w")
        .node("left", meet.clone())
        .node("right", meet)
        .edge(START, "left")
        .edge(START, "right")
        .build()
        .unwrap();
    let ran = World::of(workflow).run("").await;
    assert_eq!(ran.result(), &Value::Null);
}

#[tokio::test]
async fn inner_fork_joins_before_the_outer_one() {
    let workflow = Workflow::new("w")
        .node("left", note("left"))
        .node("right", note("right"))
        .node("right_a", note("right_a"))
        .node("right_b", note("right_b"))
        .node("right_join", note("right_join"))
        .node("join", show)
        .edge(START, "left")
        .edge(START, "right")
        .edge("right", "right_a")
        .edge("right", "right_b")
        .edge("right_a", "right_join")
        .edge("right_b", "right_join")
        .edge("right_join", "join")
        .edge("left", "join")
        .build()
        .unwrap();
    let ran = World::of(workflow).run("").await;
    let entered = ran.entered().await;
    for node in ["left", "right", "right_a", "right_b", "right_join", "join"] {
        assert_eq!(entered.iter().filter(|entered| *entered == node).count(), 1, "{node} in {entered:?}");
    }
    assert_eq!(ran.result().as_object().unwrap().len(), 6, "{}", ran.result());
}

#[tokio::test]
async fn two_forks_may_join_at_the_same_node() {
    let workflow = Workflow::new("w")
        .node("left", go)
        .node("right", go)
        .node("a", go)
        .node("b", go)
        .node("join", go)
        .edge(START, "left")
        .edge(START, "right")
        .edge("right", "a")
        .edge("right", "b")
        .edge("a", "join")
        .edge("b", "join")
        .edge("left", "join")
        .build()
        .unwrap();
    let entered = World::of(workflow).run("").await.entered().await;
    assert_eq!(entered.iter().filter(|node| *node == "join").count(), 1, "{entered:?}");
}

#[tokio::test]
async fn branch_that_leaves_an_inner_fork_for_the_outer_join_still_arrives_there_once() {
    let workflow = Workflow::new("w")
        .node("left", go)
        .node("right", go)
        .node("a", condition("skip"))
        .node("b", go)
        .node("inner", note("inner"))
        .node("join", show)
        .edge(START, "left")
        .edge(START, "right")
        .edge("right", "a")
        .edge("right", "b")
        .edge("a", "inner")
        .edge_when("a", "skip", "join")
        .edge("b", "inner")
        .edge("inner", "join")
        .edge("left", "join")
        .join("right", "inner")
        .join(START, "join")
        .build()
        .unwrap();
    let ran = World::of(workflow).run("").await;
    let entered = ran.entered().await;
    assert_eq!(entered.iter().filter(|node| *node == "join").count(), 1, "{entered:?}");
    assert_eq!(ran.result()["inner"], true, "the branch that did not leave went its way: {entered:?}");
}

#[tokio::test]
async fn ended_branch_does_not_block_the_join() {
    let workflow = Workflow::new("w")
        .node("ends", condition("stop"))
        .node("goes_on", note("goes_on"))
        .node("join", show)
        .edge(START, "ends")
        .edge(START, "goes_on")
        .edge("ends", "join")
        .edge_when("ends", "stop", END)
        .edge("goes_on", "join")
        .build()
        .unwrap();
    let ran = World::of(workflow).run("").await;
    assert_eq!(ran.result()["goes_on"], true);
}

#[tokio::test]
async fn unreached_join_is_not_entered() {
    let workflow = Workflow::new("w")
        .node("a", condition("stop"))
        .node("b", condition("stop"))
        .node("join", go)
        .edge(START, "a")
        .edge(START, "b")
        .edge("a", "join")
        .edge("b", "join")
        .edge_when("a", "stop", END)
        .edge_when("b", "stop", END)
        .build()
        .unwrap();
    let ran = World::of(workflow).run("").await;
    assert_eq!(ran.result(), &Value::Null);
    assert_eq!(ran.entered().await, ["a", "b"]);
}

#[tokio::test]
async fn fork_in_a_loop_forks_each_time() {
    async fn again(cx: Cx, _: ()) -> NodeResult {
        let rounds = cx.node_state("rounds", 0)?;
        rounds.update(|rounds| rounds + 1)?;
        Ok(Next::condition(if rounds.get()? < 3 { "again" } else { "done" }))
    }
    let workflow = Workflow::new("w")
        .node("fork", go)
        .node("a", go)
        .node("b", go)
        .node("join", again)
        .edge(START, "fork")
        .edge("fork", "a")
        .edge("fork", "b")
        .edge("a", "join")
        .edge("b", "join")
        .edge_when("join", "again", "fork")
        .edge_when("join", "done", END)
        .build()
        .unwrap();
    let entered = World::of(workflow).run("").await.entered().await;
    let times = |node: &str| entered.iter().filter(|entered| *entered == node).count();
    assert_eq!((times("fork"), times("a"), times("b"), times("join")), (3, 3, 3, 3), "{entered:?}");
}

fn two(first: Workflow, second: Workflow, options: AgentOptions) -> World {
    World::build(|agent| agent.workflow(first).workflow(second).default_workflow("first").options(options))
}

fn second() -> Workflow {
    async fn end(cx: Cx, raw: String) -> NodeResult {
        Ok(Next::go().with_result(&json!({ "raw": raw, "data": cx.data() }))?)
    }
    Workflow::new("second").node("end", end).edge(START, "end").build().unwrap()
}

#[tokio::test]
async fn transition_hands_over_data_payload_and_raw_input_after_its_workflow() {
    async fn hand_over(_: Cx, input: String) -> NodeResult {
        let next = Next::data(&json!({ "secret": 1, "city": "Oslo" }))?.with_transition("second");
        Ok(match &*input {
            "payload" => next.with_payload(json!({ "city": "Bergen", "rawInput": "something else" })),
            _ => next,
        })
    }
    let first = Workflow::new("first")
        .node("hand_over", hand_over)
        .node("after", note("after"))
        .edge(START, "hand_over")
        .edge("hand_over", "after")
        .build()
        .unwrap();
    let world = two(first, second(), AgentOptions::default());

    let ran = world.run("plain").await;
    assert_eq!(ran.entered().await, ["hand_over", "after", "end"]);
    assert_eq!(ran.result()["raw"], "plain");
    assert_eq!(
        ran.result()["data"],
        json!({ "rawInput": "plain", "secret": 1, "city": "Oslo", "after": true })
    );
    let transition = ran.events.iter().find(|event| event.kind().name() == "transition").unwrap();
    let told = serde_json::to_value(transition).unwrap().to_string();
    assert!(told.contains("second") && !told.contains("secret"), "a node's data is not logged: {told}");

    let ran = world.run("payload").await;
    assert_eq!(ran.result()["raw"], "something else");
    assert_eq!(ran.result()["data"]["city"], "Bergen");
    assert_eq!(ran.result()["data"]["rawInput"], "something else");
}

#[tokio::test]
async fn payload_must_be_an_object() {
    async fn hand_over(_: Cx, _: ()) -> NodeResult {
        Ok(Next::transition("second").with_payload(json!([1])))
    }
    let first = Workflow::new("first").node("a", hand_over).edge(START, "a").build().unwrap();
    let ran = two(first, second(), AgentOptions::default()).run("").await;
    assert_eq!(ran.code(), "state.invalid");
    assert!(ran.error().contains("an object, not an array"), "{}", ran.error());
}

#[tokio::test]
async fn circular_transitions_stop_at_a_limit() {
    let to = |id: &'static str, other: &'static str| {
        let node = move |_: Cx, _: ()| std::future::ready(Ok(Next::transition(other)));
        Workflow::new(id).node("node", node).edge(START, "node").build().unwrap()
    };
    let mut options = AgentOptions::default();
    options.max_transitions = 5;
    let ran = two(to("first", "second"), to("second", "first"), options).run("").await;
    assert_eq!(ran.code(), "workflow.max-transitions");
    assert_eq!(ran.entered().await.len(), 6);
}

#[tokio::test]
async fn transition_after_a_resumed_interrupt_runs_its_workflow() {
    async fn ask(cx: Cx, _: ()) -> NodeResult {
        let where_to = cx.interrupt(Choice::new("Where to?").option("second", "Second")).await?;
        Ok(Next::transition(where_to))
    }
    let first = Workflow::new("first").node("ask", ask).edge(START, "ask").build().unwrap();
    let ran = two(first, second(), AgentOptions::default()).run("hi").await.answer("second").await;
    assert_eq!(ran.result()["raw"], "hi");
    assert_eq!(ran.entered().await, ["ask", "end"]);
}

#[tokio::test]
async fn question_after_a_transition_is_answered_in_the_workflow_that_asked() {
    async fn ask(cx: Cx, _: ()) -> NodeResult {
        let name = cx.interrupt(Text::new("Who?")).await?;
        Ok(Next::go().with_result(&json!({ "name": name, "carried": cx.data().get("carried") }))?)
    }
    async fn hand_over(_: Cx, _: ()) -> NodeResult {
        Ok(Next::data(&json!({ "carried": 7 }))?.with_transition("second"))
    }
    let first = Workflow::new("first").node("a", hand_over).edge(START, "a").build().unwrap();
    let second = Workflow::new("second").node("ask", ask).edge(START, "ask").build().unwrap();
    let ran = two(first, second, AgentOptions::default()).run("").await.answer("Ada").await;
    assert_eq!(*ran.result(), json!({ "name": "Ada", "carried": 7 }));
}

#[tokio::test]
async fn unknown_workflow_error_lists_the_known_ones() {
    let workflow = Workflow::new("w")
        .node("a", |_: Cx, _: ()| std::future::ready(Ok(Next::transition("nowhere"))))
        .edge(START, "a")
        .build()
        .unwrap();
    let world = World::of(workflow);
    let error = world.agent.start(Start::new("").workflow("elsewhere")).await.unwrap_err();
    assert_eq!(error.code(), "workflow.unknown");
    assert!(error.to_string().contains("no workflow `elsewhere`: this agent has `w`"), "{error}");

    let ran = world.run("").await;
    assert_eq!(ran.code(), "workflow.unknown");
    assert_eq!(ran.count("transition"), 0, "the message suggests no unknown workflow");
}

fn asking(version: &'static str) -> Workflow {
    async fn ask(cx: Cx, _: ()) -> NodeResult {
        cx.interrupt(Text::new("Continue?")).await?;
        Ok(Next::go())
    }
    let say = move |_: Cx, _: ()| std::future::ready(Ok(Next::message(format!("version {version}"))));
    Workflow::new("w")
        .version(version)
        .node("ask", ask)
        .node("say", say)
        .edge(START, "ask")
        .edge("ask", "say")
        .build()
        .unwrap()
}

#[tokio::test]
async fn waiting_run_resumes_with_its_version() {
    let first = World::of(asking("1"));
    let ran = first.run("").await;
    let second = first.restarted(|agent| agent.workflow(asking("1")).workflow(asking("2")));
    let going = TestRun::of(&second.agent, second.agent.run(ran.id().clone())).await.answer("yes").await;
    assert_eq!(going.text(), "version 1");
    let fresh = second.run("").await.answer("yes").await;
    assert_eq!(fresh.text(), "version 2", "a new run takes the version that was added last");
}

#[tokio::test]
async fn run_whose_version_is_missing_waits_names_it_and_continues_once_it_is_registered() {
    let first = World::of(asking("1"));
    let ran = first.run("").await;
    let without = first.restarted(|agent| agent.workflow(asking("2")));
    let question = ran.question();
    let answered = headwater_runtime::Answer::given(question.request.clone(), "yes")
        .token(crate::harness::token(question));
    let run = without.agent.answer(answered).await.unwrap();
    let summary = run.summary().await.unwrap();
    let stuck = summary.stuck.unwrap();
    assert!(stuck.contains("needs version 1 of workflow `w`, registered are 2"), "{stuck}");
    assert_eq!(summary.status, headwater_protocol::RunStatus::Waiting);

    let back = first.restarted(|agent| agent.workflow(asking("1")).workflow(asking("2")));
    let report = back.agent.recover().await.unwrap();
    assert_eq!(report.answered, [ran.id().clone()], "the answer was kept");
    let ran = back.settled(ran.id()).await;
    assert_eq!(ran.text(), "version 1");
    assert_eq!(ran.run.summary().await.unwrap().stuck, None);
}

#[tokio::test]
async fn start_data_reaches_the_first_node() {
    let workflow = Workflow::new("w").node("show", show).edge(START, "show").build().unwrap();
    let Value::Object(data) = json!({ "city": "Oslo" }) else { unreachable!() };
    let ran = World::of(workflow).start(Start::new("hi").data(data)).await;
    let expected: Map<String, Value> =
        [("rawInput".to_owned(), json!("hi")), ("city".to_owned(), json!("Oslo"))].into_iter().collect();
    assert_eq!(*ran.result(), Value::Object(expected));
}
