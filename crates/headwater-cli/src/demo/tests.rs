//! Runs each demo agent to each of its outcomes.

mod products;

use std::{sync::Arc, time::Duration};

use headwater_protocol::{BlockDelta, BlockKind, Event, Part, RunStatus, StructuredOp, ToolCallId};
use headwater_runtime::{Agent, AgentOptions, Answer, RunOutcome, Start};
use headwater_store::{Memory, Store};
use serde_json::json;

use super::improvised::literal;

fn agent(name: &str) -> Agent {
    let store: Arc<dyn Store> = Arc::new(Memory::new());
    let agents = super::agents(&store, &AgentOptions::default(), Duration::ZERO).unwrap();
    agents.into_iter().find(|(known, _)| known == name).unwrap().1
}

async fn run(name: &str, input: &str) -> (Agent, RunOutcome) {
    let agent = agent(name);
    let outcome = agent.start(Start::new(input)).await.unwrap().outcome().await.unwrap();
    (agent, outcome)
}

async fn said(name: &str, input: &str) -> String {
    let (_, outcome) = run(name, input).await;
    assert_eq!(outcome.status(), RunStatus::Finished, "{name} {input}");
    outcome.text()
}

fn parts(outcome: &RunOutcome) -> Vec<&Part> {
    outcome.state.messages().iter().flat_map(|message| &message.parts).collect()
}

#[test]
fn product_agents_are_listed_before_feature_agents() {
    let store: Arc<dyn Store> = Arc::new(Memory::new());
    let agents = super::agents(&store, &AgentOptions::default(), Duration::ZERO).unwrap();
    let names: Vec<_> = agents.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["travel", "research", "support", "chat", "email", "tools", "table", "flaky"]);
    assert!(names.contains(&super::DEFAULT));
    for (name, agent) in &agents {
        assert!(agent.description().is_some() && !agent.suggestions().is_empty(), "{name}");
    }
}

#[tokio::test]
async fn chat_repeats_unknown_input_with_every_kind_of_part() {
    let (_, outcome) = run("chat", "a {input} of\nmy own").await;
    let expected = "You wrote 5 words:\n\n> a {input} of\n> my own\n\nI am a script and understand no more than that. Try\n\n\
        - `table` for a table in Markdown\n\
        - `long` for four hundred words about a river\n\
        - `slow` for a word now and then: a good time to reload the page\n\
        - `error` for an answer that fails in the middle\n\
        - `what did I say?` to see that I remember";
    assert_eq!(outcome.text(), expected);
    let shown = format!("{:?}", parts(&outcome));
    for part in ["Reasoning", "SourceUrl", "SourceDocument", "data:image/svg+xml;base64,", "what did I say?"]
    {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    let data = parts(&outcome).into_iter().filter(|part| matches!(part, Part::Data(_)));
    assert_eq!(data.count(), 1, "data with the same name and id replaces earlier data: {shown}");
}

#[tokio::test]
async fn chat_remembers_the_conversation() {
    let agent = agent("chat");
    let session = agent.new_session(None).await.unwrap();
    session.send("the first thing").await.unwrap();
    session.send("what did I say?").await.unwrap();
    session.settled().await.unwrap();
    let messages = session.history(None, None, 10).await.unwrap().messages;
    assert_eq!(messages[3].plain_text(), "Before this you said:\n\n> the first thing");
    assert_eq!(said("chat", "What did I say").await, "Nothing yet: this is your first message.");
}

#[tokio::test]
async fn chat_streams_four_hundred_deltas_for_long() {
    let agent = agent("chat");
    let run = agent.start(Start::new("a long answer, please")).await.unwrap();
    run.outcome().await.unwrap();
    let events = run.recorded().await.unwrap();
    let deltas = events
        .iter()
        .filter(|event| matches!(event, Event::BlockDelta(BlockDelta { kind: BlockKind::Text, .. })))
        .count();
    assert_eq!(deltas, 400);
}

#[tokio::test(start_paused = true)]
async fn chat_finishes_a_slow_answer() {
    let text = said("chat", "slowly").await;
    assert!(text.ends_with("nothing is lost."), "{text}");
}

#[tokio::test]
async fn chat_fails_mid_answer_on_request() {
    let (_, outcome) = run("chat", "error").await;
    assert_eq!(outcome.status(), RunStatus::Failed);
    let error = outcome.state.run().error.as_ref().unwrap();
    assert!(error.message.contains("the demo was asked to fail, and did"), "{error:?}");
}

#[tokio::test]
async fn email_drafts_asks_revises_and_sends() {
    let (agent, outcome) = run("email", "the beta").await;
    assert_eq!(outcome.status(), RunStatus::Waiting);
    let draft = |outcome: &RunOutcome| outcome.structured().iter().last().unwrap().data().unwrap().clone();
    let first = json!({
        "subject": "News: the beta",
        "body": "Hi team,\n\nhere is what is new about the beta.\n\nTell us what you think of it.",
        "bullets": ["Works with the page you have", "Survives a reload", "Starts with one command"],
    });
    assert_eq!(draft(&outcome), first);
    let revised = answer(&agent, &outcome, "revise").await;
    let second = json!({
        "subject": "News: the beta",
        "body": "Hi team,\n\nhere is what is new about the beta.",
        "bullets": ["Survives a reload", "Starts with one command"],
    });
    assert_eq!((revised.status(), draft(&revised)), (RunStatus::Waiting, second));
    let sent = answer(&agent, &revised, "send").await;
    assert_eq!((sent.status(), sent.text().as_str()), (RunStatus::Finished, "Sent: News: the beta"));
}

async fn answer(agent: &Agent, outcome: &RunOutcome, answer: &str) -> RunOutcome {
    let open = agent.questions(None, 10).await.unwrap();
    let question = open.first().unwrap();
    assert_eq!(question.interrupt().unwrap().question.as_deref().unwrap(), "Send “News: the beta”?");
    assert!(!outcome.state.interrupts().is_empty());
    let answered = Answer::given(question.request.clone(), answer).by(None);
    agent.answer(answered).await.unwrap().outcome().await.unwrap()
}

#[tokio::test]
async fn table_grows_row_by_row() {
    let agent = agent("table");
    let run = agent.start(Start::new("anything")).await.unwrap();
    let outcome = run.outcome().await.unwrap();
    assert_eq!(outcome.text(), "Rivers: 5 rows.");
    let table = outcome.structured().iter().next().unwrap().data().unwrap().clone();
    assert_eq!(table["rows"][4], json!(["Rhine", 1233, "North Sea"]));
    let events = run.recorded().await.unwrap();
    let ops = events.iter().filter_map(|event| match event {
        Event::Structured(update) => Some(&update.op),
        _ => None,
    });
    let (mut sets, mut rows, mut texts, mut ends) = (0, 0, 0, 0);
    for op in ops {
        match op {
            StructuredOp::Set { .. } => sets += 1,
            // Rows that come together are one update.
            StructuredOp::Append { items, .. } => rows += items.len(),
            StructuredOp::TextDelta { .. } => texts += 1,
            StructuredOp::Final { .. } => ends += 1,
            op => panic!("{op:?}"),
        }
    }
    assert_eq!((sets, rows, ends), (2, 5, 1));
    assert!(texts > 0);
    assert_eq!(said("table", "the planets").await, "Planets: 4 rows.");
}

#[tokio::test]
async fn flaky_retracts_text_of_failed_model() {
    let agent = agent("flaky");
    let run = agent.start(Start::new("hi")).await.unwrap();
    let outcome = run.outcome().await.unwrap();
    assert_eq!(
        outcome.text(),
        "The first model died in the middle of its sentence. Its text was retracted, and this is the second \
         model, which answers in full. You said: hi"
    );
    let events = run.recorded().await.unwrap();
    assert!(events.iter().any(|event| matches!(event, Event::AttemptRetracted(_))), "{events:?}");
}

#[tokio::test]
async fn tools_run_alone_and_in_parallel() {
    assert_eq!(said("tools", "weather in Paris").await, "In Paris it is 19 °C and rainy.");
    assert_eq!(
        said("tools", "Compare Paris and Rome, please.").await,
        "In Paris it is 19 °C and rainy. In Rome it is 26 °C and cloudy. Rome is 7 degrees warmer than Paris."
    );
    assert_eq!(
        said("tools", "weather in Atlantis").await,
        "The tool get_weather failed: there is no weather station in Atlantis."
    );
    assert!(said("tools", "hello").await.starts_with("I have tools. Try"));
}

#[tokio::test]
async fn tool_approval_calls_or_skips_the_tool() {
    for (allowed, expected) in
        [(true, "I deleted a.txt."), (false, "I left a.txt alone, as you wished (you said: not that one).")]
    {
        let (agent, outcome) = run("tools", "delete a.txt!").await;
        assert_eq!(outcome.status(), RunStatus::Waiting);
        let open = agent.questions(None, 10).await.unwrap();
        assert_eq!(open[0].approval().unwrap().1, &json!({ "path": "a.txt" }));
        let request = open[0].request.clone();
        let answered =
            if allowed { Answer::approved(request) } else { Answer::denied(request, Some("not that one")) };
        let ended = agent.answer(answered.by(None)).await.unwrap().outcome().await.unwrap();
        assert_eq!((ended.status(), ended.text().as_str()), (RunStatus::Finished, expected));
    }
}

#[tokio::test]
async fn client_tool_is_executed_by_the_page() {
    let agent = agent("tools");
    let run = agent.start(Start::new("where am I?")).await.unwrap();
    let outcome = run.outcome().await.unwrap();
    assert_eq!(outcome.status(), RunStatus::Waiting);
    let calls = calls(&outcome);
    let going = agent.tool_output(run.id(), &calls[0], None, Ok(json!({ "city": "Oslo" }))).await.unwrap();
    let ended = going.outcome().await.unwrap();
    assert_eq!((ended.status(), ended.text().as_str()), (RunStatus::Finished, "You are in Oslo."));
}

#[tokio::test]
async fn everything_mixes_all_kinds_of_tools_in_one_step() {
    let agent = agent("tools");
    let run = agent.start(Start::new("everything")).await.unwrap();
    let outcome = run.outcome().await.unwrap();
    assert_eq!(outcome.status(), RunStatus::Waiting);
    let calls = calls(&outcome);
    assert_eq!(calls.len(), 4);
    let waiting = agent.tool_output(run.id(), &calls[3], None, Ok(json!({ "city": "Oslo" }))).await.unwrap();
    waiting.outcome().await.unwrap();
    let open = agent.questions(None, 10).await.unwrap();
    let request = open.iter().find(|question| question.approval().is_some()).unwrap().request.clone();
    let ended = agent.answer(Answer::denied(request, None).by(None)).await.unwrap().outcome().await.unwrap();
    assert_eq!(
        ended.text(),
        "In Paris it is 19 °C and rainy. In Rome it is 26 °C and cloudy. I left notes.txt alone, as you wished. \
         You are in Oslo. Rome is 7 degrees warmer than Paris."
    );
}

fn calls(outcome: &RunOutcome) -> Vec<ToolCallId> {
    parts(outcome)
        .into_iter()
        .filter_map(|part| match part {
            Part::Tool(tool) => Some(tool.call.clone()),
            _ => None,
        })
        .collect()
}

#[test]
fn literal_escapes_script_placeholders() {
    for text in ["{input}", "{{turn}}", "{tool.x} {", "{a}{attempt}", "{{{input}", "plain", "{"] {
        use futures_util::StreamExt as _;
        use headwater_models::{
            Model as _, ModelEvent, ModelRequest,
            scripted::{Rule, Script, ScriptedModel},
        };
        let model = ScriptedModel::new(Script::new("s").rule(Rule::always().text(literal(text))));
        let events = model.ask(ModelRequest::new("no")).collect::<Vec<_>>();
        let events = tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(events);
        let said: String = events
            .into_iter()
            .filter_map(|event| match event.unwrap() {
                ModelEvent::TextDelta { delta, .. } => Some(delta),
                _ => None,
            })
            .collect();
        assert_eq!(said, text);
    }
}
