//! The routes of subscriptions. Errors have the form `{"error": {"code", "message"}}`, which their clients expect.

use axum::{
    Extension, Json,
    body::Bytes,
    extract::{Path, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use headwater_store::Expect;
use serde::Deserialize;
use serde_json::json;

use super::{
    glob,
    keys::SigningKey,
    model::{LINKS, MOST, StreamLink, Subscription, SubscriptionKind, SubscriptionSettings},
    steps::is_local,
    token::{self, TokenFault, WakeToken},
    webhook::check_url,
};
use crate::{
    DurableStreams, StreamError, StreamOwner,
    caller::{base_url, owner_of},
    clock,
    streams::{StreamEngine, parse_offset},
};

type Owner = Option<Extension<StreamOwner>>;

/// An error as these clients expect it.
pub(crate) enum SubscriptionRefusal {
    Coded(StatusCode, &'static str, String),
    Claimed { holder: String, generation: u64 },
    Failed(StreamError),
}

impl From<StreamError> for SubscriptionRefusal {
    fn from(error: StreamError) -> Self {
        Self::Failed(error)
    }
}

impl IntoResponse for SubscriptionRefusal {
    fn into_response(self) -> Response {
        match self {
            Self::Coded(status, code, message) => {
                (status, Json(json!({ "error": { "code": code, "message": message } }))).into_response()
            }
            Self::Claimed { holder, generation } => {
                let error =
                    json!({ "code": "ALREADY_CLAIMED", "current_holder": holder, "generation": generation });
                (StatusCode::CONFLICT, Json(json!({ "error": error }))).into_response()
            }
            Self::Failed(error) => error.into_response(),
        }
    }
}

fn invalid(message: impl Into<String>) -> SubscriptionRefusal {
    SubscriptionRefusal::Coded(StatusCode::BAD_REQUEST, "INVALID_REQUEST", message.into())
}

fn unknown() -> SubscriptionRefusal {
    let message = "there is no such subscription: create it with PUT".to_owned();
    SubscriptionRefusal::Coded(StatusCode::NOT_FOUND, "SUBSCRIPTION_NOT_FOUND", message)
}

fn fenced() -> SubscriptionRefusal {
    let message = "the wake is over: another one has begun, or its lease has run out".to_owned();
    SubscriptionRefusal::Coded(StatusCode::CONFLICT, "FENCED", message)
}

fn parse<T: serde::de::DeserializeOwned>(body: &Bytes) -> Result<T, SubscriptionRefusal> {
    let body: &[u8] = if body.is_empty() { b"{}" } else { body };
    serde_json::from_slice(body).map_err(|error| invalid(format!("invalid body: {error}")))
}

/// A path without the slashes around it.
fn relative(path: &str) -> String {
    path.trim_matches('/').to_owned()
}

/// `PUT …/subscriptions/{id}`.
pub(crate) async fn create(
    State(streams): State<DurableStreams>,
    owner: Owner,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, SubscriptionRefusal> {
    streams.ensure_background();
    let engine = &streams.0;
    let owner = owner_of(owner);
    let base_url = base_url(&headers);
    let settings = checked(engine, parse(&body)?, is_local(&base_url))?;
    if let Some((existing, _)) = engine.subscription(&owner, &id).await? {
        return confirm(engine, existing, &settings).await;
    }
    let prefix = headwater_store::key::join(super::KIND, &[&owner]);
    if engine.store.list(&prefix, None, MOST).await.map_err(StreamError::from)?.len() >= MOST {
        return Err(invalid(format!("you have {MOST} subscriptions, which is the limit: delete some")));
    }
    let mut subscription = Subscription {
        id: id.clone(),
        owner: owner.clone(),
        settings,
        base_url,
        created: clock::now(),
        links: Default::default(),
        generation: 0,
        wake: None,
    };
    link_existing(engine, &mut subscription).await?;
    if !engine.swap(&subscription, Expect::Absent).await? {
        let existing = engine.subscription(&owner, &id).await?.ok_or_else(unknown)?;
        return confirm(engine, existing.0, &subscription.settings).await;
    }
    document(engine, StatusCode::CREATED, &subscription).await
}

/// The settings of a request, checked.
fn checked(
    engine: &StreamEngine,
    sent: SubscriptionSettings,
    local: bool,
) -> Result<SubscriptionSettings, SubscriptionRefusal> {
    let mut settings = sent;
    settings.pattern = settings.pattern.as_deref().map(relative).filter(|pattern| !pattern.is_empty());
    settings.wake_stream = settings.wake_stream.as_deref().map(relative).filter(|path| !path.is_empty());
    settings.streams = settings.streams.iter().map(|path| relative(path)).collect();
    settings.streams.sort();
    settings.streams.dedup();
    if settings.pattern.is_none() && settings.streams.is_empty() {
        return Err(invalid("send a `pattern`, or `streams`"));
    }
    if settings.streams.len() > LINKS
        || settings.pattern.as_ref().is_some_and(|pattern| pattern.len() > 1_024)
    {
        return Err(invalid(format!(
            "a subscription has at most {LINKS} streams, and a pattern at most 1024 bytes"
        )));
    }
    if !(1_000..=600_000).contains(&settings.lease_ttl_ms) {
        return Err(invalid("`lease_ttl_ms` is from 1000 to 600000"));
    }
    match settings.kind {
        SubscriptionKind::PullWake if settings.wake_stream.is_none() => {
            Err(invalid("a `pull-wake` subscription needs a `wake_stream`"))
        }
        SubscriptionKind::Webhook => {
            if engine.subscriptions.webhooks.is_none() {
                return Err(invalid("this server calls no webhooks: its operator can allow them"));
            }
            let Some(webhook) = &settings.webhook else {
                return Err(invalid("a `webhook` subscription needs `webhook.url`"));
            };
            let rejected =
                |why| SubscriptionRefusal::Coded(StatusCode::BAD_REQUEST, "WEBHOOK_URL_REJECTED", why);
            check_url(&webhook.url, local).map_err(rejected)?;
            Ok(settings)
        }
        SubscriptionKind::PullWake => Ok(settings),
    }
}

async fn confirm(
    engine: &StreamEngine,
    existing: Subscription,
    asked: &SubscriptionSettings,
) -> Result<Response, SubscriptionRefusal> {
    if existing.settings != *asked {
        let message =
            "there is a subscription with other settings: delete it, or choose another id".to_owned();
        return Err(SubscriptionRefusal::Coded(StatusCode::CONFLICT, "SUBSCRIPTION_ALREADY_EXISTS", message));
    }
    document(engine, StatusCode::OK, &existing).await
}

/// Links the streams that exist, as acknowledged up to their ends.
async fn link_existing(engine: &StreamEngine, subscription: &mut Subscription) -> Result<(), StreamError> {
    let owner = subscription.owner.clone();
    for path in subscription.settings.streams.clone() {
        let acknowledged = Some(engine.tail_of(&owner, &path).await?);
        subscription.links.insert(path, StreamLink { explicit: true, matched: false, acknowledged });
    }
    let Some(pattern) = subscription.settings.pattern.clone() else { return Ok(()) };
    for path in engine.paths(&owner).await? {
        if glob::matches(&pattern, &path) && subscription.links.len() < LINKS {
            let acknowledged = Some(engine.tail_of(&owner, &path).await?);
            let link = StreamLink { explicit: false, matched: true, acknowledged };
            subscription.links.entry(path).or_insert(link).matched = true;
        }
    }
    Ok(())
}

async fn document(
    engine: &StreamEngine,
    status: StatusCode,
    subscription: &Subscription,
) -> Result<Response, SubscriptionRefusal> {
    let tails = engine.tails(subscription).await?;
    let key = SigningKey::of(engine.store.as_ref()).await?;
    Ok((status, Json(subscription.document(&tails, &key.id))).into_response())
}

/// `GET …/subscriptions/{id}`.
pub(crate) async fn inspect(
    State(streams): State<DurableStreams>,
    owner: Owner,
    Path(id): Path<String>,
) -> Result<Response, SubscriptionRefusal> {
    let (subscription, _) = streams.0.subscription(&owner_of(owner), &id).await?.ok_or_else(unknown)?;
    document(&streams.0, StatusCode::OK, &subscription).await
}

/// `DELETE …/subscriptions/{id}`.
pub(crate) async fn delete(
    State(streams): State<DurableStreams>,
    owner: Owner,
    Path(id): Path<String>,
) -> Result<StatusCode, SubscriptionRefusal> {
    let key = StreamEngine::subscription_key(&owner_of(owner), &id);
    streams.0.store.remove(&key, Expect::Any).await.map_err(StreamError::from)?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Deserialize)]
struct AddedStreams {
    streams: Vec<String>,
}

/// `POST …/subscriptions/{id}/streams`.
pub(crate) async fn add_streams(
    State(streams): State<DurableStreams>,
    owner: Owner,
    Path(id): Path<String>,
    body: Bytes,
) -> Result<StatusCode, SubscriptionRefusal> {
    let (engine, owner) = (&streams.0, owner_of(owner));
    let AddedStreams { streams: added } = parse(&body)?;
    let added: Vec<String> = added.iter().map(|path| relative(path)).collect();
    if added.is_empty() || added.len() > LINKS || added.iter().any(String::is_empty) {
        return Err(invalid("`streams` is a list of paths, and not empty"));
    }
    let mut tails = Vec::new();
    for path in added {
        tails.push((engine.tail_of(&owner, &path).await?, path));
    }
    let changed = engine.change(&owner, &id, |subscription| {
        for (tail, path) in &tails {
            let new = StreamLink { acknowledged: Some(*tail), ..StreamLink::default() };
            subscription.links.entry(path.clone()).or_insert(new).explicit = true;
        }
        let full = subscription.links.len() > LINKS;
        let message = format!("a subscription has at most {LINKS} streams");
        if full { Err(StreamError::bad("streams.too-many", message)) } else { Ok(()) }
    });
    changed.await?.ok_or_else(unknown)?;
    Ok(StatusCode::NO_CONTENT)
}

/// `DELETE …/subscriptions/{id}/streams/{stream}`.
pub(crate) async fn remove_stream(
    State(streams): State<DurableStreams>,
    owner: Owner,
    Path((id, stream)): Path<(String, String)>,
) -> Result<StatusCode, SubscriptionRefusal> {
    let (owner, path) = (owner_of(owner), relative(&stream));
    let changed = streams.0.change(&owner, &id, |subscription| {
        if let Some(link) = subscription.links.get_mut(&path) {
            link.explicit = false;
            if !link.matched {
                subscription.links.remove(&path);
            }
        }
        Ok(())
    });
    changed.await?.ok_or_else(unknown)?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Deserialize)]
struct ClaimRequest {
    worker: String,
}

/// `POST …/subscriptions/{id}/claim`.
pub(crate) async fn claim(
    State(streams): State<DurableStreams>,
    owner: Owner,
    Path(id): Path<String>,
    body: Bytes,
) -> Result<Response, SubscriptionRefusal> {
    let (engine, owner) = (&streams.0, owner_of(owner));
    let ClaimRequest { worker } = parse(&body)?;
    if worker.is_empty() || worker.len() > 256 {
        return Err(invalid("`worker` is a name of 1 to 256 bytes"));
    }
    loop {
        let (mut subscription, version) = engine.subscription(&owner, &id).await?.ok_or_else(unknown)?;
        if subscription.settings.kind != SubscriptionKind::PullWake {
            return Err(invalid("only `pull-wake` subscriptions are claimed"));
        }
        if let Some(holder) = subscription.wake.as_ref().and_then(|wake| wake.holder.clone()) {
            return Err(SubscriptionRefusal::Claimed { holder, generation: subscription.generation });
        }
        if !engine.ensure_wake(&mut subscription).await? {
            let message = "there is nothing to do: wait for the wake stream".to_owned();
            return Err(SubscriptionRefusal::Coded(StatusCode::CONFLICT, "NO_PENDING_WORK", message));
        }
        let lease = subscription.settings.lease_ttl_ms;
        let Some(wake) = subscription.wake.as_mut() else { return Err(fenced()) };
        wake.holder = Some(worker.clone());
        wake.lease_until = Some(clock::now() + lease);
        let wake_id = wake.id.clone();
        if engine.swap(&subscription, Expect::Version(version)).await? {
            let generation = subscription.generation;
            let tails = engine.tails(&subscription).await?;
            return Ok(Json(json!({
                "wake_id": wake_id,
                "generation": generation,
                "token": token::issue(engine.store.as_ref(), &owner, &id, generation).await?,
                "streams": subscription.streams(&tails),
                "lease_ttl_ms": lease,
            }))
            .into_response());
        }
    }
}

#[derive(Deserialize)]
struct Acknowledgement {
    wake_id: Option<String>,
    generation: Option<u64>,
    #[serde(default)]
    acks: Vec<AcknowledgedStream>,
    #[serde(default)]
    done: bool,
}

#[derive(Deserialize)]
struct AcknowledgedStream {
    stream: Option<String>,
    path: Option<String>,
    offset: String,
}

/// The token of a request about this subscription.
async fn token_of(
    engine: &StreamEngine,
    id: &str,
    headers: &HeaderMap,
) -> Result<WakeToken, SubscriptionRefusal> {
    let refused =
        |code, message: &str| SubscriptionRefusal::Coded(StatusCode::UNAUTHORIZED, code, message.to_owned());
    let sent = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let text = sent.and_then(|value| value.strip_prefix("Bearer "));
    let text = text.ok_or_else(|| refused("TOKEN_INVALID", "send the token as `Authorization: Bearer`"))?;
    match token::open(engine.store.as_ref(), text).await? {
        Ok(token) if token.subscription == id => Ok(token),
        Ok(_) | Err(TokenFault::Invalid) => {
            Err(refused("TOKEN_INVALID", "this token is not of this subscription"))
        }
        Err(TokenFault::Expired) => Err(refused("TOKEN_EXPIRED", "the token has expired: claim again")),
    }
}

/// `POST …/subscriptions/{id}/callback`.
pub(crate) async fn callback(
    State(streams): State<DurableStreams>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, SubscriptionRefusal> {
    acknowledge(&streams, &id, &headers, &body, SubscriptionKind::Webhook).await
}

/// `POST …/subscriptions/{id}/ack`.
pub(crate) async fn ack(
    State(streams): State<DurableStreams>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, SubscriptionRefusal> {
    acknowledge(&streams, &id, &headers, &body, SubscriptionKind::PullWake).await
}

async fn acknowledge(
    streams: &DurableStreams,
    id: &str,
    headers: &HeaderMap,
    body: &Bytes,
    kind: SubscriptionKind,
) -> Result<Response, SubscriptionRefusal> {
    let engine = &streams.0;
    let token = token_of(engine, id, headers).await?;
    let request: Acknowledgement = parse(body)?;
    loop {
        let (mut subscription, version) = engine.subscription(&token.owner, id).await?.ok_or_else(unknown)?;
        if subscription.settings.kind != kind {
            return Err(invalid("this action is for the other kind of subscription"));
        }
        check_wake(&subscription, &token, &request)?;
        apply_acks(engine, &mut subscription, &request).await?;
        let lease = subscription.settings.lease_ttl_ms;
        if request.done {
            subscription.wake = None;
        } else if let Some(wake) = subscription.wake.as_mut() {
            wake.lease_until = Some(clock::now() + lease);
        }
        if engine.swap(&subscription, Expect::Version(version)).await? {
            let next_wake = request.done && engine.wake(&token.owner, id, None).await?;
            return Ok(Json(json!({ "ok": true, "next_wake": next_wake })).into_response());
        }
    }
}

fn check_wake(
    subscription: &Subscription,
    token: &WakeToken,
    request: &Acknowledgement,
) -> Result<(), SubscriptionRefusal> {
    let current = subscription.wake.as_ref().map(|wake| &wake.id);
    let same =
        token.generation == subscription.generation && request.generation == Some(subscription.generation);
    if same && current.is_some() && current == request.wake_id.as_ref() { Ok(()) } else { Err(fenced()) }
}

async fn apply_acks(
    engine: &StreamEngine,
    subscription: &mut Subscription,
    request: &Acknowledgement,
) -> Result<(), SubscriptionRefusal> {
    let refused = |message: &str| {
        SubscriptionRefusal::Coded(StatusCode::CONFLICT, "INVALID_OFFSET", message.to_owned())
    };
    for ack in &request.acks {
        let path = relative(ack.stream.as_deref().or(ack.path.as_deref()).unwrap_or_default());
        let tail = engine.tail_of(&subscription.owner, &path).await?;
        let offset = parse_offset(&ack.offset)
            .map_err(|_| refused("the offset does not belong to this stream"))?
            .position;
        let Some(link) = subscription.links.get_mut(&path) else {
            return Err(refused("the stream does not belong to this subscription"));
        };
        if link.acknowledged.is_some_and(|acknowledged| offset < acknowledged) || offset > tail {
            return Err(refused(
                "the offset is before the acknowledged one, or beyond the end of the stream",
            ));
        }
        link.acknowledged = Some(offset);
    }
    Ok(())
}

/// `POST …/subscriptions/{id}/release`.
pub(crate) async fn release(
    State(streams): State<DurableStreams>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<StatusCode, SubscriptionRefusal> {
    let engine = &streams.0;
    let token = token_of(engine, &id, &headers).await?;
    let request: Acknowledgement = parse(&body)?;
    loop {
        let (mut subscription, version) =
            engine.subscription(&token.owner, &id).await?.ok_or_else(unknown)?;
        check_wake(&subscription, &token, &request)?;
        subscription.wake = None;
        if engine.swap(&subscription, Expect::Version(version)).await? {
            engine.wake(&token.owner, &id, None).await?;
            return Ok(StatusCode::NO_CONTENT);
        }
    }
}

/// `GET …/jwks.json`.
pub(crate) async fn keys(State(streams): State<DurableStreams>) -> Result<Response, SubscriptionRefusal> {
    let key = SigningKey::of(streams.0.store.as_ref()).await?;
    let headers =
        [(header::CONTENT_TYPE, "application/jwk-set+json"), (header::CACHE_CONTROL, "public, max-age=300")];
    Ok((headers, key.jwks().to_string()).into_response())
}
