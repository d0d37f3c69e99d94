//! What a turn costs in a long session, and an answer after many records.

use crate::{
    Size,
    child::Server,
    conversation::{Conversation, PAGES},
    load::{Connection, Request, Response, in_turns, says},
    memory::run_id,
    model::{Order, Pace},
    report::{Report, number, table},
    throughput::record,
};

/// How many turns are measured at each place.
const WINDOW: usize = 40;

/// How often an answer is measured: the best counts.
const TIMES: usize = 7;

pub(crate) async fn turns(size: Size, asked: &dyn Fn(&str) -> bool, report: &mut Report) {
    let last = size.turns;
    println!("\n## The turns of one session over HTTP, memory store: µs on a core per turn\n");
    let order = Order::new(6, Pace::Ready);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("recorded");
    record(headwater_dialects::find("ai-sdk").unwrap(), order.deltas, &file).await;
    let bare = Server::start(&["axum", file.to_str().unwrap()]);
    let mut rows = Vec::new();
    for (dialect, sends) in PAGES.into_iter().filter(|(dialect, _)| asked(dialect)) {
        let server = Server::start(&["headwater", "memory"]);
        let mut connection = Connection::open(server.address).await;
        let firsts = |pass: &str, count: usize| -> Vec<Request> {
            let chats = (0..count).map(|chat| format!("{pass}-{chat}"));
            chats.map(|session| Conversation::new(dialect, sends, &session).request(&order)).collect()
        };
        in_turns(server.address, firsts("warm", WINDOW * 4), 1).await;
        let mut costs = vec![per_request(&server, &mut connection, &firsts("first", WINDOW)).await];
        let mut page = Conversation::new(dialect, sends, "long");
        let mut at = 0;
        for place in [100.min(last / 2), last] {
            continue_with(&mut page, &mut connection, place - WINDOW - at, &order).await;
            let before = server.cpu();
            continue_with(&mut page, &mut connection, WINDOW, &order).await;
            costs.push((server.cpu() - before) * 1e6 / WINDOW as f64);
            at = place;
        }
        assert_turns(&mut connection, last).await;
        let request = page.request(&order).at("/transcript");
        let read = vec![request.clone(); WINDOW];
        in_turns(bare.address, read.clone(), 1).await;
        let mut reader = Connection::open(bare.address).await;
        let read = per_request(&bare, &mut reader, &read).await;
        report.figure("turn 2,000 ÷ turn 0", &format!("{dialect}, {}", sends.name()), costs[2] / costs[0]);
        rows.push([
            dialect.to_owned(),
            sends.name().to_owned(),
            number(costs[0]),
            number(costs[1]),
            number(costs[2]),
            number(costs[2] / costs[0]),
            number(request.bytes() as f64),
            number(read),
        ]);
    }
    let last = format!("turn {last}");
    table(
        &[
            "dialect",
            "the page sends",
            "turn 0",
            "turn 100",
            &last,
            "last ÷ first",
            "bytes of the last request",
            "bare axum with that request",
        ],
        rows,
    );
}

/// Sends so many further messages of a page, each when the last one was answered.
async fn continue_with(page: &mut Conversation, connection: &mut Connection, turns: usize, order: &Order) {
    for _ in 0..turns {
        let answer = connection.ask(&page.request(order)).await;
        page.answered(&answer, order);
    }
}

/// Checks that all messages went into one conversation: one that begins again has few turns, and costs less.
async fn assert_turns(connection: &mut Connection, turns: usize) {
    let mut known = None;
    // The last turn is put away after its stream has ended.
    for _ in 0..100 {
        let session = connection.ask(&Request::get("/v1/sessions/long", None)).await;
        let rest = session.split_once(r#""turns":"#).map(|(_, rest)| rest.to_owned());
        known = rest.and_then(|rest| rest.split([',', '}']).next()?.trim().parse::<usize>().ok());
        if known == Some(turns) {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("the session has {known:?} turns, not {turns}");
}

/// The microseconds on a core for each of the requests, one after the other on a connection.
async fn per_request(server: &Server, connection: &mut Connection, requests: &[Request]) -> f64 {
    let before = server.cpu();
    for request in requests {
        connection.ask(request).await;
    }
    (server.cpu() - before) * 1e6 / requests.len() as f64
}

pub(crate) async fn answers(size: Size, report: &mut Report) {
    println!("\n## An answer to a run that has recorded some steps before its question: ms on a core\n");
    let folder = tempfile::tempdir().unwrap();
    let mut rows = Vec::new();
    for store in ["memory", "commit"] {
        let place = folder.path().join(store);
        let server = match store {
            "memory" => Server::start(&["headwater", "memory"]),
            _ => Server::start(&["headwater", store, place.to_str().unwrap()]),
        };
        let mut costs = Vec::new();
        for steps in [10, size.records] {
            let order = Order { steps, question: true, ..Order::new(6, Pace::Ready) };
            let mut best = f64::MAX;
            for time in 0..TIMES {
                let session = format!("{steps}-{time}");
                let asked =
                    Response::ask(server.address, &says("ai-sdk", &session, &order)).await.rest().await;
                let run = run_id(&asked);
                // The driver lets go of the run after the stream has ended.
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                best = best.min(answer(&server, &run).await);
            }
            costs.push(best);
        }
        report.figure("answer after 10,000 ÷ 10 records", store, costs[1] / costs[0]);
        let shown = if store == "commit" { "embedded" } else { store };
        rows.push([shown.to_owned(), number(costs[0]), number(costs[1]), number(costs[1] / costs[0])]);
    }
    let most = format!("after {} records", number(size.records as f64));
    table(&["store", "after 10 records", &most, "ratio"], rows);
}

/// Answers the question of a run, reads what comes after it to the end, and gives the milliseconds on a core.
async fn answer(server: &Server, run: &str) -> f64 {
    let before = server.cpu();
    let request = Request::post(&format!("/v1/runs/{run}/answer"), r#"{"answer":"yes"}"#);
    let answered = Response::ask(server.address, &request).await.rest().await;
    assert!(answered.starts_with("HTTP/1.1 202"), "{answered}");
    let request = Request::get(&format!("/v1/runs/{run}/events?dialect=ai-sdk&after=now"), None);
    let ended = Response::ask(server.address, &request).await.rest().await;
    assert!(ended.contains(r#""finish""#), "the run did not end: {ended}");
    (server.cpu() - before) * 1e3
}
