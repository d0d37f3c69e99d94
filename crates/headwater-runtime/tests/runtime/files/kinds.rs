//! Each kind of node, and every example of the docs.

use std::{fs, path::PathBuf, sync::Arc};

use headwater_protocol::{Event, RunStatus};
use headwater_runtime::{Agent, AgentFile, Cx, FileOptions, Functions, Next, NodeResult, RunOutcome, Start};
use headwater_store::Memory;
use headwater_tools::{FunctionTool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::examples::answer;

#[derive(Deserialize, JsonSchema)]
struct City {
    city: String,
}

async fn weather(input: City) -> Result<String, ToolError> {
    Ok(format!("sunny in {}", input.city))
}

async fn look_up(_cx: Cx, question: String) -> NodeResult {
    Ok(Next::data(&json!({ "question": question, "answer": 42 }))?.with_condition("found"))
}

fn built(text: &str) -> Agent {
    let file = AgentFile::parse("docs.yaml", text).unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    let options = FileOptions::new(Arc::new(Memory::new()))
        .tool(FunctionTool::new("weather", weather).repeatable())
        .unwrap()
        .functions(Functions::new().add("look_up", look_up));
    file.build(options).unwrap()
}

async fn run(text: &str, input: &str) -> (Agent, RunOutcome) {
    let agent = built(text);
    let start = Start::new(input).runtime_context(json!({ "user": "Ada" }));
    let outcome = agent.start(start).await.unwrap().outcome().await.unwrap();
    (agent, outcome)
}

/// A file with one workflow of these nodes, one after the other.
fn chain(nodes: &[(&str, &str)]) -> String {
    let mut text =
        format!("name: a\nfunctions: [look_up]\nworkflows:\n  w:\n    start: {}\n    nodes:\n", nodes[0].0);
    for (name, node) in nodes {
        text.push_str(&format!("      {name}: {node}\n"));
    }
    text.push_str("    edges:\n");
    for pair in nodes.windows(2) {
        text.push_str(&format!("      - {{ from: {}, to: {} }}\n", pair[0].0, pair[1].0));
    }
    text.push_str(&format!("      - {{ from: {}, to: end }}\n", nodes[nodes.len() - 1].0));
    text
}

#[tokio::test]
async fn templates_see_input_data_state_and_context() {
    let text = chain(&[
        ("find", "{ function: look_up, save: { state: found } }"),
        ("keep", "{ route: { by: state.found.answer }, save: kept }"),
        (
            "say",
            "{ message: \"{{ input }} {{ data.kept }} {{ state.found.question | upper }} {{ context.user }}\" }",
        ),
    ]);
    let (_, outcome) = run(&text, "why?").await;
    assert_eq!(outcome.text(), "why? 42 WHY? Ada");
}

#[tokio::test]
async fn page_shares_its_state_with_the_nodes() {
    let text = chain(&[
        ("find", "{ function: look_up, save: { shared: found } }"),
        ("say", "{ message: \"{{ shared.found.answer }} of {{ shared.total }}\" }"),
    ]);
    let start = Start::new("why?").client_context(json!({ "state": { "total": 50 } }));
    let outcome = built(&text).start(start).await.unwrap().outcome().await.unwrap();
    assert_eq!(outcome.text(), "42 of 50");
    let found = json!({ "question": "why?", "answer": 42 });
    assert_eq!(outcome.state.shared_state(), Some(&json!({ "total": 50, "found": found })));
}

#[tokio::test]
async fn client_tools_are_available_unless_the_node_disables_them() {
    let page_tool = |name: &str| headwater_protocol::ClientTool { name: name.into(), ..Default::default() };
    for (node, waits) in [
        ("{ reason: { model: m } }", true),
        ("{ reason: { model: m, client_tools: false } }", false),
        ("{ reason: { model: m, emit: false } }", false),
        ("{ reason: { model: m, emit: false, client_tools: true } }", true),
    ] {
        let models = "models:\n  m:\n    script:\n      name: m\n      rules:\n        - say: [{ tool: { name: locate, input: {} } }]\n";
        let text = chain(&[("ask", node)]).replacen("workflows:", &format!("{models}workflows:"), 1);
        let start = Start::new("where?").client_tools(vec![page_tool("locate")]);
        let outcome = built(&text).start(start).await.unwrap().outcome().await.unwrap();
        assert_eq!(outcome.status() == RunStatus::Waiting, waits, "{node}: {:?}", outcome.status());
    }
}

#[tokio::test]
async fn client_tool_does_not_replace_a_tool_of_the_agent() {
    let text = "
name: a
tools: [weather]
models:
  m:
    script:
      name: m
      rules:
        - when: { after_tool: weather }
          say: [{ text: \"It is {tool.weather}.\" }]
        - say: [{ tool: { name: weather, input: { city: Oslo } } }]
workflows:
  w:
    start: ask
    nodes:
      ask: { reason: { model: m, tools: [weather] } }
";
    let mine = headwater_protocol::ClientTool { name: "weather".into(), ..Default::default() };
    let start = Start::new("?").client_tools(vec![mine]);
    let outcome = built(text).start(start).await.unwrap().outcome().await.unwrap();
    assert_eq!(outcome.text(), "It is sunny in Oslo.");
}

#[tokio::test]
async fn failed_template_reports_its_position() {
    let text = chain(&[("say", "{ message: \"Hello {{ data.nmae }}\" }")]);
    let (agent, outcome) = run(&text, "x").await;
    assert_eq!(outcome.status(), RunStatus::Failed);
    let run = outcome.state.run().started.run.clone().unwrap();
    let events = agent.run(run).recorded().await.unwrap();
    let failed = events.iter().find_map(|event| match event {
        Event::RunFailed(info) => Some(info.clone()),
        _ => None,
    });
    let failed = failed.unwrap();
    assert_eq!(failed.code.as_deref(), Some("template.failed"));
    assert_eq!(failed.message, "docs.yaml:7:33: undefined value in `data.nmae`");
}

#[tokio::test]
async fn failed_expression_can_be_caught() {
    let text = "
name: a
workflows:
  w:
    start: choose
    nodes:
      choose: { route: { by: data.gone.deep }, on_error: { go_to: sorry } }
      sorry: { message: \"{{ data.error.message }}\" }
";
    let (_, outcome) = run(text, "x").await;
    assert_eq!(outcome.status(), RunStatus::Finished);
    assert!(outcome.text().contains("docs.yaml:7:"), "{}", outcome.text());
}

#[tokio::test]
async fn structured_object_is_extended_by_several_nodes() {
    let text = chain(&[
        ("find", "{ function: look_up }"),
        (
            "begin",
            "{ structured: { type: card, stream: c1, set: { title: \"{{ input }}\", n: \"{{ data.answer }}\" } } }",
        ),
        (
            "more",
            "{ structured: { type: card, stream: c1, text: { body: Hi }, append: { list: [\"{{ data.answer }}\", b] } } }",
        ),
    ]);
    let (_, outcome) = run(&text, "T").await;
    let object = outcome.structured().iter().next().unwrap();
    let data = serde_json::to_value(object).unwrap().to_string();
    assert!(data.contains(r#""title":"T","n":42,"body":"Hi","list":[42,"b"]"#), "{data}");
}

#[tokio::test]
async fn question_options_come_from_data_and_multiple_answers_are_saved() {
    let text = "
name: a
functions: [look_up]
workflows:
  w:
    start: pick
    nodes:
      pick:
        interrupt: { ask: Which?, options_from: \"[{'id': 'a', 'label': input}, {'id': 'b', 'label': 'B'}]\" }
        save: picked
      done: { message: \"{{ data.picked }}\" }
    edges: [{ from: pick, when: b, to: done }]
";
    let (agent, outcome) = run(text, "first").await;
    let asked = outcome.state.interrupts().last().unwrap();
    assert_eq!(asked.options[0].label, "first");
    let (_, outcome) = answer(&agent, &outcome, "b").await;
    assert_eq!(outcome.text(), "b");
}

#[tokio::test(start_paused = true)]
async fn wait_node_waits_and_continues() {
    let (_, outcome) = run(&chain(&[("pause", "{ wait: 2h }"), ("say", "{ message: Done }")]), "x").await;
    assert_eq!((outcome.status(), outcome.text().as_str()), (RunStatus::Finished, "Done"));
}

#[tokio::test]
async fn json_files_are_accepted() {
    let text = json!({
        "name": "a",
        "workflows": { "w": { "start": "n", "nodes": { "n": { "message": "Hello {{ input }}" } } } },
    });
    for text in [text.to_string(), format!("{text:#}"), format!("{text:#}").replace("  ", "\t")] {
        let (_, outcome) = run(&text, "you").await;
        assert_eq!(outcome.text(), "Hello you");
    }
}

/// In the docs, the text after an example is the run's text for the input `hello`, or its question.
#[tokio::test]
async fn examples_of_the_docs_run_as_documented() {
    let docs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/yaml.md");
    let docs = fs::read_to_string(docs).unwrap();
    let schema = headwater_tools::Schema::new(AgentFile::json_schema()).unwrap();
    let mut examples = 0;
    for block in docs.split("```yaml\n").skip(1) {
        let (example, rest) = block.split_once("```").unwrap();
        let said =
            rest.trim_start().strip_prefix("```text\n").map(|said| said.split_once("\n```").unwrap().0);
        let said = said.unwrap_or_else(|| panic!("what does this say?\n{example}"));
        let value: Value = serde_saphyr::from_str(example).unwrap();
        schema.check(&value).unwrap_or_else(|wrong| panic!("{wrong:?}\n{example}"));
        let (_, outcome) = run(example, "hello").await;
        let mut text = outcome.text();
        if outcome.status() == RunStatus::Waiting {
            let asked = outcome.state.interrupts().last().unwrap();
            text.push_str(asked.question.as_deref().unwrap_or_default());
        } else {
            assert_eq!(outcome.status(), RunStatus::Finished, "{example}");
        }
        assert_eq!(text, said, "{example}");
        examples += 1;
    }
    assert!(examples >= 8, "{examples}");
}

#[tokio::test]
async fn limits_of_a_file_apply_to_its_runs() {
    let text = |limits: &str| {
        format!(
            "name: a\nlimits: {{ {limits} }}\nmodels: {{ m: {{ script: {{ name: m, rules: [{{ when: {{ pass: 0 }}, say: [{{ text: '{long}' }}] }}] }} }} }}\n\
             workflows:\n  w:\n    start: n\n    nodes:\n      n: {{ reason: {{ model: m, prompt: hi }} }}\n",
            long = "0123456789".repeat(500)
        )
    };
    for (limits, code) in [
        ("max_answer_bytes: 1000", "model.output-too-large"),
        ("max_run_bytes: 4000, max_tool_output_bytes: 10, max_takeovers: 3", "run.too-large"),
    ] {
        let (_, outcome) = run(&text(limits), "hi").await;
        let error = outcome.state.run().error.clone();
        assert_eq!(error.and_then(|error| error.code).as_deref(), Some(code), "{limits}");
    }
}
