//! A server that is a program.

use headwater_tools::{Approval, CancelHandle, ErrorKind, Tool, ToolOutput, UnfinishedPolicy};
use serde_json::json;

use super::{call, message, pids, runs, server, until, watched};

#[tokio::test]
async fn tools_of_a_server_work_like_any_other() {
    let Some(client) = server("well") else { return };
    let tools = client.tools().include(["echo", "image"]).await.unwrap();
    let names: Vec<&str> = tools.specs().map(|spec| spec.name.as_str()).collect();
    assert_eq!(names, ["echo", "image"]);
    let spec = tools.get("echo").unwrap().spec();
    assert_eq!(spec.title.as_deref(), Some("Echo"));
    assert_eq!(spec.description.as_deref(), Some("Gives back what it gets."));
    assert_eq!(spec.input_schema, json!({"type": "object"}));
    assert!(tools.get("echo").unwrap().origin().starts_with("the MCP server `node`"));

    assert_eq!(call(&tools, "echo", json!({"a": 1})).await.unwrap(), ToolOutput::text("{\"a\":1}"));
    let image = call(&tools, "image", json!({})).await.unwrap().output;
    assert_eq!(image[1], json!({"type": "image", "data": "AA==", "mimeType": "image/png"}));
    tools.close().await;
}

#[tokio::test]
async fn unknown_tool_name_is_an_error_that_lists_the_known_ones() {
    let Some(client) = server("well") else { return };
    let error = client.tools().include(["echo", "ehco"]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Missing);
    assert!(error.to_string().contains("it has no tool \"ehco\"; it has: echo, steps"), "{error}");
}

#[tokio::test]
async fn prefixes_allow_two_servers_in_one_set() {
    let Some(client) = server("well") else { return };
    let client = client.keep();
    let plain = client.tools().include(["echo"]).await.unwrap();
    let error = plain.clone().merge(plain.clone()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Duplicate);
    let both = plain.merge(client.tools().include(["echo"]).prefix("other_").await.unwrap()).unwrap();
    assert_eq!(call(&both, "other_echo", json!({"x": 2})).await.unwrap(), ToolOutput::text("{\"x\":2}"));
    client.close().await;
}

#[tokio::test]
async fn hints_apply_only_if_trusted() {
    let Some(client) = server("well") else { return };
    let client = client.keep();
    let policy = |tool: &dyn Tool| (tool.approval(&json!({})), tool.unfinished());
    let tools = client.tools().await.unwrap();
    assert_eq!(policy(&**tools.get("echo").unwrap()), (Approval::NotNeeded, UnfinishedPolicy::Fail));
    assert_eq!(policy(&**tools.get("liar").unwrap()), (Approval::NotNeeded, UnfinishedPolicy::Fail));
    let tools = client.tools().trust_hints().await.unwrap();
    assert_eq!(policy(&**tools.get("echo").unwrap()), (Approval::NotNeeded, UnfinishedPolicy::Repeat));
    assert_eq!(policy(&**tools.get("liar").unwrap()), (Approval::Needed, UnfinishedPolicy::Repeat));
    let tools = client.tools().approval(Approval::Needed).unfinished(UnfinishedPolicy::Ask).await.unwrap();
    assert_eq!(policy(&**tools.get("echo").unwrap()), (Approval::Needed, UnfinishedPolicy::Ask));
    client.close().await;
}

#[tokio::test]
async fn list_of_a_thousand_tools_is_read_page_by_page() {
    let Some(client) = server("many") else { return };
    let tools = client.tools().await.unwrap();
    assert_eq!(tools.len(), 1000);
    assert!(tools.get("tool-0").is_some() && tools.get("tool-999").is_some());
    tools.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn progress_is_reported_in_order_and_before_the_result() {
    let Some(client) = server("well") else { return };
    let tools = client.tools().await.unwrap();
    let (context, mut progress) = watched();
    let output = tools.get("steps").unwrap().call(json!({}), context).await.unwrap();
    assert_eq!(output, ToolOutput::text("done"));
    for step in 1..=200 {
        let shown = progress.try_recv().unwrap();
        assert_eq!(shown, json!({"progress": step, "total": 200, "message": format!("step {step}")}));
    }
    assert!(progress.try_recv().is_err());
    tools.close().await;
}

#[tokio::test]
async fn stopped_or_dropped_call_is_cancelled_at_the_server() {
    let Some(client) = server("well") else { return };
    let client = client.keep();
    let tools = client.tools().await.unwrap();
    let forever = tools.get("forever").unwrap();

    let stop = CancelHandle::new();
    let (mut context, mut progress) = watched();
    context.cancel = stop.signal();
    let stopper = async {
        assert_eq!(progress.recv().await, Some(json!({"progress": 0.5})));
        stop.cancel();
    };
    let (stopped, ()) = tokio::join!(forever.call(json!({}), context), stopper);
    assert_eq!(stopped.unwrap_err().message(), "the call of \"forever\" was stopped");

    let (context, mut progress) = watched();
    tokio::select! {
        _ = forever.call(json!({}), context) => panic!("it never answers"),
        _ = progress.recv() => {}
    }
    loop {
        let output = call(&tools, "cancelled", json!({})).await.unwrap().output;
        if output["cancelled"].as_array().unwrap().len() == 2 {
            assert_eq!(output["cancelled"][0]["reason"], "the client no longer waits for the result");
            assert_ne!(output["cancelled"][0]["requestId"], output["cancelled"][1]["requestId"]);
            break;
        }
    }
    client.close().await;
}

#[tokio::test]
async fn concurrent_calls_get_their_own_results() {
    let Some(client) = server("well") else { return };
    let tools = std::sync::Arc::new(client.tools().await.unwrap());
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..200 {
        let tools = std::sync::Arc::clone(&tools);
        calls.spawn(async move { (number, call(&tools, "echo", json!({"n": number})).await.unwrap()) });
    }
    while let Some(done) = calls.join_next().await {
        let (number, output) = done.unwrap();
        assert_eq!(output, ToolOutput::text(format!("{{\"n\":{number}}}")));
    }
    tools.close().await;
}

#[tokio::test]
async fn kept_client_lists_again_when_the_server_reports_a_change() {
    let Some(client) = server("well") else { return };
    let client = client.keep();
    let before = client.tools().await.unwrap();
    call(&before, "grow", json!({})).await.unwrap();
    client.changed().await;
    let after = client.tools().await.unwrap();
    assert_eq!(after.len(), before.len() + 1);
    assert!(after.get("grown-20").is_some());
    assert_eq!(pids(&before).await, pids(&after).await, "one connection serves both");
    client.close().await;
}

#[tokio::test]
async fn server_without_initialize_is_supported() {
    let Some(client) = server("modern") else { return };
    let client = client.keep();
    let tools = client.tools().await.unwrap();
    assert_eq!(call(&tools, "echo", json!({"a": 1})).await.unwrap(), ToolOutput::text("{\"a\":1}"));
    call(&tools, "grow", json!({})).await.unwrap();
    assert_eq!(client.tools().await.unwrap().len(), tools.len() + 1);
    client.close().await;
}

#[tokio::test]
async fn program_gets_its_own_variables_and_folder_but_not_our_environment() {
    let Some(client) = server("well") else { return };
    let folder = std::env::temp_dir().canonicalize().unwrap();
    let tools = client.env("ISSUES_TOKEN", "x").cwd(&folder).tools().await.unwrap();
    let seen = call(&tools, "environment", json!({})).await.unwrap().output;
    let seen: Vec<&str> = seen.as_str().unwrap().split(' ').collect();
    assert!(seen.contains(&"ISSUES_TOKEN") && seen.contains(&"PATH"), "{seen:?}");
    // Cargo sets these for every test, as a shell sets its keys.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    assert!(!seen.iter().any(|name| name.starts_with("CARGO")), "{seen:?}");
    assert_eq!(call(&tools, "folder", json!({})).await.unwrap().output, json!(folder));
    tools.close().await;
}

#[tokio::test]
async fn failures_and_rejections_of_the_server_reach_the_model() {
    let Some(client) = server("well") else { return };
    let tools = client.tools().await.unwrap();
    let failure = call(&tools, "failure", json!({})).await.unwrap();
    assert_eq!(failure, ToolOutput::failure("the disk is full"));
    assert!(message(&tools, "refusal").await.ends_with("it rejected the request: not today: refusal"));
    tools.close().await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn closing_the_tools_ends_the_process_and_a_later_call_restarts_it() {
    let Some(client) = server("well") else { return };
    let tools = client.tools().await.unwrap();
    let first = pids(&tools).await[0];
    assert!(runs(first));
    tools.close().await;
    assert!(!runs(first));
    let second = pids(&tools).await[0];
    assert_ne!(first, second);
    tools.close().await;
    assert!(!runs(second));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn each_use_has_its_own_process_unless_kept() {
    let Some(client) = server("well") else { return };
    let (one, two) = (client.tools().await.unwrap(), client.tools().await.unwrap());
    assert_ne!(pids(&one).await, pids(&two).await);
    one.close().await;
    assert!(runs(pids(&two).await[0]));
    two.close().await;

    let kept = client.keep();
    let tools = kept.tools().await.unwrap();
    let pid = pids(&tools).await[0];
    tools.close().await;
    assert_eq!(pids(&tools).await[0], pid, "closing the tools leaves a kept connection");
    kept.close().await;
    assert!(!runs(pid));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn stubborn_process_is_killed_with_its_children() {
    let Some(client) = server("stubborn") else { return };
    let tools = client.tools().await.unwrap();
    let started = pids(&tools).await;
    assert!(started[0] != started[1] && started.iter().all(|pid| runs(*pid)));
    tools.close().await;
    assert!(!runs(started[0]));
    until("the grandchild ends", || !runs(started[1])).await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn dropping_the_tools_ends_the_process() {
    let Some(client) = server("stubborn") else { return };
    let tools = client.tools().await.unwrap();
    let started = pids(&tools).await;
    drop(tools);
    until("all processes end", || !started.iter().any(|pid| runs(*pid))).await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn running_call_outlives_close() {
    let Some(client) = server("well") else { return };
    let tools = client.tools().await.unwrap();
    let pid = pids(&tools).await[0];
    let file = std::env::temp_dir().join(format!("headwater-held-{}", std::process::id()));
    let (context, mut progress) = watched();
    let held = tools.get("held").unwrap().call(json!({"until": file}), context);
    let closer = async {
        progress.recv().await.unwrap();
        tools.close().await;
        assert!(runs(pid));
        std::fs::write(&file, "").unwrap();
    };
    let (output, ()) = tokio::join!(held, closer);
    std::fs::remove_file(&file).unwrap();
    assert_eq!(output.unwrap(), ToolOutput::text("released"));
    assert!(!runs(pid), "the last call closes what was to be closed");
}

#[tokio::test]
async fn idempotency_key_of_a_call_reaches_the_server() {
    let Some(client) = server("well") else { return };
    let tools = client.tools().await.unwrap();
    let output = call(&tools, "meta", json!({})).await.unwrap().output;
    let meta: serde_json::Value = serde_json::from_str(output.as_str().unwrap()).unwrap();
    assert_eq!(meta["dev.headwater/idempotencyKey"], "key-1");
    assert!(meta.get("progressToken").is_some());
    tools.close().await;
}

#[tokio::test]
async fn unfinished_policy_of_one_tool_is_applied() {
    let Some(client) = server("well") else { return };
    let tools = client.tools().trust_hints().unfinished(UnfinishedPolicy::Fail);
    let tools = tools
        .unfinished_for("echo", UnfinishedPolicy::Ask)
        .unfinished_for("die", UnfinishedPolicy::Repeat)
        .await
        .unwrap();
    let of = |name: &str| tools.get(name).unwrap().unfinished();
    assert_eq!(
        (of("echo"), of("die"), of("steps")),
        (UnfinishedPolicy::Ask, UnfinishedPolicy::Repeat, UnfinishedPolicy::Fail)
    );
    tools.close().await;
    let Some(client) = server("well") else { return };
    let error = client.tools().unfinished_for("ehco", UnfinishedPolicy::Ask).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Missing);
}
