//! Sets of tools.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use headwater_protocol::ToolSpec;
use headwater_tools::{
    ClientTool, ErrorKind, FunctionTool, Tool, ToolContext, ToolError, ToolFuture, ToolOutput, Tools,
};
use serde_json::{Value, json};

fn page(name: &str) -> ClientTool {
    ClientTool::new(ToolSpec::new(name, json!({"type": "object", "required": ["id"]})))
}

async fn open(_: Value) -> Result<Value, ToolError> {
    Ok(json!({}))
}

fn names(tools: &Tools) -> Vec<&str> {
    tools.specs().map(|spec| spec.name.as_str()).collect()
}

#[test]
fn tools_keep_their_order_and_are_found_by_name() {
    let tools = Tools::new().with(page("zebra")).unwrap().with(page("ape")).unwrap();
    let more = Tools::new().with(FunctionTool::new("open", open)).unwrap();
    let all = tools.merge(more).unwrap();
    assert_eq!(names(&all), ["zebra", "ape", "open"]);
    assert_eq!(all.get("ape").unwrap().spec().name, "ape");
    assert!(all.get("Ape").is_none());
    assert_eq!((all.len(), all.is_empty(), Tools::new().is_empty()), (3, false, true));
}

#[test]
fn duplicate_name_is_refused_with_both_origins() {
    let once = Tools::new().with(page("open")).unwrap();
    let error = once.clone().with(FunctionTool::new("open", open)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Duplicate);
    let text = error.to_string();
    assert!(
        text.starts_with("two tools are named \"open\", one from the page and one from the function "),
        "{text}"
    );
    assert!(text.contains("set::open"), "{text}");
    assert_eq!(once.clone().merge(once).unwrap_err().kind(), ErrorKind::Duplicate);
}

#[test]
fn name_not_accepted_by_model_apis_is_refused() {
    for name in ["", "two words", "naïve", &"x".repeat(129)] {
        assert_eq!(Tools::new().with(page(name)).unwrap_err().kind(), ErrorKind::Name, "{name:?}");
    }
    assert!(Tools::new().with(page(&"x".repeat(128))).unwrap().with(page("issues.get_one-2")).is_ok());
}

#[test]
fn invalid_schema_is_refused_with_the_name_of_the_tool() {
    let error_of = |schema: Value| {
        let error = Tools::new().with(ClientTool::new(ToolSpec::new("broken", schema))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Schema);
        error.to_string().strip_prefix("the input schema of \"broken\" (the page): ").unwrap().to_owned()
    };
    assert!(error_of(json!({"required": 7})).starts_with("not a JSON Schema, at /required: "));
    assert_eq!(
        error_of(json!({"type": "string"})),
        "invalid input type \"string\": the input of a tool must be an object"
    );
}

#[test]
fn invalid_call_gets_a_message_that_the_model_can_act_on() {
    let tools = Tools::new().with(page("open")).unwrap().with(page("shut")).unwrap();
    let error_of = |name, input| tools.check(name, &input).unwrap_err().message().to_owned();
    assert!(tools.check("open", &json!({"id": 1})).is_ok());
    assert_eq!(error_of("open", json!({})), "the input of \"open\" does not fit its schema: id: missing");
    assert_eq!(
        error_of("open", json!("id")),
        "the input of \"open\" does not fit its schema: expected an object, got \"id\""
    );
    assert_eq!(error_of("opne", json!({})), "there is no tool \"opne\"; the tools are: open, shut");
    let none = Tools::new().check("open", &json!({})).unwrap_err();
    assert_eq!(none.message(), "there is no tool \"open\"; there are no tools at all");
}

#[test]
fn list_of_a_thousand_tools_is_truncated() {
    let mut tools = Tools::new();
    for number in 0..1000 {
        tools = tools.with(page(&format!("tool-{number}"))).unwrap();
    }
    let error = tools.check(&"?".repeat(10_000), &json!({})).unwrap_err();
    assert!(error.message().ends_with("tool-49 and 950 more"), "{error}");
    assert!(error.message().len() < 1000);
    assert!(tools.check("tool-999", &json!({"id": 1})).is_ok());
}

#[derive(Debug)]
struct CountingTool {
    spec: ToolSpec,
    closed: Arc<AtomicUsize>,
}

impl Tool for CountingTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(&self, _: Value, _: ToolContext) -> ToolFuture<'_> {
        Box::pin(std::future::ready(Ok(ToolOutput::text(""))))
    }

    fn close(&self) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async {
            self.closed.fetch_add(1, Ordering::Relaxed);
        })
    }
}

#[tokio::test]
async fn closing_a_set_closes_every_tool() {
    let closed = Arc::new(AtomicUsize::new(0));
    let tool =
        |name: &str| CountingTool { spec: ToolSpec::new(name, json!({})), closed: Arc::clone(&closed) };
    let tools = Tools::new().with(tool("a")).unwrap().with(tool("b")).unwrap();
    tools.close().await;
    assert_eq!(closed.load(Ordering::Relaxed), 2);
}
