//! The agent `travel`: plans a trip and changes the plan on request.
//!
//! ```text
//! understand ──plan──▶ ask_pace ──▶ look_up ──▶ plan
//!            ──change─────────────────────────▶ plan
//!            ──unclear─▶ explain
//! ```
//!
//! The nodes are written as for a real model; [`model`] is the script in place of one.

mod cities;
mod model;

use std::{future::IntoFuture as _, sync::Arc, time::Duration};

use headwater_models::Models;
use headwater_protocol::Part;
use headwater_runtime::{
    Agent, AgentOptions, Choice, Cx, END, Next, NodeResult, Result, START, StructuredOutput, Workflow,
};
use headwater_store::Store;
use headwater_tools::{FunctionTool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use self::cities::{City, TravelConnection};
use super::improvised::ImprovisedModel;

const UNDERSTAND: &str = "Read what trip the person wants, or which change of the itinerary.";
const LOOK_UP: &str = "Look up the climate and the way there, and report both in two sentences.";
const PLAN: &str = "Plan the trip, or make the change, and give the whole itinerary.";
const COMMENT: &str = "Comment on the plan in one or two sentences while it is made.";
const SUMMARIZE: &str = "Summarize the itinerary in Markdown.";

/// The duration of a tool call, in paces of the model: 0.6 seconds at the default pace.
const TOOL_PACES: u32 = 40;

pub(super) fn agent(store: &Arc<dyn Store>, options: &AgentOptions, pace: Duration) -> Result<Agent> {
    let workflow = Workflow::new("travel")
        .description("Plans a trip day by day, with its costs.")
        .model("planner")
        .node("understand", understand)
        .node("ask_pace", ask_pace)
        .node("look_up", look_up)
        .node("plan", plan)
        .node("explain", explain)
        .edge(START, "understand")
        .edge_when("understand", "plan", "ask_pace")
        .edge_when("understand", "change", "plan")
        .edge_when("understand", "unclear", "explain")
        .edge("ask_pace", "look_up")
        .edge("look_up", "plan")
        .edge("plan", END)
        .edge("explain", END)
        .build()?;
    let climate = move |of: ClimateOf| async move {
        tokio::time::sleep(pace * TOOL_PACES).await;
        Ok::<_, ToolError>(City::named(&of.city).climate(of.month.as_deref()))
    };
    let connections = move |to: ConnectionsTo| async move {
        tokio::time::sleep(pace * TOOL_PACES * 2).await;
        Ok::<_, ToolError>(TravelConnections { connections: City::named(&to.city).connections })
    };
    Agent::builder()
        .name("travel")
        .description("Plans a trip day by day: the way there, what to do, and what it costs.")
        .suggestion("3 days in Lisbon in May")
        .suggestion("A relaxed weekend in Copenhagen")
        .suggestion("5 days in Kyoto in autumn")
        .models(Models::new().add("planner", ImprovisedModel::new("demo:planner", pace, model::answer)))
        .tool(FunctionTool::new("get_climate", climate).title("Climate").repeatable())
        .tool(FunctionTool::new("find_connections", connections).title("Trains and flights").repeatable())
        .workflow(workflow)
        .store(store.clone())
        .options(options.clone())
        .build()
}

/// What a city's weather is usually like.
#[derive(Debug, Deserialize, JsonSchema)]
struct ClimateOf {
    /// The city.
    city: String,
    /// The month, in English.
    month: Option<String>,
}

/// Finds trains and flights to a city.
#[derive(Debug, Deserialize, JsonSchema)]
struct ConnectionsTo {
    /// The city.
    city: String,
}

#[derive(Debug, Serialize)]
struct TravelConnections {
    connections: [TravelConnection; 2],
}

/// The user's intent.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Wish {
    intent: Intent,
    #[serde(flatten)]
    trip: Option<Trip>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Intent {
    Plan,
    Change,
    Unclear,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
struct Trip {
    city: String,
    days: u32,
    month: Option<String>,
    pace: Option<TravelPace>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum TravelPace {
    Relaxed,
    Packed,
}

/// A plan of a trip.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Itinerary {
    title: String,
    city: String,
    dates: String,
    days: Vec<Day>,
    costs: Vec<Cost>,
    /// In euros.
    total: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Day {
    day: u32,
    title: String,
    morning: String,
    afternoon: String,
    evening: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Cost {
    item: String,
    euros: u32,
}

async fn understand(cx: Cx, _: ()) -> NodeResult {
    let prompt = with_itinerary(&cx)?;
    let reply = cx.reason("planner").system(UNDERSTAND).input(prompt).output::<Wish>().emit(false).await?;
    let condition = match reply.output.intent {
        Intent::Plan => "plan",
        Intent::Change => "change",
        Intent::Unclear => "unclear",
    };
    Ok(Next::data(&reply.output)?.with_condition(condition))
}

/// Asks only if the user has not said it; the run waits here for the answer.
async fn ask_pace(cx: Cx, trip: Trip) -> NodeResult {
    if trip.pace.is_some() {
        return Ok(Next::go());
    }
    let question = Choice::new(format!("How full should your days in {} be?", trip.city))
        .option_with("relaxed", "Relaxed", "One thing in the morning, and the afternoon is free.")
        .option_with("packed", "Packed", "Something to see all day.");
    let pace = cx.interrupt(question).id("pace").await?;
    Ok(Next::data(&json!({ "pace": pace }))?)
}

async fn look_up(cx: Cx, trip: Trip) -> NodeResult {
    let call = cx.reason("planner").system(LOOK_UP).input(serde_json::to_string(&trip)?);
    call.agent_tools(["get_climate", "find_connections"]).await?;
    Ok(Next::go())
}

async fn plan(cx: Cx, wish: Wish) -> NodeResult {
    let prompt = match (wish.intent, &wish.trip) {
        (Intent::Plan, Some(trip)) => serde_json::to_string(trip)?,
        _ => with_itinerary(&cx)?,
    };
    let itinerary =
        cx.reason("planner").id("itinerary").system(PLAN).input(&prompt).output::<Itinerary>().structured(
            StructuredOutput::new("itinerary")
                .schema("itinerary", "1")
                .set("title")
                .set("city")
                .set("dates")
                .append("days")
                .append("costs")
                .set("total"),
        );
    let comment = cx.reason("planner").id("comment").system(COMMENT).input(&prompt);
    // Run both at once: the days appear while the comment is written.
    let (itinerary, _) = tokio::try_join!(itinerary.into_future(), comment.into_future())?;
    let itinerary = itinerary.output;
    let summary = cx.reason("planner").id("summary").system(SUMMARIZE);
    summary.input(serde_json::to_string(&itinerary)?).await?;
    Ok(Next::go().with_result(&itinerary)?)
}

async fn explain(cx: Cx, _: ()) -> NodeResult {
    Ok(Next::message(match last_itinerary(&cx) {
        Some(itinerary) => format!(
            "I did not understand that change. For {} I can do this:\n\n\
             - `make day 2 slower`, or `fuller`\n- `swap day 1 and 2`\n- `cheaper`\n- `make it 4 days`\n\n\
             Or name another city.",
            itinerary.city
        ),
        None => "Where do you want to go, and for how long? For example:\n\n\
                 - `3 days in Lisbon in May`\n- `a relaxed weekend in Copenhagen`\n- `5 days in Kyoto in autumn`"
            .to_owned(),
    }))
}

/// The user's message and the itinerary that it may refer to.
fn with_itinerary(cx: &Cx) -> std::result::Result<String, serde_json::Error> {
    Ok(match last_itinerary(cx) {
        Some(itinerary) => format!("{}\n\nItinerary: {}", cx.input(), serde_json::to_string(&itinerary)?),
        None => cx.input().to_owned(),
    })
}

/// The itinerary of an earlier turn: structured objects are part of the conversation.
fn last_itinerary(cx: &Cx) -> Option<Itinerary> {
    let mut parts = cx.messages().iter().rev().flat_map(|message| message.parts.iter().rev());
    parts.find_map(|part| match part {
        Part::Structured(part) if part.data_type == "itinerary" => {
            Itinerary::deserialize(part.data.as_ref()?).ok()
        }
        _ => None,
    })
}
