//! What a turn costs in a long session, and an answer after many records.

use crate::{
    Size,
    child::Server,
    load::{Request, Response, in_turns, says, says_again},
    memory::run_id,
    model::{Order, Pace},
    report::{Report, number, table},
};

/// How many turns are measured at each place.
const WINDOW: usize = 40;

/// How often an answer is measured: the best counts.
const TIMES: usize = 7;

pub(crate) async fn turns(size: Size, asked: &dyn Fn(&str) -> bool, report: &mut Report) {
    let last = size.turns;
    println!("\n## The turns of one session over HTTP, memory store: µs on a core per turn\n");
    let order = Order::new(6, Pace::Ready);
    let mut rows = Vec::new();
    for dialect in headwater_dialects::CHAT.iter().filter(|dialect| asked(dialect.name())) {
        let name = dialect.name();
        let server = Server::start(&["headwater", "memory"]);
        let firsts = |pass: &str, count: usize| -> Vec<Request> {
            (0..count).map(|chat| says(name, &format!("{pass}-{chat}"), &order)).collect()
        };
        in_turns(server.address, firsts("warm", WINDOW * 4), 1).await;
        let first = per_request(&server, firsts("first", WINDOW)).await;
        let turn = |number| says_again(name, "long", number, &order);
        let mut at = 0;
        let mut costs = vec![first];
        for place in [100.min(last / 2), last] {
            let begin = place - WINDOW;
            in_turns(server.address, (at..begin).map(turn).collect(), 1).await;
            costs.push(per_request(&server, (begin..place).map(turn).collect()).await);
            at = place;
        }
        report.figure("turn 2,000 ÷ turn 0", name, costs[2] / costs[0]);
        let mut row = vec![name.to_owned()];
        row.extend(costs.iter().map(|cost| number(*cost)));
        row.push(number(costs[2] / costs[0]));
        rows.push(<[String; 5]>::try_from(row).unwrap());
    }
    let last = format!("turn {last}");
    table(&["dialect", "turn 0", "turn 100", &last, "last ÷ first"], rows);
}

/// The microseconds on a core for each of the requests, one after the other.
async fn per_request(server: &Server, requests: Vec<Request>) -> f64 {
    let (count, before) = (requests.len(), server.cpu());
    in_turns(server.address, requests, 1).await;
    (server.cpu() - before) * 1e6 / count as f64
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
