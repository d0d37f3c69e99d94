//! Lists of runs and the queue of a session, as clients use them.

use serde_json::{Value, json};

use crate::{harness::World, talk::says};

async fn runs(world: &World, query: &str) -> Vec<Value> {
    let page = world.get(&format!("/v1/runs{query}")).await;
    assert_eq!(page.status, 200, "{query}: {}", page.body);
    page.json()["runs"].as_array().unwrap().clone()
}

fn ids(runs: &[Value]) -> Vec<String> {
    runs.iter().map(|run| run["id"].as_str().unwrap().to_owned()).collect()
}

/// A time as every native document writes it: UTC, in milliseconds.
fn is_time(value: &Value) -> bool {
    let Some(text) = value.as_str() else { return false };
    text.len() == 24 && headwater_protocol::parse_rfc3339(text).is_some()
}

#[tokio::test]
async fn run_summaries_have_status_error_model_tokens_and_times() {
    let world = World::new().await;
    for (session, text) in [("a", "hello"), ("b", "fail"), ("c", "choose")] {
        world.post("/v1/agents/chat", &says("agents", session, "u1", text)).await;
    }
    world.idle().await;
    let all = runs(&world, "").await;
    let statuses: Vec<_> = all.iter().map(|run| run["status"].as_str().unwrap()).collect();
    assert_eq!(statuses, ["waiting", "failed", "finished"], "newest first");
    let [waiting, failed, finished] = all.try_into().unwrap();
    assert_eq!((&failed["error"], &finished["error"]), (&json!("node.failed"), &Value::Null));
    for run in [&waiting, &failed, &finished] {
        assert_eq!((&run["agent"], &run["workflow"]), (&json!("demo"), &json!("reply")), "{run}");
        assert_eq!(run["model"], "scripted:script", "{run}");
        assert!(is_time(&run["createdAt"]) && is_time(&run["updatedAt"]), "{run}");
    }
    assert!(is_time(&finished["endedAt"]) && is_time(&failed["endedAt"]));
    assert!(waiting["endedAt"].is_null() && is_time(&waiting["expiresAt"]), "{waiting}");
    assert_eq!((&waiting["session"], &finished["session"]), (&json!("c"), &json!("a")));
    assert!(finished["usage"]["totalTokens"].as_u64().unwrap() > 0, "{finished}");
}

#[tokio::test]
async fn runs_are_filtered_by_status_agent_session_and_time() {
    let world = World::new().await;
    for (session, text) in [("a", "hello"), ("b", "fail"), ("a", "fail again"), ("c", "choose")] {
        let message = format!("u-{text}");
        world.post("/v1/agents/chat", &says("agents", session, &message, text)).await;
    }
    world.idle().await;
    let all = ids(&runs(&world, "").await);
    assert_eq!(all.len(), 4);
    assert_eq!(ids(&runs(&world, "?status=failed").await), all[1..3]);
    assert_eq!(ids(&runs(&world, "?status=waiting&agent=demo").await), all[..1]);
    assert_eq!(ids(&runs(&world, "?session=a").await), [all[1].clone(), all[3].clone()]);
    assert_eq!(ids(&runs(&world, "?session=a&status=finished").await), all[3..]);
    assert_eq!(ids(&runs(&world, "?session=nobody").await), Vec::<String>::new());
    assert_eq!(ids(&runs(&world, "?since=2020-01-01T00:00:00Z").await), all);
    assert_eq!(ids(&runs(&world, "?since=2999-01-01T00:00:00.000Z").await), Vec::<String>::new());
    let first = world.get("/v1/runs?status=failed&limit=1").await.json();
    let next = first["next"].as_str().unwrap();
    let second = world.get(&format!("/v1/runs?status=failed&limit=1&after={next}")).await.json();
    let paged = [&first, &second].map(|page| page["runs"][0]["id"].as_str().unwrap().to_owned());
    assert_eq!(paged, all[1..3]);
}

#[tokio::test]
async fn unknown_names_are_refused_with_the_list_of_what_exists() {
    let world = World::new().await;
    let run = world.post("/v1/runs", &json!({ "input": "hello" })).await.json()["run"].clone();
    let run = run.as_str().unwrap();
    let dialects = ["native", "kortyx", "tanstack", "mui", "agents", "ai-sdk", "ag-ui"];
    for (path, status, code, known) in [
        ("/v1/runs?colour=red", 400, "query.unknown", vec!["status", "agent", "session", "since"]),
        ("/v1/interrupts?status=open", 400, "query.unknown", vec!["after", "limit"]),
        ("/v1/sessions?owner=bob", 400, "query.unknown", vec!["agent", "after", "limit"]),
        ("/healthz?x=1", 400, "query.unknown", vec![]),
        ("/v1/runs?agent=nobody", 404, "agent.unknown", vec!["demo"]),
        ("/v1/sessions?agent=nobody", 404, "agent.unknown", vec!["demo"]),
        ("/v1/runs/$RUN/events?dialect=french", 404, "dialect.unknown", dialects.to_vec()),
        ("/v1/runs/$RUN/events?until=noon", 400, "until.unknown", vec!["wait", "end"]),
        ("/v1/french/chat", 404, "dialect.unknown", dialects[1..].to_vec()),
        ("/v1/runs/$RUN/events?dialect=ai-sdk&profile=9", 400, "profile.unknown", vec![]),
    ] {
        let said = world.get(&path.replace("$RUN", run)).await;
        let body = said.json();
        assert_eq!((said.status, body["code"].as_str().unwrap()), (status, code), "{path}: {body}");
        let listed: Vec<_> = body["known"].as_array().into_iter().flatten().collect();
        for name in known {
            assert!(listed.contains(&&json!(name)), "{path} does not list `{name}`: {body}");
        }
    }
    let status = world.get("/v1/runs?status=gone").await;
    assert_eq!((status.status, status.json()["code"].as_str()), (400, Some("query.invalid")));
    assert!(status.body.contains("cancelled"), "{}", status.body);
    let since = world.get("/v1/runs?since=yesterday").await;
    assert_eq!((since.status, since.json()["code"].as_str()), (400, Some("query.invalid")));
    let method = world.delete_with("/v1/runs", &[]).await;
    assert_eq!((method.status, method.json()["code"].as_str()), (405, Some("method.unsupported")));
    assert_eq!(method.header("allow"), "GET,HEAD,POST");
}

#[tokio::test]
async fn queued_messages_are_listed_edited_removed_and_sent_now() {
    let world = World::new().await;
    world.post("/v1/sessions", &json!({ "id": "q" })).await;
    let mut sent = Vec::new();
    for text in ["slow", "two", "three", "four"] {
        let said = world.post("/v1/sessions/q/messages", &json!({ "text": text })).await.json();
        sent.push(said["run"].as_str().unwrap().to_owned());
    }
    let queue = world.get("/v1/sessions/q/queue").await.json()["queue"].clone();
    let waiting: Vec<_> = queue.as_array().unwrap().iter().map(|queued| queued["text"].clone()).collect();
    assert_eq!(waiting, ["two", "three", "four"]);
    assert!(is_time(&queue[0]["queuedAt"]), "{queue}");
    let of = |run: &str, end: &str| format!("/v1/sessions/q/queue/{run}{end}");
    let edited = world.post(&of(&sent[2], "/edit"), &json!({ "text": "drei" })).await;
    assert_eq!((edited.status, &edited.json()["text"]), (200, &json!("drei")), "{}", edited.body);
    assert_eq!(world.delete_with(&of(&sent[1], ""), &[]).await.status, 204);
    let gone = world.delete_with(&of(&sent[1], ""), &[]).await;
    assert_eq!((gone.status, gone.json()["code"].as_str()), (404, Some("run.unknown")));
    let begun = world.post(&of(&sent[0], "/edit"), &json!({ "text": "x" })).await;
    assert_eq!((begun.status, begun.json()["code"].as_str()), (409, Some("queue.begun")));
    let now = world.post(&of(&sent[3], "/send"), &json!({})).await;
    assert_eq!((now.status, &now.json()["run"]), (202, &json!(sent[3])), "{}", now.body);
    world.agent.session("q", Some("local")).settled().await.unwrap();
    world.idle().await;
    let messages = world.get("/v1/sessions/q/messages").await.json();
    let asked: Vec<_> = messages["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["role"] == "user")
        .map(|message| message["parts"][0]["text"].clone())
        .collect();
    assert_eq!(asked, ["slow", "four", "drei"], "{messages}");
    let stopped = world.get(&format!("/v1/runs/{}", sent[0])).await.json();
    assert_eq!(stopped["run"]["status"], "cancelled", "{stopped}");
}
