//! A run that continues until its journal is full.

use super::*;

/// Calls a model and a tool, round after round.
pub(super) fn full(world: &World) -> (AgentBuilder, Vec<ScriptedModel>) {
    async fn search(cx: Cx, world: World) -> NodeResult {
        for round in 0..100 {
            let world = world.clone();
            cx.step("pay", || async move { Ok(world.did(format!("step pay {round}"))) }).await?;
            cx.reason("m").id(format!("round-{round}")).input("go").agent_tools(["find"]).await?;
            cx.emit().status(format!("round {round}"))?;
        }
        Ok(Next::go())
    }
    let m = model(
        Script::new("full")
            .rule(Rule::when(When::after_tool("find")).text("That was it."))
            .rule(Rule::always().text("First. ").tool("find", json!({ "q": "one" }))),
    );
    let node = world.clone();
    let workflow = Workflow::new("full")
        .node("search", move |cx: Cx, (): ()| search(cx, node.clone()))
        .edge(START, "search")
        .edge("search", END);
    let mut options = AgentOptions::default();
    options.max_run_bytes = 8_000;
    let agent = agent(workflow, &m).options(options).tool(counted(world, "find", UnfinishedPolicy::Repeat));
    (agent, vec![m])
}
