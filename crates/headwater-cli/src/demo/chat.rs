//! The scripts of the agents `chat` and `flaky`.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use headwater_models::{
    ModelError, ModelErrorKind,
    scripted::{Fault, Rule},
};
use headwater_runtime::{Cx, Next, NodeResult};
use serde_json::json;

use super::improvised::{DemoRequest, Words, literal};

/// An image for an answer.
const PICTURE: &str = include_str!("river.svg");

/// A text of four hundred words.
const LONG: &str = include_str!("river.txt");

/// The delay of `slow` before each word.
const SLOW: Duration = Duration::from_millis(150);

/// Retracts the suggested questions of the previous answer, which the page may still show.
pub(super) async fn begin(cx: Cx, _: ()) -> NodeResult {
    follow_ups(&cx, &[])
}

/// Suggests follow-up questions. Data with the same name and id replaces the earlier data.
pub(super) async fn finish(cx: Cx, input: String) -> NodeResult {
    let others = FOLLOW_UPS.into_iter().filter(|question| !input.contains(question));
    follow_ups(&cx, &others.take(3).collect::<Vec<_>>())
}

const FOLLOW_UPS: [&str; 4] = ["table", "long", "slow", "what did I say?"];

fn follow_ups(cx: &Cx, questions: &[&str]) -> NodeResult {
    cx.emit().data("follow-ups", Some("answer"), json!({ "questions": questions }))?;
    Ok(Next::go())
}

/// The things to try, appended to answers that know nothing better.
const TRY: &str = "\
- `table` for a table in Markdown\n\
- `long` for four hundred words about a river\n\
- `slow` for a word now and then: a good time to reload the page\n\
- `error` for an answer that fails in the middle\n\
- `what did I say?` to see that I remember";

/// The answer of `chat`.
pub(super) fn answer(asked: &DemoRequest<'_>) -> Rule {
    let input = asked.input();
    let words = Words::of(&input);
    if words.phrase("what did i say") || words.phrase("what did i just say") {
        return remembered(asked.previous());
    }
    if words.any(&["error", "fail"]) {
        return failing();
    }
    if words.any(&["long"]) {
        return Rule::always().reasoning("They want something to read.").text(LONG);
    }
    if words.any(&["slow", "slowly"]) {
        return Rule::always()
            .reasoning("They want to see it come.")
            .text("One word after the other, as slowly as a tired model. Close this page, open it again: nothing is lost.")
            .pace(SLOW);
    }
    if words.any(&["table"]) {
        return Rule::always().reasoning("A table says it best.").text(
            "Three of the dialects, in short:\n\n\
             | dialect | framing | resumes by |\n\
             |---|---|---|\n\
             | `ai-sdk` | SSE | merged replay |\n\
             | `ag-ui` | SSE | Last-Event-ID |\n\
             | `mui` | SSE | sequence |\n\n\
             For a table that grows row by row, ask the agent `table`.",
        );
    }
    if words.any(&["hello", "hi", "hey", "hallo", "bonjour"]) {
        let text = format!(
            "**Hello!** I am the demo agent `chat`: a script, no model is asked. What I can show:\n\n{TRY}"
        );
        return with_all_parts(Rule::always().reasoning("A greeting. I say what I can do."), text);
    }
    let said = if input.trim().is_empty() { "nothing" } else { input.trim() };
    let count = input.split_whitespace().count();
    let words = if count == 1 { "word" } else { "words" };
    let text = format!(
        "You wrote {count} {words}:\n\n> {}\n\nI am a script and understand no more than that. Try\n\n{TRY}",
        literal(&said.replace('\n', "\n> "))
    );
    let thought = "I do not know this one. I repeat it, and say what else there is.";
    with_all_parts(Rule::always().reasoning(thought), text)
}

/// A text with every kind of part that an answer can have.
fn with_all_parts(rule: Rule, text: String) -> Rule {
    let picture = format!("data:image/svg+xml;base64,{}", STANDARD.encode(PICTURE));
    rule.text(text)
        .source("https://example.com/headwater", "An example page")
        .document("The design of Headwater", "One journal, many projections.")
        .file("image/svg+xml", picture)
}

fn remembered(previous: Option<String>) -> Rule {
    let text = match previous {
        Some(said) => format!("Before this you said:\n\n> {}", literal(&said.replace('\n', "\n> "))),
        None => "Nothing yet: this is your first message.".to_owned(),
    };
    Rule::always().reasoning("I look at the conversation.").text(text)
}

fn failing() -> Rule {
    let error = ModelError::new(ModelErrorKind::InvalidRequest, "the demo was asked to fail, and did");
    Rule::always()
        .reasoning("They want to see a failure.")
        .text("This answer begins well, and then")
        .fault(Fault::error(error))
}

/// The first model of `flaky`: its stream breaks in the middle of a sentence.
pub(super) fn die(_: &DemoRequest<'_>) -> Rule {
    Rule::always().text("The first model begins to answer, gets as far as this, and").fault(Fault::cut())
}

/// The second model of `flaky`.
pub(super) fn take_over(asked: &DemoRequest<'_>) -> Rule {
    let text = format!(
        "The first model died in the middle of its sentence. Its text was retracted, and this is the second \
         model, which answers in full. You said: {}",
        literal(&asked.input())
    );
    Rule::always().text(text)
}
