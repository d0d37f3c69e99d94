//! A real process that drives runs in a real folder is killed at random moments: each run ends with the same
//! messages, and its side effects happen once.
//!
//! `HEADWATER_KILLS` sets the number of kills. The process is this test binary itself, started with a folder
//! to run in.

use std::{
    collections::BTreeMap,
    fs::OpenOptions,
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use headwater_models::scripted::{Call, Rule, Script, ScriptedModel, When};
use headwater_protocol::RunStatus;
use headwater_runtime::{
    Agent, AgentOptions, Answer, Cx, END, ErrorKind, Next, NodeResult, START, Start, Text, Workflow,
};
use headwater_store::{Store, embedded::Embedded};
use headwater_testkit::random::Random;
use headwater_tools::{FunctionTool, ToolContext, ToolError, UnfinishedPolicy};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

const FOLDER: &str = "HEADWATER_RUN_IN";
const RUNS: &str = "HEADWATER_RUNS";
/// The number of concurrent runs.
const AT_ONCE: usize = 4;

#[test]
fn runs_outlive_processes_that_are_killed_and_do_each_thing_once() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        let runs = std::env::var(RUNS).unwrap().parse().unwrap();
        drive_until_killed(Path::new(&folder), runs);
        return;
    }
    let kills: usize = std::env::var("HEADWATER_KILLS").map_or(10, |text| text.parse().unwrap());
    // Enough that no process finishes before it is killed.
    let runs = AT_ONCE + 12 * kills;
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random::new(u64::from(std::process::id()));
    let mut killed = 0;
    for _ in 0..kills {
        let patience = Duration::from_millis(random.below(400) as u64);
        killed += usize::from(start(folder.path(), runs, Some(patience)));
    }
    start(folder.path(), runs, None);
    let told = judge(folder.path(), runs, killed);
    println!("figure: {killed} kills, {told}");
}

/// Starts the process and kills it after a while, or lets it end. Returns whether it was killed.
fn start(folder: &Path, runs: usize, patience: Option<Duration>) -> bool {
    let mut process = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "kills::runs_outlive_processes_that_are_killed_and_do_each_thing_once",
            "--nocapture",
        ])
        .env(FOLDER, folder)
        .env(RUNS, runs.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.ends_with("it drives")), "the process did not begin");
    if let Some(patience) = patience {
        // A random moment on purpose: nothing is awaited here.
        std::thread::sleep(patience);
        process.kill().unwrap();
    }
    let done = lines.any(|line| line == "it is done");
    let status = process.wait().unwrap();
    assert!(patience.is_some() || (done && status.success()), "the process ended by itself: {status:?}");
    !done
}

#[derive(Deserialize, JsonSchema)]
struct Mail {
    to: String,
}

/// A side effect that survives the process.
fn note(folder: &Path, line: &str) {
    let mut file = OpenOptions::new().create(true).append(true).open(folder.join("effects")).unwrap();
    file.write_all(format!("{line}\n").as_bytes()).unwrap();
}

fn agent(folder: &Path, store: Arc<dyn Store>) -> Agent {
    let home = folder.to_owned();
    let trip = move |cx: Cx, (): ()| {
        let home = home.clone();
        async move { trip(cx, home).await }
    };
    let workflow =
        Workflow::new("trip").node("trip", trip).edge(START, "trip").edge("trip", END).build().unwrap();
    let tool = |name: &'static str, unfinished: UnfinishedPolicy| {
        let home = folder.to_owned();
        let call = move |mail: Mail, context: ToolContext| {
            note(&home, &format!("{name} {} {}", mail.to, context.idempotency_key));
            async move {
                tokio::time::sleep(Duration::from_millis(3)).await;
                Ok::<_, ToolError>(format!("sent to {}", mail.to))
            }
        };
        FunctionTool::new(name, call).unfinished(unfinished)
    };
    let script = Script::new("trip")
        .pace(Duration::from_millis(1))
        .rule(Rule::when(When::pass(0)).reasoning("Both at once.").tools([
            Call::new("once", json!({ "to": "{input}" })),
            Call::new("again", json!({ "to": "{input}" })),
        ]))
        .rule(Rule::always().text("It is sent, and every reader saw all of it exactly once."));
    let mut options = AgentOptions::default();
    options.lease = Duration::from_millis(300);
    Agent::builder()
        .workflow(workflow)
        .model("m", ScriptedModel::new(script))
        .tool(tool("once", UnfinishedPolicy::Fail))
        .tool(tool("again", UnfinishedPolicy::Repeat))
        .store(store)
        .options(options)
        .build()
        .unwrap()
}

async fn trip(cx: Cx, home: std::path::PathBuf) -> NodeResult {
    let run = cx.run().to_string();
    cx.emit().status("on the way")?;
    cx.reason("m").id("send").input(run.clone()).agent_tools(["once", "again"]).await?;
    let colour = cx.interrupt(Text::new("Which colour?")).await?;
    cx.step("paint", || async move {
        note(&home, &format!("paint {run} -"));
        Ok(())
    })
    .await?;
    Ok(Next::message(format!("It is {colour}.")))
}

#[tokio::main(flavor = "current_thread")]
async fn drive_until_killed(folder: &Path, runs: usize) {
    let store: Arc<dyn Store> = Arc::new(Embedded::open(folder.join("store")).unwrap());
    let agent = agent(folder, store.clone());
    println!("it drives");
    loop {
        agent.recover().await.unwrap();
        let mut open = 0;
        for number in 0..runs {
            let run = format!("run_{number}");
            match store.info(&run.as_str().into()).await.unwrap() {
                Some(info) if info.tail.closed => {}
                Some(_) => open += 1,
                None if open < AT_ONCE => {
                    agent.start(Start::new(&*run).run(&*run)).await.unwrap();
                    open += 1;
                }
                None => open += 1,
            }
        }
        for question in agent.questions(None, 100).await.unwrap() {
            match agent.answer(Answer::given(question.request, "blue").by(None)).await {
                Err(error) if !matches!(error.kind(), ErrorKind::Answered | ErrorKind::Ended) => {
                    panic!("{error}");
                }
                _ => {}
            }
        }
        if open == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    println!("it is done");
}

/// Checks the remaining state. Returns a description.
#[tokio::main(flavor = "current_thread")]
async fn judge(folder: &Path, runs: usize, killed: usize) -> String {
    let store: Arc<dyn Store> = Arc::new(Embedded::open(folder.join("store")).unwrap());
    let agent = agent(folder, store);
    let effects = std::fs::read_to_string(folder.join("effects")).unwrap();
    let mut done: BTreeMap<&str, u32> = BTreeMap::new();
    for line in effects.lines() {
        *done.entry(line).or_default() += 1;
    }
    let mut unknown = 0;
    let mut takeovers = 0;
    for number in 0..runs {
        let run = format!("run_{number}");
        let outcome = agent.run(&*run).outcome().await.unwrap();
        assert_eq!(outcome.status(), RunStatus::Finished, "{run}");
        let view = json!(outcome.state.view());
        let parts: Vec<_> = view["messages"][0]["parts"].as_array().unwrap().iter().map(shown).collect();
        let lost = parts.contains(&"once unknown".to_owned());
        let once = if lost { "once unknown" } else { "once output-available" };
        let said = "It is sent, and every reader saw all of it exactly once.";
        let expected = [
            "step-start",
            "Both at once.",
            once,
            "again output-available",
            "step-start",
            said,
            "ask_user output-available",
            "It is blue.",
        ];
        assert_eq!(parts, expected, "{run}");

        let of = |name: &str| -> Vec<u32> {
            let prefix = format!("{name} {run} ");
            done.iter().filter(|(line, _)| line.starts_with(&prefix)).map(|(_, times)| *times).collect()
        };
        // A call with an unknown outcome may not have begun.
        assert!(of("once") == [1] || (lost && of("once").is_empty()), "{run}: {:?}", of("once"));
        assert_eq!(of("again").len(), 1, "{run}: one key for one call");
        assert_eq!(of("paint").len(), 1, "{run}");
        unknown += u32::from(lost);
        let entries = agent.run(&*run).entries().await.unwrap();
        takeovers += entries
            .iter()
            .filter(
                |entry| matches!(entry, headwater_runtime::JournalEntry::Effect(effect) if effect == "taken-over"),
            )
            .count();
    }
    let again: u32 = done.values().map(|times| times - 1).sum();
    // At most the work that was in progress when a process died.
    assert!(again as usize <= killed * AT_ONCE * 2, "{again} effects were repeated");
    format!(
        "{runs} runs resumed {takeovers} times, {unknown} calls of unknown outcome, {again} repeated by their key"
    )
}

/// A short form of a message part.
fn shown(part: &Value) -> String {
    match (part["toolName"].as_str(), part["text"].as_str()) {
        (Some(name), _)
            if part["errorText"].as_str().is_some_and(|error| error.contains("it may have taken effect")) =>
        {
            format!("{name} unknown")
        }
        (Some(name), _) => format!("{name} {}", part["state"].as_str().unwrap_or_default()),
        (None, Some(text)) => text.to_owned(),
        (None, None) => part["type"].as_str().unwrap_or_default().to_owned(),
    }
}
