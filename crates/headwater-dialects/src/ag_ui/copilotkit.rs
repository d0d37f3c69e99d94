//! What CopilotKit's pages ask of their runtime, which a server is for them whose address they have as `runtimeUrl`: which agents
//! there are, a run, a thread to come back to, and a stop. Each has a route of its own, or a method in the envelope of a single
//! route:
//!
//! | route | method |
//! |---|---|
//! | `GET info` | `info` |
//! | `POST agent/{agent}/run` | `agent/run` |
//! | `POST agent/{agent}/connect` | `agent/connect` |
//! | `POST agent/{agent}/stop/{thread}` | `agent/stop` |
//! | `GET threads?agentId=` | |

use headwater_protocol::{Error, ErrorKind, rfc3339};
use serde_json::{Map, Value, json};

use super::{COPILOTKIT, V1, request::read_input};
use crate::{
    dialect::{Operations, Route, RouteBase},
    documents::{AgentEntry, SessionList},
    json::take_text,
    request::{Action, ChatRequest, RawRequest, percent_decode},
};

/// The routes beside the chat route.
pub(super) const ROUTES: [Route; 6] = [
    Route { path: "ag-ui", base: RouteBase::Version, operations: Operations::write("askRuntime") },
    of_runtime("info", Operations::new("readRuntimeInfo", "askRuntimeInfo")),
    of_runtime("agent/{agent}/run", Operations::write("runAgent")),
    of_runtime("agent/{agent}/connect", Operations::write("connectAgent")),
    of_runtime("agent/{agent}/stop/{*rest}", Operations::write("stopAgent")),
    of_runtime("threads", Operations { read: Some("listThreads"), write: None }),
];

const fn of_runtime(path: &'static str, operations: Operations) -> Route {
    Route { path, base: RouteBase::Dialect, operations }
}

/// What is asked of the runtime.
#[derive(Debug, PartialEq, Eq)]
enum RuntimeRequest {
    Info,
    Run { agent: String },
    Connect { agent: String },
    Stop { agent: String, thread: String },
    Threads,
}

/// Reads a request for the runtime. `None` if it is one for the chat route.
pub(super) fn parse(request: &RawRequest<'_>) -> Result<Option<ChatRequest>, Error> {
    if let Some(asked) = of_path(request.path()) {
        let body = match request.body.trim_ascii() {
            b"" => Map::new(),
            body => object(body)?,
        };
        return read(asked, request, body).map(Some);
    }
    // The envelope is small, and what it holds is read once.
    if !request.method.eq_ignore_ascii_case("POST")
        || !request.body.trim_ascii_start().starts_with(b"{\"method\"")
    {
        return Ok(None);
    }
    let mut envelope = object(request.body)?;
    let method = take_text(&mut envelope, "method")?.unwrap_or_default();
    let Some(Value::Object(mut params)) = envelope.shift_remove("params").or_else(|| Some(json!({}))) else {
        return Err(wrong("`params` must be an object".to_owned()));
    };
    let mut needed = |name: &str| {
        take_text(&mut params, name)?.ok_or_else(|| wrong(format!("`params.{name}` is missing")))
    };
    let asked = match method.as_str() {
        "info" => RuntimeRequest::Info,
        "agent/run" => RuntimeRequest::Run { agent: needed("agentId")? },
        "agent/connect" => RuntimeRequest::Connect { agent: needed("agentId")? },
        "agent/stop" => RuntimeRequest::Stop { agent: needed("agentId")?, thread: needed("threadId")? },
        _ => {
            let known = "`info`, `agent/run`, `agent/connect` and `agent/stop`";
            return Err(wrong(format!("there is no method `{method}`: there are {known}")));
        }
    };
    let body = match envelope.shift_remove("body") {
        Some(Value::Object(body)) => body,
        _ => Map::new(),
    };
    read(asked, request, body).map(Some)
}

/// What the end of a path asks for, wherever the routes lie.
fn of_path(path: &str) -> Option<RuntimeRequest> {
    let mut segments = path.trim_end_matches('/').rsplit('/');
    // A plus is a plus in a path.
    let decoded = |segment: &str| percent_decode(&segment.replace('+', "%2B"));
    match (segments.next()?, segments.next(), segments.next(), segments.next()) {
        ("info", ..) => Some(RuntimeRequest::Info),
        ("threads", ..) => Some(RuntimeRequest::Threads),
        ("run", Some(agent), Some("agent"), _) => Some(RuntimeRequest::Run { agent: decoded(agent) }),
        ("connect", Some(agent), Some("agent"), _) => Some(RuntimeRequest::Connect { agent: decoded(agent) }),
        (thread, Some("stop"), Some(agent), Some("agent")) => {
            Some(RuntimeRequest::Stop { agent: decoded(agent), thread: decoded(thread) })
        }
        _ => None,
    }
}

fn read(
    asked: RuntimeRequest,
    request: &RawRequest<'_>,
    mut body: Map<String, Value>,
) -> Result<ChatRequest, Error> {
    let named = |agent: String| Map::from_iter([("agent".to_owned(), Value::String(agent))]);
    Ok(match asked {
        RuntimeRequest::Threads => ChatRequest {
            action: Action::ListSessions,
            agent: request.query("agentId"),
            context: request
                .query("cursor")
                .map(|cursor| ("cursor".to_owned(), Value::String(cursor)))
                .into_iter()
                .collect(),
            stream: false,
            ..ChatRequest::default()
        },
        RuntimeRequest::Info => {
            ChatRequest { action: Action::ListAgents, stream: false, ..ChatRequest::default() }
        }
        RuntimeRequest::Run { agent } => {
            let mut chat = read_input(request, body)?;
            chat.context.insert("agent".to_owned(), Value::String(agent));
            if chat.profile != Some(V1) {
                chat.profile = Some(COPILOTKIT);
            }
            chat
        }
        // The thread is sent anew, so the messages that the page holds do not matter.
        RuntimeRequest::Connect { agent } => ChatRequest {
            action: Action::Resume,
            session: take_text(&mut body, "threadId")?.map(Into::into),
            profile: Some(COPILOTKIT),
            context: named(agent),
            ..ChatRequest::default()
        },
        RuntimeRequest::Stop { agent, thread } => ChatRequest {
            action: Action::Stop,
            session: Some(thread.into()),
            run: take_text(&mut body, "runId")?.map(Into::into),
            context: named(agent),
            ..ChatRequest::default()
        },
    })
}

/// The document of the threads of an agent.
pub(super) fn threads(list: &SessionList<'_>) -> Value {
    let threads = list.sessions.iter().map(|session| {
        let time = rfc3339(session.updated);
        json!({ "id": session.id, "name": session.title, "archived": false, "createdAt": time, "updatedAt": time })
    });
    json!({ "threads": threads.collect::<Vec<_>>(), "nextCursor": list.next })
}

/// The document about the runtime.
pub(super) fn info(agents: &[AgentEntry<'_>]) -> Value {
    let agents: Map<String, Value> = agents
        .iter()
        .map(|agent| {
            let about = json!({ "name": agent.name, "description": agent.description.unwrap_or_default() });
            (agent.name.to_owned(), about)
        })
        .collect();
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "agents": agents,
        "mode": "sse",
        "audioFileTranscriptionEnabled": false,
        "telemetryDisabled": true,
    })
}

fn object(body: &[u8]) -> Result<Map<String, Value>, Error> {
    match serde_json::from_slice(body) {
        Ok(Value::Object(body)) => Ok(body),
        Ok(_) => Err(wrong("the body must be a JSON object".to_owned())),
        Err(error) => Err(wrong(format!("the body is not JSON: {error}"))),
    }
}

fn wrong(message: String) -> Error {
    Error::new(ErrorKind::Request, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(method: &'static str, target: &'static str, body: &'static str) -> ChatRequest {
        let request = RawRequest { method, target, headers: &[], body: body.as_bytes() };
        parse(&request).unwrap().unwrap()
    }

    const INPUT: &str =
        r#"{"threadId":"t","runId":"r","messages":[{"id":"u1","role":"user","content":"hi"}]}"#;

    #[test]
    fn routes_are_read_wherever_they_lie() {
        assert_eq!(read("GET", "/api/copilotkit/info", "").action, Action::ListAgents);
        let run = read("POST", "/v1/ag-ui/agent/my%20agent/run", INPUT);
        assert_eq!((run.action, run.context["agent"].as_str()), (Action::Chat, Some("my agent")));
        assert_eq!((run.session, run.run), (Some("t".into()), Some("r".into())));
        let back = read("POST", "/v1/ag-ui/agent/chat/connect", INPUT);
        assert_eq!((back.action, back.session, back.run), (Action::Resume, Some("t".into()), None));
        let stop = read("POST", "/v1/ag-ui/agent/chat/stop/t%2F1", r#"{"runId":"r"}"#);
        assert_eq!((stop.action, stop.session), (Action::Stop, Some("t/1".into())));
        assert_eq!(read("POST", "/v1/ag-ui/agent/chat/stop/t", "").run, None);
    }

    #[test]
    fn envelope_of_the_single_route_asks_for_the_same() {
        assert_eq!(read("POST", "/v1/ag-ui", r#"{"method":"info"}"#).action, Action::ListAgents);
        let body =
            r#"{"method":"agent/run","params":{"agentId":"chat"},"body":{"threadId":"t","messages":[]}}"#;
        let run = read("POST", "/v1/ag-ui", body);
        assert_eq!((run.session, run.context["agent"].as_str()), (Some("t".into()), Some("chat")));
        let body = r#"{"method":"agent/stop","params":{"agentId":"chat","threadId":"t"}}"#;
        assert_eq!(read("POST", "/v1/ag-ui", body).action, Action::Stop);
        for body in [r#"{"method":"fly"}"#, r#"{"method":"agent/run"}"#, r#"{"method":"info","params":1}"#] {
            assert!(parse(&RawRequest::post("/v1/ag-ui", body.as_bytes())).is_err(), "{body}");
        }
    }

    #[test]
    fn chat_route_is_left_alone() {
        assert_eq!(parse(&RawRequest::post("/v1/ag-ui/chat", INPUT.as_bytes())).unwrap(), None);
        let get = RawRequest { method: "GET", target: "/v1/ag-ui/chat?threadId=t", headers: &[], body: b"" };
        assert_eq!(parse(&get).unwrap(), None);
    }
}
