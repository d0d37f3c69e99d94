//! What an agent withholds from its readers is in no answer, whatever route and dialect it is asked for.

use std::sync::Arc;

use headwater_models::scripted::{Call, Rule, Script, ScriptedModel, When};
use headwater_runtime::{Agent, Cx, END, Next, NodeResult, START, ToolOptions, Workflow};
use headwater_server::{Agents, Options, Server, Visibility};
use headwater_store::Memory;
use headwater_tools::{Approval, FunctionTool, ToolContext, ToolError, ToolOutput, schemars::JsonSchema};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    harness::World,
    talk::{DIALECTS, says, says_next},
};

/// What the model thinks, what it calls a tool with, and what the tool gives.
const THOUGHT: &str = "zanzibar";
const INPUT: &str = "timbuktu";
const OUTPUT: &str = "samarkand";
/// What a person must see to decide about it.
const DECIDED: &str = "valparaiso";

#[derive(Deserialize, JsonSchema)]
struct Query {
    about: String,
}

async fn reply(cx: Cx, input: String) -> NodeResult {
    let model = cx.model("model")?;
    let tools = ["look", "fail", "erase"];
    let shown = ToolOptions::default().emit(true);
    cx.reason(model)
        .id("reply")
        .messages(cx.conversation()?)
        .input(input)
        .agent_tools(tools)
        .tool_options(shown)
        .await?;
    Ok(Next::go())
}

/// An agent that thinks, calls a tool well, badly and in vain, and says something else.
fn agent() -> Agent {
    let workflow = Workflow::new("reply").node("reply", reply).edge(START, "reply").edge("reply", END);
    let about = |about: &str| json!({ "about": about });
    let script = Script::new("script")
        // In one piece, so that it is found.
        .chunk(1_000)
        .rule(Rule::when(When::after_tool("look")).reasoning(THOUGHT).text("That is all."))
        .rule(Rule::when(When::after_tool("erase")).text("It is gone."))
        .rule(Rule::when(When::input_contains("erase")).reasoning(THOUGHT).tool("erase", about(DECIDED)))
        .rule(
            Rule::always().signed_reasoning(THOUGHT, json!({ "provider": { "signature": THOUGHT } })).tools(
                [
                    Call::new("fail", about(INPUT)),
                    Call::new("look", json!({ INPUT: INPUT })),
                    Call::raw("look", format!("{{\"about\": {INPUT}")),
                    Call::new("look", about(INPUT)).metadata(json!({ "provider": { "said": INPUT } })),
                    Call::new("search", about(INPUT)).output(json!({ "found": OUTPUT })),
                ],
            ),
        );
    let look = FunctionTool::new("look", |query: Query, context: ToolContext| async move {
        assert_eq!(query.about, INPUT);
        context.progress(ToolOutput::text(OUTPUT));
        Ok::<_, ToolError>(ToolOutput::text(OUTPUT).with_structured(json!({ "found": OUTPUT })))
    });
    let fail = FunctionTool::new("fail", |_: Query, _: ToolContext| async move {
        Err::<String, _>(ToolError::new(format!("{OUTPUT} cannot be had")))
    });
    let erase =
        FunctionTool::new("erase", |_: Query, _: ToolContext| async move { Ok::<_, ToolError>("erased") });
    Agent::builder()
        .name("secretive")
        .workflow(workflow.build().unwrap())
        .model("model", ScriptedModel::new(script))
        .tool(look)
        .tool(fail)
        .tool(erase.approval(Approval::Needed))
        .store(Arc::new(Memory::new()))
        .build()
        .unwrap()
}

async fn world(visibility: Visibility) -> World {
    let agent = agent();
    let server = Server::new(Agents::new().add_with("demo", agent.clone(), visibility), Options::default());
    World::of(agent, server).await
}

/// The request, and the response.
type Exchanges = Vec<(String, String)>;

async fn get(world: &World, told: &mut Exchanges, path: String) -> Value {
    let said = world.get(&path).await;
    assert!(said.status < 500, "{path}: {}", said.body);
    let document = serde_json::from_str(&said.body).unwrap_or_default();
    told.push((path, said.body));
    document
}

/// All that can be asked for about two turns in each dialect, and one that waits.
async fn everything(visibility: Visibility) -> Exchanges {
    let world = world(visibility).await;
    let mut told = Exchanges::new();
    for dialect in DIALECTS {
        let chat = format!("/v1/{dialect}/chat");
        let mut runs = Vec::new();
        for (message, text) in [("u1", "hello"), ("u2", "and now"), ("u3", "erase it")] {
            if dialect == "mui" && message == "u3" {
                runs.push(decided(&world, dialect, text).await);
                continue;
            }
            let body = says_next(&world, dialect, dialect, message, text).await;
            let headers = [("idempotency-key", message)];
            let streamed = world.post_with(&chat, &body, &headers).await;
            assert_eq!(streamed.status, 200, "{dialect}: {}", streamed.body);
            runs.push(streamed.header("x-run-id").to_owned());
            told.push((format!("POST {chat} {message}"), streamed.body));
            let again = world.post_with(&chat, &body, &headers).await;
            assert_eq!(again.header("x-run-id"), runs.last().unwrap().as_str(), "{dialect} {message}");
            told.push((format!("POST {chat} {message} again"), again.body));
            let mut whole = body.clone();
            whole["stream"] = json!(false);
            let key = format!("{message}-whole");
            let whole = world.post_with(&chat, &whole, &[("idempotency-key", key.as_str())]).await;
            told.push((format!("POST {chat} {message} whole"), whole.body));
        }
        let session = format!("{dialect}-whole");
        let mut whole = says(dialect, &session, "u1", "hello");
        whole["stream"] = json!(false);
        told.push((format!("POST {chat} whole"), world.post(&chat, &whole).await.body));
        every_route(&world, dialect, &runs, &mut told).await;
    }
    told
}

/// A turn that waited and was decided about: MUI's page reads on while a run waits.
async fn decided(world: &World, session: &str, text: &str) -> String {
    let sent = world.post(&format!("/v1/sessions/{session}/messages"), &json!({ "text": text })).await.json();
    let run = sent["run"].as_str().unwrap().to_owned();
    world.get(&format!("/v1/runs/{run}/events?until=wait")).await;
    let answered = world.post(&format!("/v1/runs/{run}/answer"), &json!({ "approved": true })).await;
    assert_eq!(answered.status, 202, "{}", answered.body);
    world.get(&format!("/v1/runs/{run}/events?until=end")).await;
    run
}

/// Every route that can be read, with what there is of a session.
async fn every_route(world: &World, dialect: &str, runs: &[String], told: &mut Exchanges) {
    let checkpoints = world.get(&format!("/v1/sessions/{dialect}/checkpoints")).await.json();
    let checkpoints = checkpoints["checkpoints"].as_array().unwrap().clone();
    assert!(checkpoints.len() >= 3);
    for (method, route) in world.server.routes() {
        if method != "GET" || !route.starts_with("/v1/") {
            continue;
        }
        for (run, checkpoint) in runs.iter().zip(&checkpoints) {
            let path = route
                .replace("{dialect}", dialect)
                .replace("{session}", dialect)
                .replace("{run}", run)
                .replace("{checkpoint}", checkpoint["id"].as_str().unwrap());
            if route == "/v1/sessions/{session}/events" {
                let mut response = world.http.get(format!("{}{path}", world.base)).send().await.unwrap();
                let first = response.chunk().await.unwrap().unwrap_or_default();
                told.push((path, String::from_utf8_lossy(&first).into_owned()));
            } else if route.ends_with("/events") {
                for reader in DIALECTS {
                    for rest in ["", "&after=now"] {
                        get(world, told, format!("{path}?dialect={reader}&until=wait{rest}")).await;
                    }
                }
            } else if path.contains("{*rest}") {
                for rest in [format!("{dialect}/stream"), format!("{run}/stream"), run.clone()] {
                    get(world, told, path.replace("{*rest}", &rest)).await;
                }
            } else if route.starts_with("/v1/{dialect}") {
                for rest in [
                    String::new(),
                    format!("?threadId={dialect}"),
                    format!("?conversationId={dialect}"),
                    format!("?conversationId={dialect}&after=0"),
                    format!("?sessionId={dialect}"),
                    format!("?runId={run}"),
                    format!("?runId={run}&offset=-1"),
                ] {
                    get(world, told, format!("{path}{rest}")).await;
                }
            } else if route.ends_with("/messages") {
                get(world, told, path.clone()).await;
                for reader in DIALECTS {
                    get(world, told, format!("{path}?dialect={reader}")).await;
                }
            } else {
                get(world, told, path).await;
            }
        }
    }
    for checkpoint in &checkpoints {
        let body = json!({ "action": "get", "checkpointId": checkpoint["id"] });
        let said = world.post("/v1/kortyx/checkpoints", &body).await;
        assert_eq!(said.status, 200, "{}", said.body);
        told.push((format!("POST /v1/kortyx/checkpoints {body}"), said.body));
    }
}

/// The readers that received something.
fn who_knows<'a>(told: &'a Exchanges, secret: &str) -> Vec<&'a str> {
    told.iter().filter(|(_, body)| body.contains(secret)).map(|(what, _)| what.as_str()).collect()
}

#[tokio::test]
async fn visible_content_is_sent() {
    let told = everything(Visibility::default()).await;
    for secret in [THOUGHT, INPUT, OUTPUT, DECIDED] {
        let known = who_knows(&told, secret);
        for route in ["/messages", "/export", "/checkpoints/", "/events", " whole", " again", "threadId="] {
            assert!(known.iter().any(|what| what.contains(route)), "{secret} is not at {route}: {known:?}");
        }
        // Kortyx' page knows no thoughts, and MUI's was not asked.
        let unsaid = [(THOUGHT, "kortyx"), (DECIDED, "mui")];
        for dialect in DIALECTS.iter().filter(|dialect| !unsaid.contains(&(secret, **dialect))) {
            let chat = format!("POST /v1/{dialect}/chat");
            assert!(known.iter().any(|what| what.starts_with(&chat)), "{secret} is not in {dialect}");
        }
    }
}

#[tokio::test]
async fn withheld_content_is_sent_nowhere() {
    let all = Visibility::default();
    for (visibility, secret) in [
        (Visibility { reasoning: false, ..all }, THOUGHT),
        (Visibility { tool_inputs: false, ..all }, INPUT),
        (Visibility { tool_outputs: false, ..all }, OUTPUT),
    ] {
        let told = everything(visibility).await;
        assert_eq!(who_knows(&told, secret), Vec::<&str>::new(), "{visibility:?}");
        for other in [THOUGHT, INPUT, OUTPUT, DECIDED].into_iter().filter(|other| *other != secret) {
            assert!(!who_knows(&told, other).is_empty(), "{visibility:?} withholds {other} too");
        }
        let asks = told.iter().find(|(what, _)| what == "/v1/interrupts").unwrap();
        assert!(asks.1.contains(DECIDED), "a person decides about what they see: {}", asks.1);
    }
}

#[tokio::test]
async fn export_without_withheld_parts_is_imported_as_shown() {
    let world = world(Visibility {
        reasoning: false,
        tool_inputs: false,
        tool_outputs: false,
        errors: false,
        input_previews: false,
        state: false,
    })
    .await;
    let said = world.post("/v1/ai-sdk/chat", &says("ai-sdk", "s", "u1", "hello")).await;
    assert_eq!(said.status, 200, "{}", said.body);
    // The second half of this message changes what the first half left, after a thought that is not shown.
    decided(&world, "s", "erase it").await;
    let exported = world.get("/v1/sessions/s/export").await.json();
    let copy = world.post("/v1/sessions", &json!({ "id": "copy", "import": exported })).await;
    assert_eq!(copy.status, 201, "{}", copy.body);
    let shown = world.get("/v1/sessions/s/messages").await.json()["messages"].clone();
    let mut written = shown.clone();
    for message in written.as_array_mut().unwrap() {
        message["parts"].as_array_mut().unwrap().retain(|part| part["type"] == "text");
    }
    assert_eq!(world.get("/v1/sessions/copy/messages").await.json()["messages"], written);
    let kinds: Vec<_> =
        shown[3]["parts"].as_array().unwrap().iter().map(|part| part["type"].clone()).collect();
    assert_eq!(kinds, ["step-start", "tool", "step-start", "text"]);
}

#[tokio::test]
async fn workflow_state_is_shown_only_where_the_agent_allows_it() {
    const NOTED: &str = "ouagadougou";
    async fn note(cx: Cx, _: String) -> NodeResult {
        cx.workflow_state("noted", String::new())?.set(NOTED.to_owned())?;
        Ok(Next::message("Noted."))
    }
    for shown in [false, true] {
        let workflow = Workflow::new("note").node("note", note).edge(START, "note").edge("note", END);
        let builder = Agent::builder().name("notes").workflow(workflow.build().unwrap());
        let agent = builder.store(Arc::new(Memory::new())).build().unwrap();
        let visibility = Visibility { state: shown, ..Visibility::default() };
        assert!(!Visibility::default().state);
        let agents = Agents::new().add_with("notes", agent.clone(), visibility);
        let world = World::of(agent, Server::new(agents, Options::default())).await;
        let said = world.post("/v1/ai-sdk/chat", &says("ai-sdk", "s", "u1", "hello")).await;
        assert_eq!(said.text("ai-sdk"), "Noted.", "{}", said.body);
        let listed = world.get("/v1/sessions/s/checkpoints").await.json();
        let checkpoint = listed["checkpoints"][0]["id"].as_str().unwrap().to_owned();
        for path in [format!("/v1/sessions/s/checkpoints/{checkpoint}"), "/v1/sessions/s/export".to_owned()] {
            let document = world.get(&path).await;
            assert_eq!(document.status, 200, "{path}: {}", document.body);
            assert_eq!(document.body.contains(NOTED), shown, "{path}: {}", document.body);
        }
    }
}

#[tokio::test]
async fn hidden_inputs_are_not_found_by_where_a_page_of_a_search_ends() {
    let hidden = Visibility { input_previews: false, ..Visibility::default() };
    for (visibility, found) in [(Visibility::default(), 1), (hidden, 0)] {
        let world = world(visibility).await;
        for chat in ["a", "b"] {
            let said = world.post("/v1/ai-sdk/chat", &says("ai-sdk", chat, "u1", "about mandalay")).await;
            assert_eq!(said.status, 200, "{}", said.body);
        }
        world.idle().await;
        let page = world.get("/v1/runs?q=mandalay&limit=1").await.json();
        assert_eq!(page["runs"].as_array().unwrap().len(), found, "{visibility:?}: {page}");
        assert_eq!(page["next"].is_null(), found == 0, "{visibility:?}: {page}");
        let status = world.get("/v1/runs?status=finished&limit=1").await.json();
        assert_eq!(status["runs"].as_array().unwrap().len(), 1, "{visibility:?}: {status}");
    }
}
