//! The runtime API that CopilotKit's pages call at their `runtimeUrl`: list agents, run, reconnect to a
//! thread, stop, and list threads. Each operation has a route of its own, or a method in the envelope of a
//! single route:
//!
//! | route | method |
//! |---|---|
//! | `GET info` | `info` |
//! | `POST agent/{agent}/run` | `agent/run` |
//! | `POST agent/{agent}/connect` | `agent/connect` |
//! | `POST agent/{agent}/stop/{thread}` | `agent/stop` |
//! | `GET threads?agentId=` | `resource/request` with `params.path` and `params.httpMethod` |
//! | `PATCH threads/{thread}` | the same |
//! | `DELETE threads/{thread}` | the same |
//! | `POST threads/{thread}/archive` | the same |

use headwater_protocol::{Error, ErrorKind, rfc3339};
use serde_json::{Map, Value, json};

use super::{COPILOTKIT, V1, request::read_input};
use crate::{
    dialect::{Operations, Route, RouteBase},
    documents::{AgentEntry, SessionList},
    json::take_text,
    request::{Action, ChatRequest, RawRequest, percent_decode},
};

/// The routes besides the chat route.
pub(super) const ROUTES: [Route; 8] = [
    Route { path: "ag-ui", base: RouteBase::Version, operations: Operations::write("askRuntime") },
    of_runtime("info", Operations::new("readRuntimeInfo", "askRuntimeInfo")),
    of_runtime("agent/{agent}/run", Operations::write("runAgent")),
    of_runtime("agent/{agent}/connect", Operations::write("connectAgent")),
    of_runtime("agent/{agent}/stop/{*rest}", Operations::write("stopAgent")),
    of_runtime("threads", Operations::read("listThreads")),
    of_runtime("threads/{thread}", Operations::edit("changeThread", "deleteThread")),
    of_runtime("threads/{thread}/archive", Operations::write("archiveThread")),
];

const fn of_runtime(path: &'static str, operations: Operations) -> Route {
    Route { path, base: RouteBase::Dialect, operations }
}

/// A request to the runtime API.
#[derive(Debug, PartialEq, Eq)]
enum RuntimeRequest {
    Info,
    Run { agent: String },
    Connect { agent: String },
    Stop { agent: String, thread: String },
    Threads,
    ChangeThread { thread: String },
    ArchiveThread { thread: String },
    DeleteThread { thread: String },
}

/// Parses a request to the runtime API. `None` if it is for the chat route.
pub(super) fn parse(request: &RawRequest<'_>) -> Result<Option<ChatRequest>, Error> {
    if let Some(asked) = of_path(request) {
        return read(asked, request, object_or_empty(request.body)?).map(Some);
    }
    // The envelope is small; its content is parsed once.
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
        "resource/request" => {
            let (path, method) = (needed("path")?, needed("httpMethod")?);
            let body =
                envelope.get("body").filter(|body| !body.is_null()).map(Value::to_string).unwrap_or_default();
            let inner = RawRequest { method: &method, target: &path, body: body.as_bytes(), ..*request };
            let asked = of_path(&inner).filter(RuntimeRequest::is_about_threads);
            let asked =
                asked.ok_or_else(|| wrong(format!("unknown resource `{method} {path}`: use `/threads`")))?;
            return read(asked, &inner, object_or_empty(inner.body)?).map(Some);
        }
        "info" => RuntimeRequest::Info,
        "agent/run" => RuntimeRequest::Run { agent: needed("agentId")? },
        "agent/connect" => RuntimeRequest::Connect { agent: needed("agentId")? },
        "agent/stop" => RuntimeRequest::Stop { agent: needed("agentId")?, thread: needed("threadId")? },
        _ => {
            let known = "`info`, `agent/run`, `agent/connect`, `agent/stop` and `resource/request`";
            return Err(wrong(format!("unknown method `{method}`: use one of {known}")));
        }
    };
    let body = match envelope.shift_remove("body") {
        Some(Value::Object(body)) => body,
        _ => Map::new(),
    };
    read(asked, request, body).map(Some)
}

impl RuntimeRequest {
    fn is_about_threads(&self) -> bool {
        match self {
            Self::Threads
            | Self::ChangeThread { .. }
            | Self::ArchiveThread { .. }
            | Self::DeleteThread { .. } => true,
            Self::Info | Self::Run { .. } | Self::Connect { .. } | Self::Stop { .. } => false,
        }
    }
}

/// The operation for a method and path suffix, wherever the routes are mounted.
fn of_path(request: &RawRequest<'_>) -> Option<RuntimeRequest> {
    let mut segments = request.path().trim_end_matches('/').rsplit('/');
    match (segments.next()?, segments.next(), segments.next(), segments.next()) {
        ("info", ..) => Some(RuntimeRequest::Info),
        (thread, Some("threads"), ..) if request.method.eq_ignore_ascii_case("PATCH") => {
            Some(RuntimeRequest::ChangeThread { thread: percent_decode(thread) })
        }
        (thread, Some("threads"), ..) if request.method.eq_ignore_ascii_case("DELETE") => {
            Some(RuntimeRequest::DeleteThread { thread: percent_decode(thread) })
        }
        ("archive", Some(thread), Some("threads"), _) => {
            Some(RuntimeRequest::ArchiveThread { thread: percent_decode(thread) })
        }
        ("threads", ..) => Some(RuntimeRequest::Threads),
        ("run", Some(agent), Some("agent"), _) => Some(RuntimeRequest::Run { agent: percent_decode(agent) }),
        ("connect", Some(agent), Some("agent"), _) => {
            Some(RuntimeRequest::Connect { agent: percent_decode(agent) })
        }
        (thread, Some("stop"), Some(agent), Some("agent")) => {
            Some(RuntimeRequest::Stop { agent: percent_decode(agent), thread: percent_decode(thread) })
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
            context: ["cursor", "limit", "includeArchived"]
                .into_iter()
                .filter_map(|name| Some((name.to_owned(), Value::String(request.query(name)?))))
                .collect(),
            stream: false,
            ..ChatRequest::default()
        },
        RuntimeRequest::ChangeThread { thread } => {
            let label = take_text(&mut body, "name")?;
            let archived = match body.shift_remove("archived") {
                None => None,
                Some(Value::Bool(archived)) => Some(archived),
                Some(_) => return Err(wrong("`archived` must be true or false".to_owned())),
            };
            if label.is_none() && archived.is_none() {
                return Err(wrong("nothing to change: send `name` or `archived`".to_owned()));
            }
            about_thread(thread, &mut body, Action::ChangeSession { label, archived })?
        }
        RuntimeRequest::ArchiveThread { thread } => {
            let action = Action::ChangeSession { label: None, archived: Some(true) };
            about_thread(thread, &mut body, action)?
        }
        RuntimeRequest::DeleteThread { thread } => about_thread(thread, &mut body, Action::DeleteSession)?,
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
        // The thread is sent again, so the messages that the page holds do not matter.
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

fn about_thread(thread: String, body: &mut Map<String, Value>, action: Action) -> Result<ChatRequest, Error> {
    Ok(ChatRequest {
        action,
        session: Some(thread.into()),
        agent: take_text(body, "agentId")?,
        stream: false,
        ..ChatRequest::default()
    })
}

/// The list of an agent's threads.
pub(super) fn threads(list: &SessionList<'_>) -> Value {
    let threads = list.sessions.iter().map(|session| {
        json!({
            "id": session.id,
            "agentId": list.agent,
            "name": session.title,
            "archived": session.archived,
            "createdAt": rfc3339(session.created),
            "updatedAt": rfc3339(session.updated),
        })
    });
    json!({ "threads": threads.collect::<Vec<_>>(), "nextCursor": list.next })
}

/// The description of the runtime.
pub(super) fn info(agents: &[AgentEntry<'_>]) -> Value {
    let agents: Map<String, Value> = agents
        .iter()
        .map(|agent| {
            let about = json!({ "name": agent.name, "description": agent.description.unwrap_or_default() });
            (agent.name.to_owned(), about)
        })
        .collect();
    // `inspect` are the routes of CopilotKit's own thread inspector.
    let thread_endpoints = json!({ "list": true, "inspect": false, "mutations": true });
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "agents": agents,
        "mode": "sse",
        "audioFileTranscriptionEnabled": false,
        "telemetryDisabled": true,
        "singleRoute": { "resourceOperations": true, "threadEndpoints": thread_endpoints.clone() },
        "threadEndpoints": thread_endpoints,
    })
}

/// The body may be absent if it has no required fields.
fn object_or_empty(body: &[u8]) -> Result<Map<String, Value>, Error> {
    match body.trim_ascii() {
        b"" => Ok(Map::new()),
        body => object(body),
    }
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
    fn runtime_routes_are_recognised_under_any_prefix() {
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
    fn single_route_envelope_equals_separate_routes() {
        assert_eq!(read("POST", "/v1/ag-ui", r#"{"method":"info"}"#).action, Action::ListAgents);
        let body =
            r#"{"method":"agent/run","params":{"agentId":"chat"},"body":{"threadId":"t","messages":[]}}"#;
        let run = read("POST", "/v1/ag-ui", body);
        assert_eq!((run.session, run.context["agent"].as_str()), (Some("t".into()), Some("chat")));
        let body = r#"{"method":"agent/stop","params":{"agentId":"chat","threadId":"t"}}"#;
        assert_eq!(read("POST", "/v1/ag-ui", body).action, Action::Stop);
        for body in [
            r#"{"method":"fly"}"#,
            r#"{"method":"agent/run"}"#,
            r#"{"method":"info","params":1}"#,
            r#"{"method":"resource/request"}"#,
            r#"{"method":"resource/request","params":{"path":"/memories","httpMethod":"GET"}}"#,
            r#"{"method":"resource/request","params":{"path":"/agent/chat/run","httpMethod":"POST"}}"#,
        ] {
            assert!(parse(&RawRequest::post("/v1/ag-ui", body.as_bytes())).is_err(), "{body}");
        }
    }

    fn changed(label: Option<&str>, archived: Option<bool>) -> Action {
        Action::ChangeSession { label: label.map(str::to_owned), archived }
    }

    #[test]
    fn threads_are_listed_changed_and_deleted() {
        let list = read("GET", "/v1/ag-ui/threads?agentId=chat&limit=2&includeArchived=true", "");
        assert_eq!((list.action, list.agent.as_deref()), (Action::ListSessions, Some("chat")));
        assert_eq!(
            (list.context["limit"].as_str(), list.context["includeArchived"].as_str()),
            (Some("2"), Some("true"))
        );
        let (path, about) = ("/v1/ag-ui/threads/t%2F1", Some("t/1".into()));
        let renamed = read("PATCH", path, r#"{"agentId":"chat","name":"Boats"}"#);
        assert_eq!((renamed.action, &renamed.session), (changed(Some("Boats"), None), &about));
        assert_eq!(renamed.agent.as_deref(), Some("chat"));
        let restored = read("PATCH", path, r#"{"agentId":"chat","archived":false}"#);
        assert_eq!((restored.action, restored.session), (changed(None, Some(false)), about.clone()));
        let archived = read("POST", "/v1/ag-ui/threads/t%2F1/archive", r#"{"agentId":"chat"}"#);
        assert_eq!((archived.action, archived.session), (changed(None, Some(true)), about.clone()));
        let deleted = read("DELETE", path, r#"{"agentId":"chat"}"#);
        assert_eq!((deleted.action, deleted.session), (Action::DeleteSession, about));
        for body in ["{}", r#"{"name":1}"#, r#"{"archived":"no"}"#] {
            let request = RawRequest { method: "PATCH", target: path, headers: &[], body: body.as_bytes() };
            assert!(parse(&request).is_err(), "{body}");
        }
    }

    #[test]
    fn single_route_envelope_reaches_threads() {
        let ask = |path: &str, method: &str, body: Value| {
            let params = json!({ "path": path, "httpMethod": method });
            json!({ "method": "resource/request", "params": params, "body": body }).to_string()
        };
        let list = ask("/threads?agentId=chat", "GET", Value::Null);
        let request = parse(&RawRequest::post("/v1/ag-ui", list.as_bytes()));
        assert_eq!(request.unwrap().unwrap().agent.as_deref(), Some("chat"));
        let rename = ask("/threads/t", "PATCH", json!({ "name": "Boats" }));
        let request = parse(&RawRequest::post("/v1/ag-ui", rename.as_bytes())).unwrap().unwrap();
        assert_eq!((request.action, request.session), (changed(Some("Boats"), None), Some("t".into())));
    }

    #[test]
    fn chat_route_is_not_handled_by_the_runtime() {
        assert_eq!(parse(&RawRequest::post("/v1/ag-ui/chat", INPUT.as_bytes())).unwrap(), None);
        let get = RawRequest { method: "GET", target: "/v1/ag-ui/chat?threadId=t", headers: &[], body: b"" };
        assert_eq!(parse(&get).unwrap(), None);
    }
}
