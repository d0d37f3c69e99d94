//! Agents in an application that exists: its routes, its pages and its login stay as they are.

use axum::{Router, http::request::Parts, routing::get};
use headwater::{
    prelude::*,
    server::{Agents, AuthFuture, Authenticator, Options, Principal, Server, unauthorized},
};
use serde_json::json;

/// The login of the application: here a cookie with the user's name, elsewhere a look into its sessions.
#[derive(Debug)]
struct CookieLogin;

impl Authenticator for CookieLogin {
    fn authenticate<'a>(&'a self, request: &'a Parts) -> AuthFuture<'a> {
        let cookies = request.headers.get("cookie").and_then(|value| value.to_str().ok()).unwrap_or_default();
        let user = cookies.split("; ").find_map(|cookie| cookie.strip_prefix("user=")).map(str::to_owned);
        Box::pin(async move { user.map(Principal::new).ok_or_else(|| unauthorized("log in first")) })
    }
}

async fn answer(cx: Cx, input: String) -> NodeResult {
    // What the server approved of the request, not what the page says.
    let user: serde_json::Value = cx.runtime_context()?;
    let input = format!("{} asks: {input}", user["name"].as_str().unwrap_or("Somebody"));
    cx.reason("assistant").input(input).await?;
    Ok(Next::go())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let workflow =
        Workflow::new("chat").node("answer", answer).edge(START, "answer").edge("answer", END).build()?;
    let agent = Agent::builder()
        .workflow(workflow)
        .model(
            "assistant",
            ScriptedModel::new(Script::new("chat").rule(Rule::always().text("You said: {input}"))),
        )
        .store(Embedded::open("data")?)
        .build()?;
    let options = Options::default()
        .authenticator(CookieLogin)
        // The page keeps its URL.
        .path("ai-sdk", "/api/chat")
        .context(|principal, _request, _client| async move { Ok(json!({ "name": principal.id() })) });
    let agents = Server::new(Agents::new().add("chat", agent), options);

    let app = Router::new()
        .route("/", get(|| async { "The page of the application" }))
        .merge(agents.router())
        .fallback(|| async { "The application's own 404" });
    let address = std::env::var("LISTEN").unwrap_or_else(|_| "127.0.0.1:8787".to_owned());
    let listener = tokio::net::TcpListener::bind(address).await?;
    println!("http://{}", listener.local_addr()?);
    axum::serve(listener, app).await?;
    Ok(())
}
