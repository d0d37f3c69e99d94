//! A reader of the native wire that reconnects, to whichever node the balancer gives it.

use std::{net::SocketAddr, time::Duration};

use futures_util::StreamExt as _;
use headwater_protocol::{RunState, RunStatus, native};
use serde_json::{Value, json};

/// How long a reader waits for a byte before it reconnects. Heartbeats come more often.
const SILENCE: Duration = Duration::from_secs(2);

/// How long a run may take before it counts as stuck, whatever happens to the nodes.
const PATIENCE: Duration = Duration::from_secs(120);

/// Between two attempts.
const PAUSE: Duration = Duration::from_millis(50);

/// A reader keeps nothing open between requests, so that the balancer decides each time.
pub(crate) fn http() -> reqwest::Client {
    // Another test may have been first.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().pool_max_idle_per_host(0).build().unwrap()
}

/// What a reader has.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reader {
    pub(crate) state: RunState,
    cursor: Option<String>,
    last: u64,
    replaying: bool,
    /// When each record was written, in milliseconds since 1970.
    pub(crate) times: Vec<u64>,
    /// How often it connected.
    pub(crate) connections: usize,
    /// How many attempts of models were retracted.
    pub(crate) retracted: usize,
    /// The run may be queued behind another of its session: it is not there before its turn.
    queued: bool,
}

/// Where a reader stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    Wait,
    End,
    /// So many records are there.
    Records(usize),
    /// A record is there that was written after this time, in milliseconds since 1970.
    After(u64),
}

impl Reader {
    /// A reader of a run that may be queued.
    pub(crate) fn of_queued() -> Self {
        Self { queued: true, ..Self::default() }
    }

    pub(crate) fn status(&self) -> RunStatus {
        self.state.run().status
    }

    /// When the first record after a time was written.
    pub(crate) fn first_after(&self, time: u64) -> Option<u64> {
        self.times.iter().copied().find(|written| *written > time)
    }

    fn is_over(&self, until: Until) -> bool {
        let ended = matches!(self.status(), RunStatus::Finished | RunStatus::Failed | RunStatus::Cancelled);
        ended
            || match until {
                Until::Wait => self.status() == RunStatus::Waiting,
                Until::End => false,
                Until::Records(count) => self.times.len() >= count,
                Until::After(time) => self.first_after(time).is_some(),
            }
    }

    /// Follows a run until it is over, over as many connections as that takes.
    pub(crate) async fn follow(
        &mut self,
        http: &reqwest::Client,
        address: SocketAddr,
        run: &str,
        until: Until,
    ) {
        let following = async {
            while !self.is_over(until) {
                self.connect(http, address, run, until).await;
                if !self.is_over(until) {
                    tokio::time::sleep(PAUSE).await;
                }
            }
        };
        if tokio::time::timeout(PATIENCE, following).await.is_err() {
            panic!("{run} did not come to {until:?} within {PATIENCE:?}: {:?}", self.state.view());
        }
    }

    /// One connection. It may end at any moment, for any reason.
    async fn connect(&mut self, http: &reqwest::Client, address: SocketAddr, run: &str, until: Until) {
        self.connections += 1;
        let mut request = http.get(format!("http://{address}/v1/runs/{run}/events"));
        if let Some(cursor) = &self.cursor {
            request = request.header("last-event-id", cursor);
        }
        let Ok(Ok(response)) = tokio::time::timeout(SILENCE, request.send()).await else { return };
        let status = response.status();
        // 503 is a node that cannot reach its engine, or that is being stopped.
        let expected = status.is_success() || status.is_server_error() || (self.queued && status == 404);
        assert!(expected, "{run}: {status} {:?}", response.text().await);
        if !status.is_success() {
            return;
        }
        let (mut body, mut text) = (response.bytes_stream(), Vec::new());
        while let Ok(Some(Ok(bytes))) = tokio::time::timeout(SILENCE, body.next()).await {
            text.extend_from_slice(&bytes);
            while let Some(end) = text.windows(2).position(|pair| pair == b"\n\n") {
                let frame: Vec<_> = text.drain(..end + 2).collect();
                self.read(std::str::from_utf8(&frame).unwrap());
                if self.is_over(until) {
                    return;
                }
            }
        }
    }

    fn read(&mut self, frame: &str) {
        let field = |name: &str| frame.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        let Some(data) = field("data") else { return };
        let read = native::read_record(data).unwrap_or_else(|error| panic!("{error} in {frame}"));
        assert!(read.problems.is_empty(), "{:?} in {frame}", read.problems);
        if read.replay && !self.replaying {
            // More was seen than was stored: the new state replaces all that was there.
            (self.state, self.last) = (RunState::default(), 0);
        }
        self.replaying = read.replay;
        // Deltas that were shown and never written are retracted under numbers that they had.
        let retracted = read.record.event.kind().name() == "attempt-retracted";
        let again = !read.replay && !retracted && read.record.seq <= self.last;
        assert!(!again, "record {} came again", read.record.seq);
        self.last = read.record.seq;
        self.cursor = field("id").map(str::to_owned).or(self.cursor.take());
        self.times.push(read.record.time);
        self.retracted += usize::from(retracted);
        self.state.apply(&read.record).unwrap_or_else(|error| panic!("{error} in {frame}"));
    }

    /// The number of the newest record, and the state that the records lead to: a record more changes one of them. The
    /// frames themselves may differ between two readings, since deltas of one block are joined as they are found.
    pub(crate) fn end(&self) -> (u64, Value) {
        (self.last, json!(self.state.view()))
    }

    /// What a person sees: status and messages without ids and times, which differ between equal runs. The input is
    /// replaced, so that runs with different inputs can be compared.
    pub(crate) fn shown(&self, input: &str) -> Value {
        let view = json!(self.state.view());
        let shown = json!({ "status": view["run"]["status"], "messages": view["messages"] });
        plain(&shown, input)
    }
}

fn plain(value: &Value, input: &str) -> Value {
    match value {
        Value::String(text) => Value::String(text.replace(input, "INPUT")),
        Value::Array(items) => items.iter().map(|item| plain(item, input)).collect(),
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(name, _)| !is_incidental(name));
            Value::Object(kept.map(|(name, value)| (name.clone(), plain(value, input))).collect())
        }
        other => other.clone(),
    }
}

fn is_incidental(name: &str) -> bool {
    ["id", "toolCallId", "attempt", "time", "metadata", "providerMetadata"].contains(&name)
}
