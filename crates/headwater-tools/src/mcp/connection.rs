//! One live connection to a server.

use std::{
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rmcp::{
    RoleClient,
    model::{
        CallToolRequest, CallToolRequestParams, CallToolResult, CancelledNotificationParam,
        ClientCapabilities, ClientConfig, ClientRequest, Implementation, JsonObject, ProtocolVersion,
        RequestId, RequestMetaObject, ServerResult,
    },
    service::{
        ClientInitializeError, ClientLifecycleMode, Peer, PeerRequestOptions, RunningService, ServiceError,
        serve_client_with_lifecycle,
    },
    transport::DynamicTransportError,
};
use tokio::{
    sync::{Notify, mpsc, watch},
    task::JoinHandle,
    time::{Instant, error::Elapsed, sleep, timeout},
};

use super::{
    Endpoint, McpSettings,
    notifications::{NotificationTap, ProgressWatch, Refusal},
    process::ProcessExit,
    stdio::StdioTransport,
    tool_list::Listing,
};
use crate::{Error, ErrorKind, Result, ToolContext};

/// Time limits for the last cancel notifications and for closing the connection.
const LAST_CANCELS: Duration = Duration::from_secs(1);
const LONGEST_CLOSE: Duration = Duration::from_secs(10);
/// Field of `_meta` with the idempotency key of a call.
const IDEMPOTENCY_KEY: &str = "dev.headwater/idempotencyKey";
/// Capacity of the queue of cancelled calls.
const MOST_ABANDONED: usize = 256;

/// A live connection. Dropping it closes it in the background; [`shut`](McpConnection::shut) waits for the end.
#[derive(Debug)]
pub(super) struct McpConnection {
    service: Service,
    /// Dropped calls, which are to be cancelled at the server.
    abandoned: mpsc::Sender<RequestId>,
    canceller: JoinHandle<()>,
    end: ConnectionEnd,
    /// The tool list, and the change count when it was fetched.
    listing: Mutex<Option<(u64, Listing)>>,
}

/// How a connection ended.
#[derive(Debug)]
enum ConnectionEnd {
    Process(ProcessExit),
    Http(Refusal),
}

impl ConnectionEnd {
    /// Waits briefly until the exit status of a process is known.
    async fn settled(&self) {
        if let Self::Process(ending) = self {
            ending.settled().await;
        }
    }

    fn error(&self) -> Error {
        match self {
            Self::Process(ending) => ending.error(),
            Self::Http(refusal) => {
                let message = match refusal.get() {
                    Some(message) => {
                        format!("it rejected a message, so the connection was closed: {message}")
                    }
                    None => "the connection was closed".to_owned(),
                };
                Error::new(ErrorKind::Ended, message)
            }
        }
    }
}

impl McpConnection {
    /// Starts or reaches the server and initializes the connection.
    pub(super) async fn open(settings: &McpSettings, changed: &watch::Sender<u64>) -> Result<Self> {
        let (mut initialized, mut end) =
            initialize(settings, changed, ClientLifecycleMode::Initialize).await?;
        // The protocol version of July 2026 has no initialize request, and a server may support only that.
        if matches!(initialized, Ok(Err(ClientInitializeError::JsonRpcError(_)))) {
            let preferred_versions = vec![ProtocolVersion::LATEST];
            let again =
                initialize(settings, changed, ClientLifecycleMode::Discover { preferred_versions }).await?;
            if let (Ok(Ok(_)), _) = &again {
                (initialized, end) = again;
            }
        }
        let service = match initialized {
            Ok(Ok(service)) => service,
            Ok(Err(error)) => {
                end.settled().await;
                return Err(refused(error, &end));
            }
            Err(_) => {
                let waited = settings.connect_timeout;
                return Err(Error::new(
                    ErrorKind::Timeout,
                    format!("it did not answer the initialize request within {waited:?}"),
                ));
            }
        };
        let (abandoned, ids) = mpsc::channel(MOST_ABANDONED);
        let canceller = tokio::spawn(send_cancellations(service.peer().clone(), ids));
        Ok(Self { service, abandoned, canceller, end, listing: Mutex::new(None) })
    }

    /// Whether the other side is gone.
    pub(super) fn is_over(&self) -> bool {
        self.service.is_closed() || self.service.is_transport_closed()
    }

    pub(super) fn peer(&self) -> &Peer<RoleClient> {
        self.service.peer()
    }

    /// The tool list, if it was fetched at this change count. A server of the newest protocol version reports
    /// changes only to subscribers, so its list is never reused.
    pub(super) fn listing(&self, changes: u64) -> Option<Listing> {
        if !self.peer().peer_info()?.protocol_version.has_initialize() {
            return None;
        }
        let listing = self.listing.lock().unwrap_or_else(PoisonError::into_inner);
        listing.as_ref().filter(|(known, _)| *known == changes).map(|(_, listing)| listing.clone())
    }

    pub(super) fn set_listing(&self, changes: u64, listing: Listing) {
        *self.listing.lock().unwrap_or_else(PoisonError::into_inner) = Some((changes, listing));
    }

    /// Calls a tool. Dropping the future cancels the call at the server.
    pub(super) async fn call(
        &self,
        settings: &McpSettings,
        name: &str,
        arguments: Option<JsonObject>,
        context: ToolContext,
    ) -> Result<CallToolResult> {
        let mut params = CallToolRequestParams::new(name.to_owned());
        params.arguments = arguments;
        let mut request = CallToolRequest::new(params);
        let mut meta = RequestMetaObject::new();
        meta.0.0.insert(IDEMPOTENCY_KEY.to_owned(), context.idempotency_key.as_str().into());
        let options = PeerRequestOptions::no_options().with_meta(meta);
        let alive = Arc::new(Notify::new());
        request.extensions.insert(ProgressWatch { context, alive: Arc::clone(&alive) });
        let request = ClientRequest::CallToolRequest(request);
        let sent = self.peer().send_request_with_option(request, options).await;
        let mut call = match sent {
            Ok(call) => call,
            Err(error) => return Err(self.failure(error).await),
        };
        let mut guard = CancelOnDrop { id: Some(call.id.clone()), canceller: &self.abandoned };

        // rmcp has time limits too, but after one it waits without limit for its cancel notification to be
        // sent.
        let mut silence = pin!(sleep(settings.call_timeout));
        let mut longest = pin!(sleep(settings.longest_call));
        let answer = loop {
            tokio::select! {
                biased;
                answer = &mut call.rx => break answer.unwrap_or(Err(ServiceError::TransportClosed)),
                () = &mut longest => return Err(given_up("the call did not finish within", settings.longest_call)),
                () = alive.notified() => silence.as_mut().reset(Instant::now() + settings.call_timeout),
                () = &mut silence => return Err(given_up("no response or progress within", settings.call_timeout)),
            }
        };
        guard.id = None;
        match answer {
            Ok(ServerResult::CallToolResult(result)) => Ok(result),
            Ok(ServerResult::InputRequiredResult(_)) => {
                Err(Error::new(ErrorKind::Protocol, "unsupported request for more input"))
            }
            Ok(_) => Err(Error::new(ErrorKind::Protocol, "its response is not a tool result")),
            Err(error) => Err(self.failure(error).await),
        }
    }

    /// Classifies a failed request.
    pub(super) async fn failure(&self, error: ServiceError) -> Error {
        if self.is_over() {
            self.end.settled().await;
        }
        match error {
            ServiceError::McpError(error) => {
                Error::new(ErrorKind::Refused, format!("it rejected the request: {}", error.message))
            }
            ServiceError::UnexpectedResponse => {
                Error::new(ErrorKind::Protocol, "its response does not match the request")
            }
            ServiceError::TransportClosed | ServiceError::Cancelled { .. } => self.end.error(),
            ServiceError::TransportSend(error) => match &self.end {
                ConnectionEnd::Process(ending) => ending.error(),
                ConnectionEnd::Http(_) => unreachable_by("the request failed", error),
            },
            // rmcp's message contains type names and whole messages.
            _ => Error::new(ErrorKind::Protocol, "the request failed: invalid response"),
        }
    }

    /// Closes the connection: sends pending cancel notifications, closes the transport and ends the process.
    pub(super) async fn shut(self) {
        let Self { mut service, abandoned, mut canceller, .. } = self;
        drop(abandoned);
        if timeout(LAST_CANCELS, &mut canceller).await.is_err() {
            canceller.abort();
        }
        let _ = service.close_with_timeout(LONGEST_CLOSE).await;
    }
}

fn given_up(what: &str, limit: Duration) -> Error {
    Error::new(ErrorKind::Timeout, format!("{what} {limit:?}: the call was cancelled"))
}

type Service = RunningService<RoleClient, ClientConfig>;
type InitializeResult = Result<Result<Service, ClientInitializeError>, Elapsed>;

/// Starts or reaches the server and initializes the connection.
async fn initialize(
    settings: &McpSettings,
    changed: &watch::Sender<u64>,
    lifecycle: ClientLifecycleMode,
) -> Result<(InitializeResult, ConnectionEnd)> {
    let limit = settings.connect_timeout;
    match &settings.endpoint {
        Endpoint::Stdio(program) => {
            let (transport, ending) = StdioTransport::start(program)?;
            let tap = NotificationTap::new(transport, changed.clone());
            let initialized = serve_client_with_lifecycle(client_config(), tap, lifecycle);
            Ok((timeout(limit, initialized).await, ConnectionEnd::Process(ending)))
        }
        Endpoint::Http(address) => {
            let refusal = Refusal::default();
            let tap = NotificationTap::new(address.transport()?, changed.clone())
                .ending_on_refusal(refusal.clone());
            let initialized = serve_client_with_lifecycle(client_config(), tap, lifecycle);
            Ok((timeout(limit, initialized).await, ConnectionEnd::Http(refusal)))
        }
    }
}

/// Our client info. No capabilities are offered: the server cannot request model calls, files or user input.
fn client_config() -> ClientConfig {
    ClientConfig::new(
        ClientCapabilities::default(),
        Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")),
    )
    .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
}

fn refused(error: ClientInitializeError, end: &ConnectionEnd) -> Error {
    match (error, end) {
        (
            ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::TransportError { .. },
            ConnectionEnd::Process(ending),
        ) => ending.error().of("before it answered the initialize request"),
        (error, ConnectionEnd::Http(_)) if error.is_authorization_required() => {
            Error::new(ErrorKind::Refused, "it requires authentication: set a bearer token or a header")
        }
        (ClientInitializeError::TransportError { error, .. }, ConnectionEnd::Http(_)) => {
            unreachable_by("it cannot be reached", error)
        }
        (ClientInitializeError::ConnectionClosed(_), ConnectionEnd::Http(_)) => {
            Error::new(ErrorKind::Ended, "it closed the connection before it answered the initialize request")
        }
        (ClientInitializeError::JsonRpcError(error), _) => {
            Error::new(ErrorKind::Refused, format!("it rejected the initialize request: {}", error.message))
        }
        _ => Error::new(ErrorKind::Protocol, "its response to the initialize request is invalid"),
    }
}

/// The error of a transport without the name of its Rust type.
fn unreachable_by(what: &str, error: DynamicTransportError) -> Error {
    Error::new(ErrorKind::Unreachable, format!("{what}: {}", crate::error_chain::with_causes(&*error.error)))
}

/// Cancels a call at the server when it is dropped.
struct CancelOnDrop<'a> {
    id: Option<RequestId>,
    canceller: &'a mpsc::Sender<RequestId>,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id.take() {
            // A full queue means that the server does not read, so a notification would not arrive either.
            let _ = self.canceller.try_send(id);
        }
    }
}

async fn send_cancellations(peer: Peer<RoleClient>, mut ids: mpsc::Receiver<RequestId>) {
    while let Some(id) = ids.recv().await {
        let reason = Some("the client no longer waits for the result".to_owned());
        if peer.notify_cancelled(CancelledNotificationParam::new(Some(id), reason)).await.is_err() {
            break;
        }
    }
}
