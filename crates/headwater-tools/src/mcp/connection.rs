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
    Endpoint, Settings,
    list::Listing,
    process::Ending,
    stdio::StdioTransport,
    tap::{Progress, Refusal, Tap},
};
use crate::{Error, ErrorKind, Result, ToolContext};

/// How long the server may take to be told of its last abandoned calls, and then to be closed.
const LAST_CANCELS: Duration = Duration::from_secs(1);
const LONGEST_CLOSE: Duration = Duration::from_secs(10);
/// The field of `_meta` that holds the idempotency key of a call.
const IDEMPOTENCY_KEY: &str = "dev.headwater/idempotencyKey";
/// More calls than this are not abandoned at once.
const MOST_ABANDONED: usize = 256;

/// A live connection. Dropped, it ends in the background; [`shut`](Connection::shut) waits for it.
#[derive(Debug)]
pub(super) struct Connection {
    service: Service,
    /// Calls that nobody waits for any more, of which the server is told.
    abandoned: mpsc::Sender<RequestId>,
    teller: JoinHandle<()>,
    end: End,
    /// What it offers, and how often that had changed when it was asked.
    listing: Mutex<Option<(u64, Listing)>>,
}

/// Where one learns how a connection ended.
#[derive(Debug)]
enum End {
    Process(Ending),
    Http(Refusal),
}

impl End {
    /// Waits a little until it is known how a process ended.
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
                    Some(message) => format!("it refused a message and the connection was ended: {message}"),
                    None => "the connection was closed".to_owned(),
                };
                Error::new(ErrorKind::Ended, message)
            }
        }
    }
}

impl Connection {
    /// Starts or reaches the server and greets it.
    pub(super) async fn open(settings: &Settings, changed: &watch::Sender<u64>) -> Result<Self> {
        let (mut greeting, mut end) = greet(settings, changed, ClientLifecycleMode::Initialize).await?;
        // Since the version of July 2026 there is no greeting in the protocol, and a server may know no older one.
        if matches!(greeting, Ok(Err(ClientInitializeError::JsonRpcError(_)))) {
            let preferred_versions = vec![ProtocolVersion::LATEST];
            let again =
                greet(settings, changed, ClientLifecycleMode::Discover { preferred_versions }).await?;
            if let (Ok(Ok(_)), _) = &again {
                (greeting, end) = again;
            }
        }
        let service = match greeting {
            Ok(Ok(service)) => service,
            Ok(Err(error)) => {
                end.settled().await;
                return Err(refused(error, &end));
            }
            Err(_) => {
                let waited = settings.connect_timeout;
                return Err(Error::new(
                    ErrorKind::Timeout,
                    format!("it did not answer the greeting within {waited:?}"),
                ));
            }
        };
        let (abandoned, ids) = mpsc::channel(MOST_ABANDONED);
        let teller = tokio::spawn(tell_abandoned(service.peer().clone(), ids));
        Ok(Self { service, abandoned, teller, end, listing: Mutex::new(None) })
    }

    /// Whether nobody is at the other end any more.
    pub(super) fn is_over(&self) -> bool {
        self.service.is_closed() || self.service.is_transport_closed()
    }

    pub(super) fn peer(&self) -> &Peer<RoleClient> {
        self.service.peer()
    }

    /// What was listed when the list had changed so often. A server of the newest protocol tells of changes only to those who
    /// subscribe, so it is asked each time.
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

    /// Calls a tool. Dropped, the server is told that nobody waits any more.
    pub(super) async fn call(
        &self,
        settings: &Settings,
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
        request.extensions.insert(Progress { context, alive: Arc::clone(&alive) });
        let request = ClientRequest::CallToolRequest(request);
        let sent = self.peer().send_request_with_option(request, options).await;
        let mut call = match sent {
            Ok(call) => call,
            Err(error) => return Err(self.failure(error).await),
        };
        let mut guard = Abandoned { id: Some(call.id.clone()), teller: &self.abandoned };

        // rmcp has time limits of its own, but waits without one until the server has taken the news of them.
        let mut silence = pin!(sleep(settings.call_timeout));
        let mut longest = pin!(sleep(settings.longest_call));
        let answer = loop {
            tokio::select! {
                biased;
                answer = &mut call.rx => break answer.unwrap_or(Err(ServiceError::TransportClosed)),
                () = &mut longest => return Err(given_up("it was not done within", settings.longest_call)),
                () = alive.notified() => silence.as_mut().reset(Instant::now() + settings.call_timeout),
                () = &mut silence => return Err(given_up("it gave no sign of life for", settings.call_timeout)),
            }
        };
        guard.id = None;
        match answer {
            Ok(ServerResult::CallToolResult(result)) => Ok(result),
            Ok(ServerResult::InputRequiredResult(_)) => {
                Err(Error::new(ErrorKind::Protocol, "it asks for more input, which this client cannot give"))
            }
            Ok(_) => Err(Error::new(ErrorKind::Protocol, "its answer is not the result of a tool")),
            Err(error) => Err(self.failure(error).await),
        }
    }

    /// What a failed request means.
    pub(super) async fn failure(&self, error: ServiceError) -> Error {
        if self.is_over() {
            self.end.settled().await;
        }
        match error {
            ServiceError::McpError(error) => {
                Error::new(ErrorKind::Refused, format!("it refuses: {}", error.message))
            }
            ServiceError::UnexpectedResponse => {
                Error::new(ErrorKind::Protocol, "its answer is not one to the request")
            }
            ServiceError::TransportClosed | ServiceError::Cancelled { .. } => self.end.error(),
            ServiceError::TransportSend(error) => match &self.end {
                End::Process(ending) => ending.error(),
                End::Http(_) => unreachable_by("the request failed", error),
            },
            // Its text has names of types, and whole messages.
            _ => Error::new(ErrorKind::Protocol, "the request failed: its answer cannot be read"),
        }
    }

    /// Ends it: tells of abandoned calls, says goodbye, ends the process.
    pub(super) async fn shut(self) {
        let Self { mut service, abandoned, mut teller, .. } = self;
        drop(abandoned);
        if timeout(LAST_CANCELS, &mut teller).await.is_err() {
            teller.abort();
        }
        let _ = service.close_with_timeout(LONGEST_CLOSE).await;
    }
}

fn given_up(what: &str, limit: Duration) -> Error {
    Error::new(ErrorKind::Timeout, format!("{what} {limit:?} and is told to stop"))
}

type Service = RunningService<RoleClient, ClientConfig>;
type Greeting = Result<Result<Service, ClientInitializeError>, Elapsed>;

/// Starts or reaches the server and learns who it is.
async fn greet(
    settings: &Settings,
    changed: &watch::Sender<u64>,
    lifecycle: ClientLifecycleMode,
) -> Result<(Greeting, End)> {
    let limit = settings.connect_timeout;
    match &settings.endpoint {
        Endpoint::Stdio(program) => {
            let (transport, ending) = StdioTransport::start(program)?;
            let tap = Tap::new(transport, changed.clone());
            let greeting = serve_client_with_lifecycle(introduction(), tap, lifecycle);
            Ok((timeout(limit, greeting).await, End::Process(ending)))
        }
        Endpoint::Http(address) => {
            let refusal = Refusal::default();
            let tap = Tap::new(address.transport()?, changed.clone()).ending_on_refusal(refusal.clone());
            let greeting = serve_client_with_lifecycle(introduction(), tap, lifecycle);
            Ok((timeout(limit, greeting).await, End::Http(refusal)))
        }
    }
}

/// Who we are. We offer the server nothing: it cannot ask for a model, for files or for a person.
fn introduction() -> ClientConfig {
    ClientConfig::new(
        ClientCapabilities::default(),
        Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")),
    )
    .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
}

fn refused(error: ClientInitializeError, end: &End) -> Error {
    match (error, end) {
        (
            ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::TransportError { .. },
            End::Process(ending),
        ) => ending.error().of("before it answered the greeting"),
        (error, End::Http(_)) if error.is_authorization_required() => {
            Error::new(ErrorKind::Refused, "it wants to know who asks: set a bearer token or a header")
        }
        (ClientInitializeError::TransportError { error, .. }, End::Http(_)) => {
            unreachable_by("it cannot be reached", error)
        }
        (ClientInitializeError::ConnectionClosed(_), End::Http(_)) => {
            Error::new(ErrorKind::Ended, "it closed the connection before it answered the greeting")
        }
        (ClientInitializeError::JsonRpcError(error), _) => {
            Error::new(ErrorKind::Refused, format!("it refuses the greeting: {}", error.message))
        }
        _ => Error::new(ErrorKind::Protocol, "its answer to the greeting cannot be read"),
    }
}

/// An error of a transport, without the name of its Rust type.
fn unreachable_by(what: &str, error: DynamicTransportError) -> Error {
    Error::new(ErrorKind::Unreachable, format!("{what}: {}", crate::output::with_causes(&*error.error)))
}

/// Sees to it that the server is told of a call that is dropped.
struct Abandoned<'a> {
    id: Option<RequestId>,
    teller: &'a mpsc::Sender<RequestId>,
}

impl Drop for Abandoned<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id.take() {
            // A full channel means that the server reads nothing, so telling it would be in vain.
            let _ = self.teller.try_send(id);
        }
    }
}

async fn tell_abandoned(peer: Peer<RoleClient>, mut ids: mpsc::Receiver<RequestId>) {
    while let Some(id) = ids.recv().await {
        let reason = Some("nobody waits for the answer any more".to_owned());
        if peer.notify_cancelled(CancelledNotificationParam::new(Some(id), reason)).await.is_err() {
            break;
        }
    }
}
