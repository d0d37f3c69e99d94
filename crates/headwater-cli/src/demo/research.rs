//! The agent `research`: searches, then answers with sources and a chart.
//!
//! One node is enough: the model calls the tool `search` as often as it needs, and the results become the
//! sources of the answer. [`topics`] holds the demo's knowledge.

mod topics;

use std::{sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use headwater_models::{
    Models,
    scripted::{Call, Rule},
};
use headwater_protocol::{Event, SourceDocument};
use headwater_runtime::{Agent, AgentOptions, Cx, END, Next, NodeResult, Result, START, Workflow};
use headwater_store::Store;
use headwater_tools::{FunctionTool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use self::topics::Topic;
use super::improvised::{DemoRequest, ImprovisedModel, Words, literal};

/// The duration of a search, in paces of the model: half a second at the default pace.
const SEARCH_PACES: u32 = 33;

pub(super) fn agent(store: &Arc<dyn Store>, options: &AgentOptions, pace: Duration) -> Result<Agent> {
    let workflow = Workflow::new("research")
        .description("Searches twice, and answers with citations.")
        .node("answer", answer)
        .edge(START, "answer")
        .edge("answer", END)
        .build()?;
    let search = move |query: SearchQuery| async move {
        tokio::time::sleep(pace * SEARCH_PACES).await;
        Ok::<_, ToolError>(search(&query.query))
    };
    Agent::builder()
        .name("research")
        .description("Answers a question with sources, a table and a chart.")
        .suggestion("How do heat pumps work in winter?")
        .suggestion("Why are there two tides a day?")
        .suggestion("How do I keep a sourdough starter alive?")
        .models(Models::new().add("researcher", ImprovisedModel::new("demo:researcher", pace, write)))
        .tool(FunctionTool::new("search", search).title("Search").repeatable())
        .workflow(workflow)
        .store(store.clone())
        .options(options.clone())
        .build()
}

/// Searches for pages about something.
#[derive(Debug, Deserialize, JsonSchema)]
struct SearchQuery {
    /// What to search for.
    query: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct SearchResults {
    results: Vec<PageRef>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct PageRef {
    title: String,
    url: String,
}

async fn answer(cx: Cx, question: String) -> NodeResult {
    let reply = cx
        .reason("researcher")
        .system("Search before you answer, and cite what you found.")
        .messages(cx.conversation()?)
        .input(question)
        .agent_tools(["search"])
        .await?;
    let found = reply.tool_results.iter().filter_map(|call| {
        let output = call.result.as_ref().ok()?;
        SearchResults::deserialize(&output.output).ok()
    });
    for (number, page) in found.flat_map(|found| found.results).enumerate() {
        cx.emit().source_url(format!("page-{}", number + 1), page.url, Some(&page.title))?;
    }
    if let Some(topic) =
        reply.tool_results.first().and_then(|call| Topic::of_query(call.input.get("query")?.as_str()?))
    {
        cx.emit().event(Event::SourceDocument(SourceDocument {
            source: "notes".to_owned(),
            title: Some(topic.document.to_owned()),
            media_type: Some("text/plain".to_owned()),
            ..Default::default()
        }))?;
        let chart = STANDARD.encode(topic.chart());
        let name = format!("{}.svg", topic.name.replace(' ', "-"));
        cx.emit().file(format!("data:image/svg+xml;base64,{chart}"), "image/svg+xml", Some(&name))?;
    }
    Ok(Next::go())
}

fn search(query: &str) -> SearchResults {
    let pages =
        Topic::of_query(query).and_then(|topic| topic.searches.iter().find(|search| search.query == query));
    let pages = pages.map_or(&[] as &[_], |search| &search.pages);
    let page = |(title, url): &(&str, &str)| PageRef { title: (*title).to_owned(), url: (*url).to_owned() };
    SearchResults { results: pages.iter().map(page).collect() }
}

/// The script in place of a model.
fn write(asked: &DemoRequest<'_>) -> Rule {
    let question = asked.input();
    let words = Words::of(&question);
    let topic = Topic::in_words(&words);
    if topic.is_none() && words.any(&["shorter", "short", "summary", "summarize", "brief"]) {
        let before = asked.said().rev().skip(1).find_map(|said| Topic::in_words(&Words::of(&said)));
        return match before {
            Some(topic) => Rule::always().text(literal(&format!("**In short:** {}", topic.summary))),
            None => Rule::always().text("There is nothing to shorten yet. Ask me something first."),
        };
    }
    let Some(topic) = topic else {
        return Rule::always()
            .reasoning("I have no notes on this, and must not make anything up.")
            .text(literal(&unknown(&question)));
    };
    if asked.called().is_empty() {
        let calls = topic.searches.iter().map(|search| Call::new("search", json!({ "query": search.query })));
        return Rule::always().reasoning(topic.thought).tools(calls);
    }
    Rule::always().text(literal(topic.answer))
}

/// The answer to a question outside the demo's topics.
fn unknown(question: &str) -> String {
    let question = question.split_whitespace().collect::<Vec<_>>().join(" ");
    let question = if question.is_empty() { "nothing yet".to_owned() } else { question };
    format!(
        "## I cannot answer this one\n\n\
         You asked: *{question}*\n\n\
         I am a **demo model**: a script that needs no key. It has notes on three topics and makes nothing up beyond \
         them.\n\n\
         | ask about | and see |\n\
         |---|---|\n\
         | heat pumps | two searches, a formula, a chart |\n\
         | tides | a table of forces |\n\
         | sourdough | a feeding schedule |\n\n\
         With a real model, this page shows the same things for any question:\n\n\
         1. what the model thinks\n\
         2. each search, while its input is written\n\
         3. the answer, its sources and its files"
    )
}
