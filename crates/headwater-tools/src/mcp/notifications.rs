//! Watches the messages of a connection for the progress of calls, in order and before the result, and for
//! changes of the tool list. rmcp handles each notification in its own task, which loses the order.

use std::{
    collections::HashMap,
    future::Future,
    mem,
    sync::{Arc, OnceLock},
};

use rmcp::{
    RoleClient,
    model::{
        ClientNotification, ClientRequest, GetExtensions, GetMeta, JsonRpcMessage, ProgressNotificationParam,
        ProgressToken, RequestId, ServerNotification,
    },
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use serde_json::{Map, Value};
use tokio::sync::{Notify, watch};

use crate::{ToolContext, ToolOutput};

/// Attached to a request to receive its progress.
#[derive(Debug, Clone)]
pub(super) struct ProgressWatch {
    pub(super) context: ToolContext,
    /// Notified at each progress message.
    pub(super) alive: Arc<Notify>,
}

/// A transport whose messages are watched.
pub(super) struct NotificationTap<T> {
    transport: T,
    watched: HashMap<ProgressToken, ProgressWatch>,
    tokens: HashMap<RequestId, ProgressToken>,
    changed: watch::Sender<u64>,
    greeted: bool,
    refusal: Option<Refusal>,
}

/// The message of a server that rejected a request without naming it. Clones share it.
pub(super) type Refusal = Arc<OnceLock<String>>;

impl<T> NotificationTap<T> {
    /// Counts changes of the tool list in `changed`.
    pub(super) fn new(transport: T, changed: watch::Sender<u64>) -> Self {
        Self {
            transport,
            watched: HashMap::new(),
            tokens: HashMap::new(),
            changed,
            greeted: false,
            refusal: None,
        }
    }

    /// Closes the connection when the server rejects a message without naming it. Over HTTP, many servers
    /// report an unknown session this way, and the callers would wait forever.
    pub(super) fn ending_on_refusal(mut self, refusal: Refusal) -> Self {
        self.refusal = Some(refusal);
        self
    }

    fn sent(&mut self, message: &TxJsonRpcMessage<RoleClient>) {
        match message {
            JsonRpcMessage::Request(request) => {
                let greets = matches!(
                    request.request,
                    ClientRequest::InitializeRequest(_) | ClientRequest::DiscoverRequest(_)
                );
                self.greeted |= !greets;
                let Some(progress) = request.request.extensions().get::<ProgressWatch>() else { return };
                if let Some(token) = request.request.get_meta().get_progress_token() {
                    self.tokens.insert(request.id.clone(), token.clone());
                    self.watched.insert(token, progress.clone());
                }
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification {
                    self.over(cancelled.params.request_id.as_ref());
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
    }

    fn received(&mut self, message: &RxJsonRpcMessage<RoleClient>) {
        match message {
            JsonRpcMessage::Response(response) => self.over(Some(&response.id)),
            JsonRpcMessage::Error(error) => self.over(error.id.as_ref()),
            JsonRpcMessage::Notification(notification) => match &notification.notification {
                ServerNotification::ProgressNotification(progress) => {
                    if let Some(watcher) = self.watched.get(&progress.params.progress_token) {
                        watcher.alive.notify_one();
                        watcher.context.progress(preliminary(&progress.params));
                    }
                }
                ServerNotification::ToolListChangedNotification(_) => {
                    self.changed.send_modify(|count| *count = count.wrapping_add(1));
                }
                _ => {}
            },
            JsonRpcMessage::Request(_) => {}
        }
    }

    fn over(&mut self, request: Option<&RequestId>) {
        if let Some(token) = request.and_then(|id| self.tokens.remove(id)) {
            self.watched.remove(&token);
        }
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for NotificationTap<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.sent(&item);
        self.transport.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let message = self.transport.receive().await?;
        if let (JsonRpcMessage::Error(error), Some(refusal), true) = (&message, &self.refusal, self.greeted)
            && error.id.is_none()
        {
            let _ = refusal.set(error.error.message.to_string());
            return None;
        }
        self.received(&message);
        Some(message)
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        mem::take(&mut self.watched);
        self.transport.close().await
    }
}

/// The progress as reported: `{"progress": 3, "total": 5, "message": "…"}`.
fn preliminary(progress: &ProgressNotificationParam) -> ToolOutput {
    // ProgressWatch is usually a count, so whole numbers become integers.
    let number = |value: f64| {
        if value.fract() == 0.0 && value.abs() < 9e15 {
            Value::from(value as i64)
        } else {
            Value::from(value)
        }
    };
    let mut report = Map::new();
    report.insert("progress".to_owned(), number(progress.progress));
    if let Some(total) = progress.total {
        report.insert("total".to_owned(), number(total));
    }
    if let Some(message) = &progress.message {
        report.insert("message".to_owned(), Value::from(message.as_str()));
    }
    ToolOutput::json(Value::Object(report))
}
