//! Runs as clients start them: the same request again until one node has accepted it.

use std::{net::SocketAddr, time::Duration};

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::{
    agent,
    cluster::Cluster,
    reader::{Reader, Until},
};

const PAUSE: Duration = Duration::from_millis(100);

/// How long a request may go without an answer before it is sent again.
const SILENCE: Duration = Duration::from_secs(5);

/// Attempts before a request counts as refused for good.
const ATTEMPTS: usize = 300;

impl Cluster {
    /// Sends a request until it is answered. A node that is killed, cut off or being stopped does not answer, or says that
    /// it cannot; the key makes sure that the request counts once.
    pub(crate) async fn post(
        &self,
        address: SocketAddr,
        path: &str,
        key: Option<&str>,
        body: &Value,
    ) -> (u16, Value) {
        let mut last = String::new();
        for _ in 0..ATTEMPTS {
            let request = self.http.post(format!("http://{address}{path}")).timeout(SILENCE);
            let mut request = request.header("content-type", "application/json").body(body.to_string());
            if let Some(key) = key {
                request = request.header("idempotency-key", key);
            }
            match answer(request).await {
                Ok((status, text)) if status < 500 => {
                    return (status, serde_json::from_str(&text).unwrap_or(Value::String(text)));
                }
                Ok((status, text)) => last = format!("{status} {text}"),
                Err(error) => last = format!("{error:?}"),
            }
            tokio::time::sleep(PAUSE).await;
        }
        panic!("{path} at {address} was never answered: {last}");
    }

    /// Starts a run with this input, and gives its id.
    pub(crate) async fn start_run(&self, address: SocketAddr, input: &str, more: Value) -> String {
        let mut body = json!({ "agent": agent::NAME, "input": input });
        body.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
        let (status, answer) = self.post(address, "/v1/runs", Some(input), &body).await;
        assert!(status == 201 || status == 200, "{input}: {status} {answer}");
        answer["run"].as_str().unwrap_or_else(|| panic!("{input}: {answer}")).to_owned()
    }

    /// Follows a run over the balancer from its beginning.
    pub(crate) async fn read(&self, run: &str, until: Until) -> Reader {
        let mut reader = Reader::default();
        reader.follow(&self.http, self.front(), run, until).await;
        reader
    }

    /// What a run of the main workflow shows that nothing disturbed.
    pub(crate) async fn undisturbed(&self) -> Value {
        // A machine under load may pause a node for longer than its lease.
        for number in 0..10 {
            let input = format!("undisturbed-{number}");
            let run = self.start_run(self.front(), &input, json!({})).await;
            let reader = self.read(&run, Until::End).await;
            if reader.retracted > 0 || self.ledger.assert_once(&input) > 0 {
                continue;
            }
            let shown = reader.shown(&input);
            let text = shown.to_string();
            assert!(text.contains(agent::ANSWER) && text.contains("recorded"), "{shown:#}");
            return shown;
        }
        panic!("runs are taken over although nothing disturbs them");
    }

    /// Follows a run to its end over the balancer, and holds it to the undisturbed one and to what it did outside.
    pub(crate) async fn judge(&self, Under { run, input, mut reader }: Under, expected: &Value) -> Reader {
        reader.follow(&self.http, self.front(), &run, Until::End).await;
        assert_eq!(reader.shown(&input), *expected, "{run} differs");
        self.ledger.assert_once(&input);
        // One that comes late sees the same.
        let late = self.read(&run, Until::End).await;
        assert_eq!(late.shown(&input), *expected, "{run} differs when it is read again");
        reader
    }

    /// Starts runs on a node, and follows each until it has shown a few records: then all of them are under way there.
    pub(crate) async fn begin(&self, node: usize, name: &str, count: usize, records: usize) -> Vec<Under> {
        let address = self.address(node);
        let begin = async |number: usize| {
            let input = format!("{name}-{number}");
            let run = self.start_run(address, &input, json!({})).await;
            // Each stops somewhere else, so that a fault meets several phases of a run.
            let reader = self.read(&run, Until::Records(records + 5 * number)).await;
            Under { run, input, reader }
        };
        join_all((0..count).map(begin)).await
    }

    /// Judges several runs at once.
    pub(crate) async fn judge_all(&self, runs: Vec<Under>, expected: &Value) -> Vec<Reader> {
        join_all(runs.into_iter().map(|run| self.judge(run, expected))).await
    }
}

/// A run that is under way, and its reader.
#[derive(Debug)]
pub(crate) struct Under {
    pub(crate) run: String,
    pub(crate) input: String,
    pub(crate) reader: Reader,
}

async fn answer(request: reqwest::RequestBuilder) -> reqwest::Result<(u16, String)> {
    let response = request.send().await?;
    Ok((response.status().as_u16(), response.text().await?))
}
