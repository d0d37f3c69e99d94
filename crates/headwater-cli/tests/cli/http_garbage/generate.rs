//! Generates nearly valid and entirely invalid requests, each from one seed that a failure names.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::client::{Reply, escape};

/// A small deterministic random generator.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound.max(1) as u64).unwrap()
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    fn word(&mut self, from: &[&str]) -> String {
        (*self.pick(from)).to_owned()
    }

    fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }
}

pub(super) struct Request {
    pub(super) method: String,
    pub(super) target: String,
    pub(super) headers: Vec<(String, Vec<u8>)>,
    pub(super) body: Vec<u8>,
}

/// The routes of the OpenAPI document.
pub(super) struct Routes {
    all: Vec<Route>,
    schemas: Value,
}

struct Route {
    method: String,
    path: String,
    query: Vec<String>,
    body: Option<Value>,
}

impl Routes {
    pub(super) fn of(document: &Value) -> Self {
        let mut all = Vec::new();
        for (path, methods) in document["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                let parameters = operation["parameters"].as_array().into_iter().flatten();
                let query = parameters.filter(|parameter| parameter["in"] == "query");
                let query =
                    query.filter_map(|parameter| Some(parameter["name"].as_str()?.to_owned())).collect();
                let body = operation.pointer("/requestBody/content/application~1json/schema").cloned();
                all.push(Route { method: method.to_ascii_uppercase(), path: path.clone(), query, body });
            }
        }
        assert!(all.len() > 30, "the document has only {} routes", all.len());
        Self { all, schemas: document["components"]["schemas"].clone() }
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }
}

/// Ids that the server knows.
#[derive(Clone, Default)]
pub(super) struct KnownIds {
    sessions: Vec<String>,
    runs: Vec<String>,
    others: Vec<String>,
}

impl KnownIds {
    const MOST: usize = 40;

    pub(super) fn learn(&mut self, reply: &Reply) {
        for line in reply.head.lines() {
            match line.split_once(": ") {
                Some(("x-session-id", id)) => self.sessions.push(id.trim().to_owned()),
                Some(("x-run-id", id)) => self.runs.push(id.trim().to_owned()),
                _ => {}
            }
        }
        if let Ok(Value::Object(told)) = serde_json::from_str(&reply.body) {
            let named = |key: &str| told.get(key).and_then(Value::as_str).map(str::to_owned);
            self.runs.extend(named("run"));
            self.sessions.extend(named("id"));
            self.others.extend(["checkpoint", "request", "token"].into_iter().filter_map(named));
            for list in ["checkpoints", "interrupts", "variants"] {
                for item in told.get(list).and_then(Value::as_array).into_iter().flatten() {
                    let ids =
                        ["id", "request", "checkpoint", "token"].iter().filter_map(|key| item[*key].as_str());
                    self.others.extend(ids.map(str::to_owned));
                }
            }
        }
        self.forget();
    }

    pub(super) fn listed(&mut self, sessions: &BTreeSet<String>, runs: &BTreeSet<String>) {
        self.sessions = sessions.iter().rev().take(Self::MOST).cloned().collect();
        self.runs = runs.iter().rev().take(Self::MOST).cloned().collect();
    }

    fn forget(&mut self) {
        for ids in [&mut self.sessions, &mut self.runs, &mut self.others] {
            let over = ids.len().saturating_sub(Self::MOST);
            ids.drain(..over);
        }
    }
}

/// The routes that create something.
const BEGIN: [&str; 4] =
    ["/v1/{dialect}/chat", "/v1/runs", "/v1/sessions", "/v1/sessions/{session}/messages"];
const DIALECTS: [&str; 6] = ["kortyx", "tanstack", "mui", "agents", "ai-sdk", "ag-ui"];
const TEXTS: [&str; 16] = [
    "",
    "hello",
    "weather in Paris",
    "email",
    "table",
    "delete everything",
    "\u{0}",
    "a\nb\r\nc",
    "\u{202e}\u{feff}",
    "é😀日本語",
    "../../etc/passwd",
    "{{ 7 * 7 }}",
    "<script>alert(1)</script>",
    "null",
    "-1",
    "__proto__",
];

/// Generates one request.
pub(super) struct Generator<'a> {
    random: Random,
    routes: &'a Routes,
    known: &'a KnownIds,
    /// The dialect of the request.
    dialect: String,
}

impl<'a> Generator<'a> {
    pub(super) fn new(seed: u64, routes: &'a Routes, known: &'a KnownIds) -> Self {
        Self { random: Random::new(seed), routes, known, dialect: String::new() }
    }

    pub(super) fn request(&mut self) -> Request {
        let routes = self.routes;
        // Half of the requests go to routes that create something, so that there is data to check.
        let begins = |route: &&Route| route.method == "POST" && BEGIN.contains(&&*route.path);
        let route = match self.random.one_in(2) {
            true => routes.all.iter().filter(begins).nth(self.random.below(BEGIN.len())),
            false => None,
        };
        let route = route.unwrap_or_else(|| self.random.pick(&routes.all));
        self.dialect = self.random.word(&DIALECTS);
        let method = match self.random.below(20) {
            0 => self
                .random
                .word(&["PUT", "PATCH", "HEAD", "OPTIONS", "DELETE", "POST", "GET", "TRACE", "BREW"]),
            _ => route.method.clone(),
        };
        let target = self.target(route);
        let body = if route.body.is_some() && !self.random.one_in(30) || self.random.one_in(30) {
            self.body(route)
        } else {
            Vec::new()
        };
        let headers = self.headers(!body.is_empty());
        Request { method, target, headers, body }
    }

    fn target(&mut self, route: &Route) -> String {
        let parts: Vec<_> = route
            .path
            .split('/')
            .map(|part| match part.strip_prefix('{') {
                Some(name) => self.segment(name.trim_end_matches('}')),
                None => part.to_owned(),
            })
            .collect();
        let mut target = parts.join("/");
        let mut query: Vec<String> = Vec::new();
        for name in &route.query {
            if self.random.one_in(3) {
                let value = match self.random.below(4) {
                    0 => self.random.below(1_000).to_string(),
                    1 => self.random.word(&["now", "sse", "ndjson", "wait", "end", "chat", "tools"]),
                    2 => self.random.word(&DIALECTS),
                    _ => self.id(),
                };
                query.push(format!("{name}={}", escape(&value)));
            }
        }
        if self.random.one_in(20) {
            query.push(self.random.word(&[
                "%ff",
                "a=%00",
                "=",
                "&&",
                "limit=-1",
                "limit=9e99",
                "after=%F0%9F",
            ]));
        }
        if !query.is_empty() {
            target.push('?');
            target.push_str(&query.join("&"));
        }
        target
    }

    fn segment(&mut self, name: &str) -> String {
        let known = match name {
            "dialect" if !self.random.one_in(20) => return self.dialect.clone(),
            "rest" => {
                let id = escape(&self.id());
                let end = *self.random.pick(&["/stream", "/stop", "", "/answer", "/messages"]);
                return if self.random.one_in(3) { "answer".to_owned() } else { format!("{id}{end}") };
            }
            "session" => &self.known.sessions,
            "run" => &self.known.runs,
            _ => &self.known.others,
        };
        if known.is_empty() || self.random.one_in(4) {
            escape(&self.id())
        } else {
            escape(self.random.pick::<String>(known))
        }
    }

    /// An id that the server knows, or an odd one.
    fn id(&mut self) -> String {
        match self.random.below(40) {
            0 => String::new(),
            1 => "x".repeat(1 + self.random.below(300)),
            2 => "y".repeat(6_000),
            3 => self.random.word(&TEXTS),
            4 => self.random.word(&[":r0:", "«r0»", "_r_1_", "default", "..", "%2e%2e", "a/b", "a%2Fb"]),
            5..12 if !self.known.sessions.is_empty() => self.random.pick(&self.known.sessions).clone(),
            12..16 if !self.known.runs.is_empty() => self.random.pick(&self.known.runs).clone(),
            16..20 if !self.known.others.is_empty() => self.random.pick(&self.known.others).clone(),
            _ => format!("id-{}", self.random.below(200)),
        }
    }

    fn headers(&mut self, body: bool) -> Vec<(String, Vec<u8>)> {
        let mut headers = Vec::new();
        let mut add = |name: &str, value: &[u8]| {
            // No header value may end the head.
            let value = value.iter().copied().filter(|byte| !b"\r\n\0".contains(byte)).collect();
            headers.push((name.to_owned(), value));
        };
        if body {
            let kinds = [
                "text/plain",
                "application/x-www-form-urlencoded",
                "application/json; charset=utf-16",
                "",
                "application/ld+json",
            ];
            match self.random.below(25) {
                0 => add("content-type", self.random.pick(&kinds).as_bytes()),
                _ => add("content-type", b"application/json"),
            }
            if self.random.one_in(40) {
                add("content-encoding", self.random.pick(&["gzip", "br", "identity"]).as_bytes());
            }
        }
        for name in [
            "x-run-id",
            "idempotency-key",
            "last-event-id",
            "x-request-id",
            "accept",
            "x-api-key",
            "traceparent",
        ] {
            if self.random.one_in(15) {
                let id = self.id();
                add(name, if self.random.one_in(8) { &b"\xff\xfe\x80"[..] } else { id.as_bytes() });
            }
        }
        headers
    }

    fn body(&mut self, route: &Route) -> Vec<u8> {
        let mut value = if route.path.starts_with("/v1/{dialect}") || !route.path.starts_with("/v1/") {
            self.chat()
        } else {
            match &route.body {
                Some(schema) => self.of_schema(schema, 0),
                None => json!({}),
            }
        };
        for _ in 0..self.random.below(6).saturating_sub(3) {
            self.mutate(&mut value, 0);
        }
        let mut text = value.to_string();
        if self.random.one_in(4) {
            // Nesting deeper than values in memory would be.
            let depth = 1 + self.random.below(200);
            let (open, close) = *self.random.pick(&[("[", "]"), ("{\"a\":", "}"), ("[[],", "]")]);
            let deep = format!("{}0{}", open.repeat(depth), close.repeat(depth));
            let places: Vec<_> = text
                .match_indices(":null")
                .chain(text.match_indices(":{}"))
                .chain(text.match_indices(":\""))
                .map(|(at, _)| at)
                .collect();
            if let Some(&at) = places.get(self.random.below(places.len())) {
                text.insert_str(at + 1, &format!("{deep},\"k{depth}\":"));
            }
        }
        let mut bytes = match self.random.below(80) {
            0 => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            1 => [&b"\xEF\xBB\xBF"[..], text.as_bytes()].concat(),
            2 => [&b"\x1f\x8b\x08\0\0\0\0\0"[..], text.as_bytes()].concat(),
            3 => vec![b' '; self.random.below(1_200_000)],
            4 => [text.as_bytes(), &*vec![b','; self.random.below(100_000)]].concat(),
            5 => format!(
                "{{\"input\":\"x\",\"context\":{{\"a\":[{}0]}}}}",
                "0,".repeat(self.random.below(70_000))
            )
            .into_bytes(),
            6 => format!("{{\"text\":\"{}\"}}", "x".repeat(self.random.below(1_200_000))).into_bytes(),
            _ => text.into_bytes(),
        };
        if self.random.one_in(20) && !bytes.is_empty() {
            for _ in 0..=self.random.below(4) {
                let at = self.random.below(bytes.len());
                match self.random.below(3) {
                    0 => bytes.truncate(at.max(1)),
                    1 => bytes[at] = (self.random.next() & 0xff) as u8,
                    _ => bytes.insert(at, *self.random.pick(b"{}[]\",:\\\xff\x00")),
                }
            }
        }
        bytes
    }

    /// The body of a chat request in some dialect.
    fn chat(&mut self) -> Value {
        let (id, message) = (self.id(), self.id());
        let text = self.random.word(&TEXTS);
        let part = match self.random.below(6) {
            0 => json!({ "type": "my-widget", "a": null }),
            1 => json!({ "type": "data-thing", "data": {} }),
            2 => {
                json!({ "type": "tool-x", "toolCallId": self.id(), "state": "output-available", "input": {}, "output": null })
            }
            3 => json!({ "type": "file", "mediaType": "image/png", "url": "data:image/png;base64,AAAA" }),
            _ => json!({ "type": "text", "text": text }),
        };
        let role = *self.random.pick(&[
            "user",
            "user",
            "user",
            "user",
            "user",
            "user",
            "assistant",
            "system",
            "tool",
            "developer",
        ]);
        let messages =
            json!([{ "id": message, "role": role, "parts": [part], "content": text, "metadata": {} }]);
        let own = match &*self.dialect {
            "ai-sdk" => self.random.below(4).saturating_sub(2),
            "agents" | "kortyx" => 2,
            "tanstack" => 3,
            "mui" => 4,
            _ => 7,
        };
        // Mostly the body of the dialect's own client, sometimes that of another one.
        match if self.random.one_in(6) { self.random.below(8) } else { own } {
            0 => json!({ "id": id, "trigger": "submit-message", "messages": messages, "data": {} }),
            1 => {
                json!({ "id": id, "trigger": "regenerate-message", "messages": messages, "messageId": self.id() })
            }
            2 => json!({ "sessionId": id, "messages": messages, "projectId": null, "context": {} }),
            3 => json!({ "messages": messages, "data": { "conversationId": id } }),
            4 => json!({ "conversationId": id, "message": messages[0], "metadata": {} }),
            5 => {
                json!({ "action": self.random.pick(&["list", "get", "rollback", "fork", "stop"]), "sessionId": id, "checkpointId": self.id() })
            }
            6 => {
                json!({ "requestId": self.id(), "runId": self.id(), "approved": true, "answer": {}, "answers": [{}] })
            }
            _ => {
                json!({ "threadId": id, "runId": self.id(), "state": {}, "messages": messages, "tools": [], "context": [],
                "forwardedProps": {}, "resume": null })
            }
        }
    }

    /// A value that more or less matches a schema.
    fn of_schema(&mut self, schema: &Value, depth: usize) -> Value {
        if depth > 6 || self.random.one_in(25) {
            return self.scalar();
        }
        if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
            let schemas = &self.routes.schemas;
            return self.of_schema(&schemas[name], depth + 1);
        }
        for kind in ["anyOf", "oneOf", "allOf"] {
            if let Some(choices) = schema[kind].as_array().filter(|choices| !choices.is_empty()) {
                let choice = self.random.pick(choices);
                return self.of_schema(choice, depth + 1);
            }
        }
        if let Some(values) = schema["enum"].as_array() {
            return self.random.pick(values).clone();
        }
        let kinds = match &schema["type"] {
            Value::Array(kinds) => kinds.clone(),
            one => vec![one.clone()],
        };
        match self.random.pick(&kinds).as_str() {
            Some("string") => {
                Value::from(if self.random.one_in(2) { self.id() } else { self.random.word(&TEXTS) })
            }
            Some("integer") => json!(self.random.below(100)),
            Some("boolean") => json!(self.random.one_in(2)),
            Some("array") => {
                let items = (0..self.random.below(3)).map(|_| self.of_schema(&schema["items"], depth + 1));
                Value::Array(items.collect())
            }
            Some("object") => {
                let mut object = Map::new();
                for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
                    // Unknown names are refused before anything else is checked, so generate these fields
                    // rarely.
                    let rare = ["agent", "workflow", "import"].contains(&&**name);
                    let needed = schema["required"].as_array().is_some_and(|all| all.contains(&json!(name)));
                    if needed || self.random.one_in(if rare { 12 } else { 2 }) {
                        object.insert(name.clone(), self.of_schema(inner, depth + 1));
                    }
                }
                Value::Object(object)
            }
            _ => self.scalar(),
        }
    }

    fn scalar(&mut self) -> Value {
        match self.random.below(10) {
            0 => Value::Null,
            1 => json!(true),
            2 => json!(-1),
            3 => json!(1e300),
            4 => json!(u64::MAX),
            5 => json!({}),
            6 => json!([]),
            7 => json!("z".repeat(self.random.below(5_000))),
            8 => Value::from(self.id()),
            _ => Value::from(self.random.word(&TEXTS)),
        }
    }

    /// Changes one nested value.
    fn mutate(&mut self, value: &mut Value, depth: usize) {
        if depth > 8 || self.random.one_in(4) {
            *value = self.scalar();
            return;
        }
        match value {
            Value::Object(fields) if !fields.is_empty() => {
                let at = self.random.below(fields.len());
                let key = fields.keys().nth(at).cloned().unwrap();
                match self.random.below(8) {
                    0 => drop(fields.shift_remove(&key)),
                    1 => drop(fields.insert(self.id(), json!({}))),
                    _ => self.mutate(&mut fields[&key], depth + 1),
                }
            }
            Value::Array(items) if !items.is_empty() => {
                let at = self.random.below(items.len());
                match self.random.below(6) {
                    0 => drop(items.remove(at)),
                    1 => {
                        let copy = items[at].clone();
                        items.resize(items.len() + self.random.below(20), copy);
                    }
                    _ => self.mutate(&mut items[at], depth + 1),
                }
            }
            other => *other = self.scalar(),
        }
    }
}
