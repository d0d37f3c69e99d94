//! Another principal's ids on every route and in every dialect: each must behave exactly like an unknown id.

use headwater_server::{Agents, Options};
use serde_json::{Value, json};

use crate::{
    ANN, BOB, KEYS,
    report::attack,
    server::{Answer, Server},
};

/// A word that occurs only in Ann's conversations.
const SECRET: &str = "zanzibar";
const DIALECTS: [&str; 6] = ["kortyx", "tanstack", "mui", "agents", "ai-sdk", "ag-ui"];

/// The kinds of ids that Ann owns, as placeholders in a request.
const IDS: [&str; 8] =
    ["$DONE", "$WAITS", "$RUN", "$WAITING", "$REQUEST", "$CALL", "$CHECKPOINT", "$MESSAGE"];

/// Ann's data: a finished and edited conversation, and one that waits for a decision.
struct Ann {
    server: Server,
    /// A value for each of the ids.
    ids: Vec<String>,
    token: String,
    cursor: String,
}

impl Ann {
    fn new(server: Server) -> Self {
        let post = |path: &str, body: &Value| server.ask("POST", path, &[ANN], &body.to_string());
        let get = |path: &str| server.ask("GET", path, &[ANN], "").json();
        let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned();
        let done = "ann-done-4711";
        let begun = post("/v1/sessions", &json!({ "id": done, "agent": "chat" }));
        assert_eq!(begun.status, 201, "{begun:?}");
        let sent =
            post(&format!("/v1/sessions/{done}/messages"), &json!({ "text": format!("hello {SECRET}") }));
        let run = text(&sent.json()["run"]);
        let events = server.ask("GET", &format!("/v1/runs/{run}/events?dialect=agents"), &[ANN], "");
        let cursor = events.body.lines().find_map(|line| line.strip_prefix("id: ")).unwrap().to_owned();
        let checkpoint = text(&get(&format!("/v1/sessions/{done}"))["checkpoint"]);
        let message = text(&get(&format!("/v1/sessions/{done}/messages"))["messages"][0]["id"]);
        let waits = "ann-waits-4711";
        let asked = json!({ "agent": "tools", "session": waits, "input": format!("delete {SECRET}.txt") });
        let waiting = text(&post("/v1/runs", &asked).json()["run"]);
        server.ask("GET", &format!("/v1/runs/{waiting}/events?dialect=agents"), &[ANN], "");
        // The list of runs is updated shortly after the run itself.
        let lists_running = || get("/v1/runs")["runs"].to_string().contains(r#""status":"running""#);
        while lists_running() {
            std::thread::yield_now();
        }
        let open = get("/v1/interrupts")["interrupts"][0].clone();
        let ids = vec![
            done.to_owned(),
            waits.to_owned(),
            run,
            waiting,
            text(&open["request"]),
            text(&open["tool"]["call"]),
            checkpoint,
            message,
        ];
        Self { token: text(&open["token"]), cursor, ids, server }
    }

    /// All of Ann's data, as she sees it.
    fn all(&self) -> Vec<String> {
        let paths = [
            "/v1/runs",
            "/v1/sessions",
            "/v1/interrupts",
            "/v1/sessions/$DONE/messages",
            "/v1/sessions/$DONE/checkpoints",
            "/v1/sessions/$DONE/export",
            "/v1/runs/$WAITING",
        ];
        let see = |path: &str| {
            let answer = self.server.ask("GET", &self.real(path), &[ANN], "");
            assert_eq!(answer.status, 200, "{path}: {answer:?}");
            answer.body
        };
        paths.into_iter().map(see).collect()
    }

    /// Replaces the placeholders by Ann's ids.
    fn real(&self, text: &str) -> String {
        let named =
            IDS.iter().zip(&self.ids).fold(text.to_owned(), |text, (name, id)| text.replace(name, id));
        named.replace("$TOKEN", &self.token)
    }

    /// Replaces the placeholders by unused ids of the same form, different for each case.
    fn invented(&self, text: &str, case: usize) -> String {
        let never = |id: &str| {
            let end = format!("{case:06}");
            let keep = id.len().saturating_sub(end.len());
            format!("{}{end}", id.get(..keep).unwrap_or_default())
        };
        let named = IDS
            .iter()
            .zip(&self.ids)
            .fold(text.to_owned(), |text, (name, id)| text.replace(name, &never(id)));
        named.replace("$TOKEN", &self.token)
    }

    /// A response without the requested ids, so that two can be compared.
    fn without_ids(&self, answer: &Answer, case: usize) -> String {
        let mut body = answer.body.clone();
        for (name, id) in IDS.iter().zip(&self.ids) {
            body = body.replace(&self.invented(name, case), name).replace(id.as_str(), name);
        }
        body
    }
}

/// A request with placeholders for ids.
#[derive(Debug)]
struct Request {
    method: &'static str,
    path: String,
    headers: Vec<(&'static str, String)>,
    body: Value,
}

/// The body with which a dialect's client sends a message.
pub(crate) fn says(dialect: &str, session: &str) -> Value {
    let message = json!({ "id": "u9", "role": "user", "parts": [{ "type": "text", "text": "hello" }] });
    match dialect {
        "ai-sdk" => json!({ "id": session, "trigger": "submit-message", "messages": [message] }),
        "agents" => json!({ "sessionId": session, "messages": [message], "projectId": "p1" }),
        "kortyx" => json!({ "sessionId": session, "messages": [{ "role": "user", "content": "hello" }] }),
        "tanstack" => {
            json!({ "messages": [{ "role": "user", "content": "hello" }], "data": { "conversationId": session } })
        }
        "mui" => json!({ "conversationId": session, "message": message }),
        _ => {
            json!({ "threadId": session, "runId": "r9", "state": {}, "tools": [], "context": [], "forwardedProps": {},
            "messages": [{ "id": "u9", "role": "user", "content": "hello" }] })
        }
    }
}

/// The requests with which a dialect's client answers, resumes and stops, with ids of Ann.
fn talks(dialect: &str) -> Vec<Request> {
    let chat = format!("/v1/{dialect}/chat");
    let mut all = Vec::new();
    let mut post =
        |path: String, body: Value| all.push(Request { method: "POST", path, headers: Vec::new(), body });
    for session in ["$DONE", "$WAITS"] {
        post(chat.clone(), says(dialect, session));
        let mut body = says(dialect, session);
        let part = json!({ "type": "tool-delete_file", "toolCallId": "$CALL", "state": "approval-responded", "input": {},
            "approval": { "id": "$REQUEST", "approved": true, "signature": "$TOKEN" } });
        let answer = json!({ "id": "m1", "role": "assistant", "parts": [part] });
        if let Some(messages) = body["messages"].as_array_mut() {
            messages.push(answer);
        }
        post(chat.clone(), body);
        let resume = json!({ "token": "$TOKEN", "requestId": "$REQUEST", "selected": "approve" });
        let message = json!({ "role": "user", "content": "yes", "metadata": { "resume": resume } });
        post(chat.clone(), json!({ "sessionId": session, "messages": [message] }));
        let mut body = says(dialect, session);
        body["resume"] =
            json!([{ "interruptId": "$REQUEST", "status": "resolved", "payload": { "approved": true } }]);
        post(chat.clone(), body.clone());
        body["runId"] = json!("$WAITING");
        post(chat.clone(), body);
        for action in ["list", "get", "rollback", "fork"] {
            post(
                format!("/v1/{dialect}/checkpoints"),
                json!({ "action": action, "sessionId": session, "checkpointId": "$CHECKPOINT" }),
            );
        }
        post(format!("{chat}/stop"), json!({ "conversationId": session }));
    }
    for body in [
        json!({ "approvalId": "$REQUEST", "approved": true }),
        json!({ "id": "$REQUEST", "approved": true }),
        json!({ "requestId": "$REQUEST", "answer": "yes", "token": "$TOKEN" }),
        json!({ "runId": "$WAITING" }),
        json!({ "toolCallId": "$CALL", "output": "x" }),
    ] {
        for end in ["", "/answer", "/stop", "/$WAITING/stop", "/$WAITS/answer"] {
            post(format!("{chat}{end}"), body.clone());
        }
    }
    for session in ["$DONE", "$WAITS"] {
        let thread = format!("/v1/{dialect}/threads/{session}");
        for (method, path, body) in [
            ("PATCH", thread.clone(), json!({ "name": "mine", "archived": true })),
            ("POST", format!("{thread}/archive"), json!({})),
            ("DELETE", thread, Value::Null),
        ] {
            all.push(Request { method, path, headers: Vec::new(), body });
        }
    }
    all
}

/// All requests to try, the same on every run of the test.
fn requests() -> Vec<Request> {
    let mut all = Vec::new();
    let routes = headwater_server::Server::new(Agents::new(), Options::default()).routes();
    for (method, route) in
        routes.iter().filter(|(_, route)| route.starts_with("/v1/") && !route.contains("{dialect}"))
    {
        let bodies = match *method {
            "POST" => vec![
                json!({}),
                json!({ "text": "hello" }),
                json!({ "approved": true, "token": "$TOKEN", "request": "$REQUEST" }),
                json!({ "approved": true, "token": "$TOKEN" }),
                json!({ "input": "hello", "session": "$DONE" }),
                json!({ "input": "hello", "session": "$WAITS" }),
                json!({ "id": "$DONE" }),
                json!({ "input": "hello", "session": "$DONE", "checkpoint": "$CHECKPOINT", "id": "$DONE" }),
                json!({ "input": "hello", "session": "$WAITS", "run": "$WAITING", "call": "$CALL", "id": "$WAITS" }),
            ],
            "PATCH" => vec![json!({}), json!({ "label": "mine", "archived": true })],
            _ => vec![Value::Null],
        };
        // Each id in its own place, and ids of other kinds in the same place.
        let owns = |name: &str| IDS.into_iter().filter(|id| fits(name, id)).collect::<Vec<_>>();
        let sessions = if route.contains("{session}") { owns("session") } else { vec![""] };
        for session in sessions {
            for id in IDS {
                let path = route
                    .replace("{session}", session)
                    .replace("{run}", id)
                    .replace("{request}", id)
                    .replace("{checkpoint}", id);
                for body in &bodies {
                    all.push(Request { method, path: path.clone(), headers: Vec::new(), body: body.clone() });
                }
                if !path.contains(id) {
                    break;
                }
            }
        }
    }
    for dialect in DIALECTS {
        all.extend(talks(dialect));
        for id in IDS {
            let mut paths = Vec::new();
            for end in ["", "/stream", "/stop", "/answer"] {
                paths.push(format!("/v1/{dialect}/chat/{id}{end}"));
            }
            for name in ["threadId", "conversationId", "sessionId", "runId", "id", "checkpointId"] {
                for end in ["chat", "checkpoints", "onboarding"] {
                    paths.push(format!("/v1/{dialect}/{end}?{name}={id}"));
                    paths.push(format!("/v1/{dialect}/{end}?{name}={id}&offset=-1"));
                }
            }
            for path in paths {
                all.push(Request {
                    method: "GET",
                    path: path.clone(),
                    headers: Vec::new(),
                    body: Value::Null,
                });
                all.push(Request {
                    method: "GET",
                    path,
                    headers: vec![("x-run-id", "$RUN".to_owned())],
                    body: Value::Null,
                });
            }
        }
    }
    for dialect in DIALECTS {
        for run in ["$RUN", "$WAITING"] {
            for query in ["", "&until=end", "&framing=ndjson", "&profile=default"] {
                let path = format!("/v1/runs/{run}/events?dialect={dialect}{query}");
                all.push(Request { method: "GET", path, headers: Vec::new(), body: Value::Null });
            }
        }
    }
    all
}

/// Whether an id can stand for a named parameter.
fn fits(name: &str, id: &str) -> bool {
    match name {
        "session" => matches!(id, "$DONE" | "$WAITS" | "$RUN"),
        _ => true,
    }
}

#[test]
fn foreign_ids_behave_like_unknown_ids() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("data"), &KEYS);
    let ann = Ann::new(server);
    let before = ann.all();
    let cases: Vec<_> = requests().into_iter().enumerate().collect();
    let ask = |request: &Request, fill: &dyn Fn(&str) -> String| {
        let headers: Vec<_> = request.headers.iter().map(|(name, value)| (*name, fill(value))).collect();
        let mut headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        headers.push(BOB);
        let body = if request.body.is_null() { String::new() } else { fill(&request.body.to_string()) };
        ann.server.ask(request.method, &fill(&request.path), &headers, &body)
    };
    attack("foreign ids compared with invented ones", &cases, |(case, request)| {
        let foreign = ask(request, &|text| ann.real(text));
        let never = ask(request, &|text| ann.invented(text, *case));
        for secret in [SECRET, &ann.token] {
            if foreign.body.contains(secret) && !request.body.to_string().contains("$TOKEN") {
                return Err(format!("{request:?} shows `{secret}`: {}", foreign.body));
            }
        }
        // Responses that create something for Bob contain new names and times.
        let begins = never.status < 300 && request.method == "POST";
        if request.method == "POST" && foreign.status < 300 {
            // Bob may have created a session with the same name as Ann's: the next case must not find it.
            for id in &ann.ids {
                ann.server.ask("DELETE", &format!("/v1/sessions/{id}"), &[BOB], "");
            }
        }
        let same = foreign.status == never.status
            && (begins || ann.without_ids(&foreign, *case) == ann.without_ids(&never, *case));
        if same && foreign.status < 500 {
            return Ok(());
        }
        Err(format!(
            "{request:?}\n  foreign {}: {}\n  invented {}: {}",
            foreign.status, foreign.body, never.status, never.body
        ))
    });
    assert_eq!(ann.all(), before, "something of Ann's has changed");

    let cursors = tampered(&ann.cursor, 150);
    attack("tampered cursors", &cursors, |cursor| {
        let path = ann.real("/v1/runs/$RUN/events?dialect=agents");
        let answer = ann.server.ask("GET", &path, &[ANN, ("last-event-id", cursor)], "");
        if (400..500).contains(&answer.status) {
            Ok(())
        } else {
            Err(format!("{} for {cursor}", answer.status))
        }
    });
    let path = ann.real("/v1/runs/$WAITING/events?dialect=agents");
    let elsewhere = ann.server.ask("GET", &path, &[ANN, ("last-event-id", &ann.cursor)], "");
    assert_eq!(elsewhere.status, 409, "a cursor of another run: {elsewhere:?}");
    let path = ann.real("/v1/runs/$RUN/events?dialect=agents");
    let bobs = ann.server.ask("GET", &path, &[BOB, ("last-event-id", &ann.cursor)], "");
    assert_eq!(bobs.status, 404, "a cursor of another principal: {bobs:?}");
}

#[test]
fn forged_list_cursors_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("data"), &KEYS);
    for number in 0..3 {
        let body = json!({ "agent": "chat", "input": "hello", "session": format!("listed-{number}") });
        let begun = server.ask("POST", "/v1/runs", &[ANN], &body.to_string());
        assert_eq!(begun.status, 201, "{begun:?}");
    }
    let lists = ["/v1/sessions?agent=chat&limit=1", "/v1/runs?limit=1"];
    let next = lists.map(|list| {
        let page = server.ask("GET", list, &[ANN], "").json();
        page["next"].as_str().unwrap_or_else(|| panic!("{list} has one page: {page}")).to_owned()
    });
    let mut cases: Vec<((&str, &str), &str, String)> = Vec::new();
    for (list, next) in lists.iter().zip(&next) {
        cases.extend(tampered(next, 150).into_iter().map(|forged| (ANN, *list, forged)));
        // Unchanged, but used by another principal.
        cases.push((BOB, *list, next.clone()));
    }
    // Unchanged, but used for another list.
    cases.extend([(ANN, lists[0], next[1].clone()), (ANN, lists[1], next[0].clone())]);
    attack("forged list cursors", &cases, |(key, list, forged)| {
        let escaped: String = forged.bytes().map(|byte| format!("%{byte:02X}")).collect();
        match server.ask("GET", &format!("{list}&after={escaped}"), &[*key], "").status {
            400..500 => Ok(()),
            status => Err(format!("{list}: {status} for {forged}")),
        }
    });
    for (list, next) in lists.iter().zip(&next) {
        assert_eq!(server.ask("GET", &format!("{list}&after={next}"), &[ANN], "").status, 200, "{list}");
    }
}

/// A signed text with one character changed, truncated, or extended.
pub(crate) fn tampered(text: &str, count: usize) -> Vec<String> {
    let change = |case: usize| {
        let mut bytes = text.as_bytes().to_vec();
        let at = case % bytes.len();
        let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        let old = letters.iter().position(|letter| *letter == bytes[at]).unwrap_or_default();
        bytes[at] = letters[(old + 1 + case / bytes.len()) % letters.len()];
        String::from_utf8(bytes).unwrap()
    };
    let mut all: Vec<_> = (0..count).map(change).collect();
    all.extend((1..10).map(|cut| text[..text.len() * cut / 10].to_owned()));
    all.extend([format!("{text}A"), format!("A{text}"), format!("{text}{text}"), format!("{text}.{text}")]);
    all.extend(["0", "null", "undefined", "A", "../..", "run_1.1.1", "\u{2603}"].map(str::to_owned));
    all
}
