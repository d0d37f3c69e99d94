//! Functions as tools.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use headwater_protocol::ToolCallId;
use headwater_tools::{
    Approval, FunctionTool, Tool, ToolContext, ToolError, ToolOutput, UnfinishedPolicy,
    schemars::{self, JsonSchema},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Adds numbers.
///
/// The sum of none is 0.
#[derive(Debug, Deserialize, JsonSchema)]
struct Addition {
    /// What to add.
    numbers: Vec<i64>,
}

#[derive(Debug, Serialize)]
struct Sum {
    sum: i64,
}

async fn add(input: Addition) -> Result<Sum, ToolError> {
    Ok(Sum { sum: input.numbers.iter().sum() })
}

fn context() -> ToolContext {
    ToolContext::new(ToolCallId::from("call-1"), "key-1")
}

async fn message(tool: &impl Tool, input: Value) -> String {
    tool.call(input, context()).await.unwrap_err().message().to_owned()
}

#[tokio::test]
async fn function_tool_takes_schema_and_description_from_its_input_type() {
    let tool = FunctionTool::new("add", add);
    let spec = tool.spec();
    assert_eq!((spec.name.as_str(), spec.title.as_deref()), ("add", None));
    assert_eq!(spec.description.as_deref(), Some("Adds numbers.\n\nThe sum of none is 0."));
    assert_eq!(
        spec.input_schema,
        json!({
            "type": "object",
            "properties": {
                "numbers": {
                    "description": "What to add.",
                    "type": "array",
                    "items": {"type": "integer", "format": "int64"},
                }
            },
            "required": ["numbers"],
        })
    );
    let output = tool.call(json!({"numbers": [1, 2, 3]}), context()).await.unwrap();
    assert_eq!(output, ToolOutput::json(json!({"sum": 6})));
}

#[tokio::test]
async fn function_tool_may_take_the_context_and_report_progress() {
    async fn count(input: Addition, context: ToolContext) -> Result<String, ToolError> {
        for number in &input.numbers {
            context.progress(ToolOutput::json(json!(number)));
        }
        Ok(context.idempotency_key)
    }
    let seen = Arc::new(Mutex::new(Vec::new()));
    let shown = Arc::clone(&seen);
    let context = context().with_progress(move |output| shown.lock().unwrap().push(output.output));
    let tool = FunctionTool::new("count", count);
    let output = tool.call(json!({"numbers": [4, 5]}), context).await.unwrap();
    assert_eq!(output, ToolOutput::text("key-1"));
    assert_eq!(*seen.lock().unwrap(), [json!(4), json!(5)]);
}

#[tokio::test]
async fn closure_with_state_is_a_tool() {
    let prices = Arc::new(HashMap::from([("tea".to_owned(), 3)]));
    #[derive(Deserialize, JsonSchema)]
    struct Price {
        of: String,
    }
    let tool = FunctionTool::new("price", move |input: Price| {
        let prices = Arc::clone(&prices);
        async move { prices.get(&input.of).copied().ok_or_else(|| format!("no price of {}", input.of)) }
    });
    assert_eq!(tool.call(json!({"of": "tea"}), context()).await.unwrap().output, json!(3));
    assert_eq!(message(&tool, json!({"of": "gold"})).await, "no price of gold");
}

#[test]
fn function_of_any_json_has_an_object_schema() {
    async fn anything(input: Value) -> Result<Value, ToolError> {
        Ok(input)
    }
    assert_eq!(FunctionTool::new("anything", anything).spec().input_schema, json!({"type": "object"}));
}

#[tokio::test]
async fn tool_output_is_returned_unchanged() {
    async fn look(_: Addition) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::failure("nothing to see").with_structured(json!({"seen": 0})))
    }
    let output = FunctionTool::new("look", look).call(json!({"numbers": []}), context()).await.unwrap();
    assert!(output.is_error);
    assert_eq!((output.output, output.structured), (json!("nothing to see"), Some(json!({"seen": 0}))));
}

#[tokio::test]
async fn errors_of_every_kind_reach_the_model_with_their_causes() {
    async fn by_question_mark(input: Addition) -> Result<u8, ToolError> {
        Ok(u8::try_from(input.numbers[0])?)
    }
    async fn std_error(_: Addition) -> Result<(), std::io::Error> {
        Err(std::io::Error::other("the disk is gone"))
    }
    async fn any_error(_: Addition) -> Result<(), anyhow::Error> {
        Err(anyhow::Error::msg("connection refused").context("cannot reach the tracker"))
    }
    async fn own(_: Addition) -> Result<(), ToolError> {
        Err(ToolError::new("not today"))
    }
    let input = || json!({"numbers": [256]});
    assert_eq!(
        message(&FunctionTool::new("t", by_question_mark), input()).await,
        "out of range integral type conversion attempted"
    );
    assert_eq!(message(&FunctionTool::new("t", std_error), input()).await, "the disk is gone");
    assert_eq!(
        message(&FunctionTool::new("t", any_error), input()).await,
        "cannot reach the tracker: connection refused"
    );
    assert_eq!(message(&FunctionTool::new("t", own), input()).await, "not today");
}

#[tokio::test]
async fn panic_is_a_tool_error_and_later_calls_work() {
    async fn divide(input: Addition) -> Result<i64, ToolError> {
        tokio::task::yield_now().await;
        assert!(input.numbers[1] != 0, "division of {} by zero", input.numbers[0]);
        Ok(input.numbers[0] / input.numbers[1])
    }
    let tool = FunctionTool::new("divide", divide);
    assert_eq!(
        message(&tool, json!({"numbers": [1, 0]})).await,
        "the tool \"divide\" panicked: division of 1 by zero"
    );
    assert_eq!(tool.call(json!({"numbers": [6, 3]}), context()).await.unwrap().output, json!(2));

    fn at_once(_: Addition) -> std::future::Ready<Result<(), ToolError>> {
        panic!("before the future")
    }
    let tool = FunctionTool::new("at-once", at_once);
    assert_eq!(
        message(&tool, json!({"numbers": []})).await,
        "the tool \"at-once\" panicked: before the future"
    );
}

#[tokio::test(start_paused = true)]
async fn call_above_the_timeout_is_dropped_and_reported() {
    struct DropFlag(Arc<Mutex<bool>>);
    impl Drop for DropFlag {
        fn drop(&mut self) {
            *self.0.lock().unwrap() = true;
        }
    }
    let dropped = Arc::new(Mutex::new(false));
    let guard = Arc::clone(&dropped);
    let tool = FunctionTool::new("forever", move |_: Addition| {
        let guard = DropFlag(Arc::clone(&guard));
        async move {
            let _guard = guard;
            std::future::pending::<Result<(), ToolError>>().await
        }
    })
    .timeout(Duration::from_secs(30));
    assert_eq!(
        message(&tool, json!({"numbers": []})).await,
        "the tool \"forever\" returned nothing within 30s and was stopped"
    );
    assert!(*dropped.lock().unwrap());
}

#[test]
fn approval_depends_on_the_input_and_an_invalid_input_needs_it() {
    fn asked(tool: &dyn Tool, input: Value) -> Approval {
        tool.approval(&input)
    }
    let tool = FunctionTool::new("add", add).approval_if(|input| input.numbers.len() > 1);
    assert_eq!(asked(&tool, json!({"numbers": [1]})), Approval::NotNeeded);
    assert_eq!(asked(&tool, json!({"numbers": [1, 2]})), Approval::Needed);
    assert_eq!(asked(&tool, json!({"numbers": "all"})), Approval::Needed);
    let always = FunctionTool::new("add", add).approval(Approval::Needed);
    assert_eq!(asked(&always, json!({"numbers": []})), Approval::Needed);
    assert_eq!(asked(&FunctionTool::new("add", add), json!({})), Approval::NotNeeded);
}

#[tokio::test]
async fn tool_settings_are_applied() {
    fn policy(tool: &dyn Tool) -> UnfinishedPolicy {
        tool.unfinished()
    }
    let tool = FunctionTool::new("add", add)
        .title("Addition")
        .description("Sums up.")
        .unfinished(UnfinishedPolicy::Ask);
    assert_eq!(tool.spec().title.as_deref(), Some("Addition"));
    assert_eq!(tool.spec().description.as_deref(), Some("Sums up."));
    assert_eq!(policy(&tool), UnfinishedPolicy::Ask);
    assert_eq!(policy(&FunctionTool::new("add", add)), UnfinishedPolicy::Fail);
    assert_eq!(policy(&FunctionTool::new("add", add).repeatable()), UnfinishedPolicy::Repeat);
    assert!(tool.origin().starts_with("the function ") && tool.origin().ends_with("function::add"));
    assert!(message(&tool, json!({"numbers": "x"})).await.starts_with("invalid input of \"add\": "));
}
