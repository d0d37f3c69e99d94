//! The connection that listens for announcements of other processes.

use std::pin::pin;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use futures_util::{FutureExt as _, future::poll_fn};
use tokio::sync::mpsc;
use tokio_postgres::{AsyncMessage, Client};

use super::{connect::Pool, fault::fault};
use crate::{
    Error, ErrorKind,
    remote::{Answer, EngineFault, Hint, Hints},
};

/// A payload of a notification has less than 8,000 bytes.
const PAYLOAD: usize = 7_800;

/// The announcements that a connection receives.
#[derive(Debug)]
pub(crate) struct PostgresListener {
    announced: mpsc::UnboundedReceiver<String>,
    node: String,
    /// Ends the connection when it is dropped.
    _client: Client,
}

/// Listens to the channel of a schema.
pub(super) async fn listen(pool: &Pool, node: u64) -> Answer<PostgresListener> {
    let doing = "listening";
    let lost = |error: tokio_postgres::Error| EngineFault::Unreachable(fault(doing, &error).error().clone());
    let (client, mut connection) = pool.connect(&pool.url.listen).await.map_err(lost)?;
    let (announce, announced) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        let mut closed = pin!(announce.closed().fuse());
        loop {
            let message = tokio::select! {
                () = &mut closed => return,
                message = poll_fn(|cx| connection.poll_message(cx)) => message,
            };
            match message {
                Some(Ok(AsyncMessage::Notification(notification))) => {
                    let _ = announce.send(notification.payload().to_owned());
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return,
            }
        }
    });
    client.batch_execute(&format!("LISTEN {}", channel(&pool.url.schema))).await.map_err(lost)?;
    Ok(PostgresListener { announced, node: node_text(node), _client: client })
}

impl Hints for PostgresListener {
    async fn next(&mut self) -> Answer<Hint> {
        while let Some(payload) = self.announced.recv().await {
            let from_this_process = payload.starts_with(&self.node);
            if let Some(hint) = (!from_this_process).then(|| read(&payload)).flatten() {
                return Ok(hint);
            }
        }
        let message = "Postgres, listening: the connection was lost";
        Err(EngineFault::Unreachable(Error::new(ErrorKind::Unavailable, message)))
    }
}

/// The channel for announcements between the processes of a schema.
pub(super) fn channel(schema: &str) -> String {
    format!("headwater_{schema}")
}

fn node_text(node: u64) -> String {
    format!("{node:016x}")
}

/// The payloads that announce changes of journals.
pub(super) fn journals(node: u64, numbers: impl IntoIterator<Item = u64>) -> Vec<String> {
    let mut payloads: Vec<String> = Vec::new();
    for number in numbers {
        match payloads.last_mut().filter(|payload| payload.len() < PAYLOAD) {
            Some(payload) => payload.push_str(&format!(",{number}")),
            None => payloads.push(format!("{}j{number}", node_text(node))),
        }
    }
    payloads
}

/// The payload that announces a change of a value. Keys may hold bytes that a payload may not.
pub(super) fn value(node: u64, key: &str) -> String {
    format!("{}v{}", node_text(node), URL_SAFE_NO_PAD.encode(key))
}

fn read(payload: &str) -> Option<Hint> {
    let (_, announced) = payload.split_at_checked(16)?;
    if let Some(numbers) = announced.strip_prefix('j') {
        let numbers: Result<Vec<u64>, _> = numbers.split(',').map(str::parse).collect();
        return numbers.ok().map(Hint::Journals);
    }
    let key = URL_SAFE_NO_PAD.decode(announced.strip_prefix('v')?).ok()?;
    String::from_utf8(key).ok().map(Hint::Value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn announcements_round_trip() {
        let key = "a/\0\u{10ffff}";
        assert_eq!(read(&value(7, key)), Some(Hint::Value(key.to_owned())));
        let numbers: Vec<u64> = (0..3_000).map(|n| u64::MAX / 2 - n).collect();
        let payloads = journals(u64::MAX, numbers.iter().copied());
        assert!(payloads.len() > 5 && payloads.iter().all(|payload| payload.len() < 8_000));
        let read: Vec<u64> = payloads
            .iter()
            .filter_map(|payload| match read(payload)? {
                Hint::Journals(numbers) => Some(numbers),
                Hint::Value(_) => None,
            })
            .flatten()
            .collect();
        assert_eq!(read, numbers);
    }

    #[test]
    fn foreign_payload_is_ignored() {
        for payload in
            ["", "hello", "0000000000000007", "0000000000000007j", "0000000000000007jx", "0000000000000007v%"]
        {
            assert_eq!(read(payload), None, "{payload}");
        }
    }
}
