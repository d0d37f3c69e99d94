//! The tools of the agent `tools` and the script that calls them.

mod input;

use headwater_models::{
    ToolResultOutput,
    scripted::{Call, Rule},
};
use headwater_protocol::ToolSpec;
use headwater_runtime::{Error, ErrorKind, Result};
use headwater_tools::{Approval, ClientTool, FunctionTool, ToolError, Tools};
use input::RequestedTools;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::improvised::{DemoRequest, ToolOutcome, literal, literal_json};

/// The tools by name.
pub(super) fn tools() -> Result<Tools> {
    let location = ToolSpec::new("get_location", json!({ "type": "object", "properties": {} }))
        .description("Where the person is, as the page knows it: `city`, or anything else that it can say.");
    Tools::new()
        .with(FunctionTool::new("get_weather", get_weather).title("Weather").repeatable())
        .and_then(|tools| {
            let delete = FunctionTool::new("delete_file", delete_file).title("Delete a file").repeatable();
            tools.with(delete.approval(Approval::Needed))
        })
        .and_then(|tools| tools.with(ClientTool::new(location)))
        .map_err(|error| Error::new(ErrorKind::Build, error.to_string()))
}

/// The weather of a city.
#[derive(Debug, Deserialize, JsonSchema)]
struct WeatherOf {
    /// The city.
    city: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct Weather {
    city: String,
    celsius: i64,
    sky: String,
}

/// Derived from the letters of the name, so that it never changes.
async fn get_weather(of: WeatherOf) -> std::result::Result<Weather, ToolError> {
    if of.city.eq_ignore_ascii_case("atlantis") {
        return Err(ToolError::new("there is no weather station in Atlantis"));
    }
    let sum: i64 = of.city.to_lowercase().bytes().map(i64::from).sum();
    let sky = match (sum + of.city.len() as i64) % 3 {
        0 => "sunny",
        1 => "cloudy",
        _ => "rainy",
    };
    Ok(Weather { city: of.city, celsius: sum % 23 + 5, sky: sky.to_owned() })
}

/// Deletes a file. Needs approval; nothing is really deleted in this demo.
#[derive(Debug, Deserialize, JsonSchema)]
struct DeleteFile {
    /// The path of the file.
    path: String,
}

async fn delete_file(file: DeleteFile) -> std::result::Result<Value, ToolError> {
    Ok(json!({ "deleted": file.path }))
}

/// Calls the tools that the input asks for, all in one step, then reports their results.
pub(super) fn answer(asked: &DemoRequest<'_>) -> Rule {
    let called = asked.called();
    if !called.is_empty() {
        return Rule::always().text(literal(&report(&called)));
    }
    let wanted = RequestedTools::in_input(&asked.input());
    if wanted.is_nothing() {
        return Rule::always().text(
            "I have tools. Try\n\n\
             - `weather in Paris` for one that runs on the server\n\
             - `compare Paris and Rome` for two at once\n\
             - `delete notes.txt` for one that you must allow\n\
             - `where am I?` for one that your page executes\n\
             - `everything` for all of them in one step",
        );
    }
    let weather =
        wanted.cities.iter().map(|city| Call::new("get_weather", literal_json(json!({ "city": city }))));
    let delete =
        wanted.file.iter().map(|path| Call::new("delete_file", literal_json(json!({ "path": path }))));
    let location = wanted.location.then(|| Call::new("get_location", json!({})));
    let calls: Vec<_> = weather.chain(delete).chain(location).collect();
    let thought = if calls.len() == 1 { "One tool will do." } else { "Several tools, all at once." };
    Rule::always().reasoning(thought).tools(calls)
}

fn report(called: &[ToolOutcome<'_>]) -> String {
    let weather: Vec<Weather> = called
        .iter()
        .filter(|call| call.tool == "get_weather")
        .filter_map(|call| match call.output {
            ToolResultOutput::Json { value } => Weather::deserialize(value).ok(),
            _ => None,
        })
        .collect();
    let mut sentences: Vec<String> = called.iter().map(sentence_about).collect();
    if let [first, second, ..] = weather.as_slice() {
        let warmer = first.celsius - second.celsius;
        sentences.push(match warmer {
            0 => format!("{} is as warm as {}.", first.city, second.city),
            1.. => format!("{} is {warmer} degrees warmer than {}.", first.city, second.city),
            _ => format!("{} is {} degrees warmer than {}.", second.city, -warmer, first.city),
        });
    }
    sentences.join(" ")
}

/// One sentence about the result of a call.
fn sentence_about(call: &ToolOutcome<'_>) -> String {
    let field = |name: &str| {
        let field = call.input.and_then(|input| input.get(name)).and_then(Value::as_str);
        field.unwrap_or("it").to_owned()
    };
    match (call.tool, call.output) {
        ("get_weather", ToolResultOutput::Json { value }) => match Weather::deserialize(value) {
            Ok(Weather { city, celsius, sky }) => format!("In {city} it is {celsius} °C and {sky}."),
            Err(_) => format!("The weather says {value}."),
        },
        ("delete_file", ToolResultOutput::ExecutionDenied { reason }) => {
            let reason = reason.as_deref().filter(|reason| !reason.trim().is_empty());
            let because = reason.map(|reason| format!(" (you said: {reason})")).unwrap_or_default();
            format!("I left {} alone, as you wished{because}.", field("path"))
        }
        ("delete_file", ToolResultOutput::Json { value }) => {
            let deleted = value.get("deleted").and_then(Value::as_str);
            format!("I deleted {}.", deleted.unwrap_or("it"))
        }
        ("get_location", ToolResultOutput::Json { value }) => {
            match value.get("city").and_then(Value::as_str) {
                Some(city) => format!("You are in {city}."),
                None => format!("Your page says that you are at {value}."),
            }
        }
        ("get_location", ToolResultOutput::Text { value }) => format!("You are in {value}."),
        ("get_location", ToolResultOutput::ErrorText { value }) => {
            format!("Your page does not know where you are: {value}.")
        }
        (tool, ToolResultOutput::ErrorText { value }) => format!("The tool {tool} failed: {value}."),
        (tool, ToolResultOutput::ExecutionDenied { .. }) => format!("You did not allow {tool}."),
        (tool, _) => format!("The tool {tool} gave something that I cannot read."),
    }
}
