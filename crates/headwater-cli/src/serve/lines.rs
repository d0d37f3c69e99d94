//! A line for each dialect that can be tried as it stands: the page shows them, and the README.

/// A dialect, and a request that its client would send.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) dialect: &'static str,
    body: &'static str,
}

impl Line {
    /// Where the request goes, on any server.
    pub(crate) fn path(&self) -> String {
        let route = headwater_dialects::find(self.dialect).and_then(|dialect| dialect.routes().first());
        route.map(|route| route.url(self.dialect)).unwrap_or_default()
    }

    /// The line for a shell.
    pub(crate) fn curl(&self, base: &str) -> String {
        let (path, body) = (self.path(), self.body);
        format!("curl -N {base}{path} -H 'content-type: application/json' -d '{body}'")
    }
}

/// All of them.
pub(crate) const LINES: &[Line] = &[
    Line { dialect: "kortyx", body: r#"{"sessionId":"k1","messages":[{"role":"user","content":"hello"}]}"# },
    Line { dialect: "tanstack", body: r#"{"messages":[{"role":"user","content":"hello"}]}"# },
    Line {
        dialect: "mui",
        body: r#"{"conversationId":"m1","message":{"id":"u1","role":"user","parts":[{"type":"text","text":"hello"}]}}"#,
    },
    Line {
        dialect: "agents",
        body: r#"{"sessionId":"a1","messages":[{"id":"u1","role":"user","parts":[{"type":"text","text":"hello"}]}]}"#,
    },
    Line {
        dialect: "ai-sdk",
        body: r#"{"id":"s1","messages":[{"id":"u1","role":"user","parts":[{"type":"text","text":"hello"}]}]}"#,
    },
    Line {
        dialect: "ag-ui",
        body: r#"{"threadId":"t1","runId":"r1","messages":[{"id":"u1","role":"user","content":"hello"}],"tools":[],"context":[]}"#,
    },
    Line { dialect: "responses", body: r#"{"model":"chat","input":"hello","stream":true}"# },
];
