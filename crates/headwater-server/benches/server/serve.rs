//! The servers that are measured: Headwater on one of its stores, and bare axum with the same bytes.

use std::{convert::Infallible, sync::Arc};

use axum::{
    Json, Router,
    response::sse::{Event, Sse},
    routing::post,
    serve::ListenerExt as _,
};
use headwater_models::Model;
use headwater_runtime::{Agent, Cx, END, Next, NodeResult, START, StructuredOutput, Text, Workflow};
use headwater_server::{Agents, Options, Server};
use headwater_store::{
    Memory, MemoryOptions, Store,
    embedded::{self, Embedded, Fsync},
};
use tokio::sync::watch;

use crate::model::{DIGITS, MARK, Order, Ordered, Pace, now};

/// The argument that makes this program a server.
pub(crate) const FLAG: &str = "--serve";

/// Serves until the input ends: `headwater memory`, `headwater embedded FOLDER` without fsync, `headwater commit FOLDER` with
/// an fsync for each commit, or `axum FILE`.
pub(crate) async fn serve(arguments: &[String]) {
    crate::load::raise_open_files();
    // As `headwater` does.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let routes = match arguments[..] {
        ["headwater", "memory"] => headwater(Arc::new(Memory::with(MemoryOptions {
            max_bytes: 8 << 30,
            ..MemoryOptions::default()
        }))),
        ["headwater", store @ ("embedded" | "commit"), folder] => {
            let mut options = embedded::Options::default();
            options.fsync = if store == "commit" { Fsync::Commit } else { Fsync::Never };
            headwater(Arc::new(Embedded::open_folder(folder, options).unwrap()))
        }
        ["axum", file] => bare(&std::fs::read_to_string(file).unwrap()),
        _ => panic!("no such server: {arguments:?}"),
    };
    let listener = tokio::net::TcpSocket::new_v4().unwrap();
    listener.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let listener = listener.listen(16_384).unwrap();
    println!("{}", listener.local_addr().unwrap());
    if arguments[0] == "headwater" {
        return headwater_server::serve(listener, routes, std::future::pending()).await;
    }
    let listener = listener.tap_io(|stream| stream.set_nodelay(true).unwrap());
    axum::serve(listener, routes.into_make_service()).await.unwrap();
}

async fn speak(cx: Cx, input: String) -> NodeResult {
    let order: Order = serde_json::from_str(&input).unwrap();
    for number in 0..order.steps {
        cx.step("step", || async move { Ok(number) }).await?;
    }
    let reason = cx.reason("m").input(input);
    if order.object {
        reason.structured(StructuredOutput::new("report").append("rows")).await?;
    } else {
        reason.await?;
    }
    Ok(Next::go())
}

async fn ask(cx: Cx, _: ()) -> NodeResult {
    let order: Order = serde_json::from_str(cx.input()).unwrap();
    if order.question {
        cx.interrupt(Text::new("Continue?")).await?;
    }
    Ok(Next::go())
}

/// An agent that says what it is asked to, and what gives the sign that it may wait for.
pub(crate) fn agent(store: Arc<dyn Store>) -> (Agent, watch::Sender<u64>) {
    let (sign, go) = watch::channel(0);
    let workflow = Workflow::new("bench")
        .node("speak", speak)
        .node("ask", ask)
        .edge(START, "speak")
        .edge("speak", "ask")
        .edge("ask", END);
    let model: Arc<dyn Model> = Arc::new(Ordered { go });
    let agent = Agent::builder().workflow(workflow.build().unwrap()).model("m", model).store(store).build();
    (agent.unwrap(), sign)
}

/// A server of that agent, and a route for the sign.
fn headwater(store: Arc<dyn Store>) -> Router {
    let (agent, sign) = agent(store);
    let mut options = Options::default();
    options.limits.runs = usize::MAX;
    options.limits.active_runs = usize::MAX;
    options.limits.streams = usize::MAX;
    // Pages that send all that they show, after 2,000 turns.
    options.limits.messages = usize::MAX;
    options.limits.values = usize::MAX;
    options.limits.body = 64 << 20;
    options.limits.bodies_total = 1 << 30;
    let server = Server::new(Agents::new().add("bench", agent), options);
    let go = post(move || async move { sign.send_modify(|count| *count += 1) });
    server.router().route("/go", go)
}

/// What one frame of a recorded stream says.
#[derive(Debug, Clone, Default)]
struct Frame {
    event: Option<String>,
    id: Option<String>,
    data: String,
}

/// Sends a recorded stream, with new stamps in it.
fn bare(recorded: &str) -> Router {
    let frames: Arc<[Frame]> =
        recorded.split("\n\n").map(frame).filter(|frame| !frame.data.is_empty()).collect();
    let transcript = frames.clone();
    let send = move |Json(order): Json<Order>| async move { sse(frames, order.pace) };
    // What it takes to read a page's transcript, and no more.
    let read = move |Json(transcript_of_page): Json<serde_json::Value>| async move {
        std::hint::black_box(transcript_of_page);
        sse(transcript, Pace::Ready)
    };
    Router::new()
        .route("/", post(send))
        .route("/transcript", post(read))
        .layer(axum::extract::DefaultBodyLimit::max(2 << 20))
}

/// The frames, with new stamps in them.
fn sse(frames: Arc<[Frame]>, pace: Pace) -> Sse<impl futures_util::Stream<Item = Result<Event, Infallible>>> {
    let phase = now() / 977;
    Sse::new(futures_util::stream::unfold(0, move |number| {
        let frames = frames.clone();
        async move {
            let frame = frames.get(number)?;
            pace.next(number, phase).await;
            let mut data = frame.data.clone();
            if let Some(end) = data.bytes().position(|byte| byte == MARK) {
                data.replace_range(end - DIGITS..end, &format!("{:016x}", now()));
            }
            let mut event = Event::default().data(data);
            if let Some(id) = &frame.id {
                event = event.id(id);
            }
            if let Some(name) = &frame.event {
                event = event.event(name);
            }
            Some((Ok::<_, Infallible>(event), number + 1))
        }
    }))
}

fn frame(block: &str) -> Frame {
    let mut frame = Frame::default();
    for line in block.lines() {
        match line.split_once(": ") {
            Some(("data", data)) => frame.data = data.to_owned(),
            Some(("id", id)) => frame.id = Some(id.to_owned()),
            Some(("event", event)) => frame.event = Some(event.to_owned()),
            _ => {}
        }
    }
    frame
}
