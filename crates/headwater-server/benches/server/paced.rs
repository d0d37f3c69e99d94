//! What a delta costs the server, at the pace of a real model and without a pause, beside bare axum and the vendors.

use std::time::Duration;

use headwater_dialects::Dialect;

use crate::{
    Size,
    child::Server,
    load::{Request, sustain},
    model::{Order, Pace},
    report::{Report, number, table},
    throughput::{clients, load, record},
};

/// A delta comes so often, in microseconds: fifty a second, as a fast model speaks.
const EVERY: u64 = 20_000;

/// Deltas of a chat at that pace: two seconds.
const PACED_DELTAS: usize = 100;

/// Chats at once without a pause, and the deltas of each.
const UNPACED: (usize, usize) = (50, 2_000);

/// The vendors' servers, and by how much fewer chats each is measured: the whole route would fill the machine.
const NODE: [(&str, usize); 5] = [
    ("/node/loop", 1),
    ("/ag-ui/encoder", 1),
    ("/tanstack/encoder", 1),
    ("/ai/encoder", 2),
    ("/ai/route", 6),
];

pub(crate) async fn measure(size: Size, asked: &dyn Fn(&str) -> bool, report: &mut Report) {
    let chats = size.paced;
    println!(
        "\n## {chats} chats, a delta every {} ms: µs on a core of the server per delta\n",
        EVERY / 1_000
    );
    let folder = tempfile::tempdir().unwrap();
    let order = Order::new(PACED_DELTAS, Pace::Every(EVERY));
    let bare = |file: &str| (Server::start(&["axum", file]), Request::post("/", &order.text()));
    let mut rows = Vec::new();
    for dialect in dialects(asked) {
        let name = dialect.name();
        let file = folder.path().join(name);
        record(dialect, PACED_DELTAS, &file).await;
        // In turns, so that what else the machine does meets all of them.
        let mut costs = [f64::MAX; 3];
        for pass in 0..size.passes.min(2) {
            let (server, request) = bare(file.to_str().unwrap());
            costs[0] = costs[0].min(steady(&server, |_, _| request.clone(), chats).await);
            let said = |turn: usize, chat: usize| {
                crate::load::says(name, &format!("{name}-{pass}-{turn}-{chat}"), &order)
            };
            let server = Server::start(&["headwater", "memory"]);
            costs[1] = costs[1].min(steady(&server, said, chats).await);
            let store = folder.path().join(format!("{name}-{pass}"));
            let server = Server::start(&["headwater", "commit", store.to_str().unwrap()]);
            costs[2] = costs[2].min(steady(&server, said, chats).await);
        }
        report.figure("paced memory", name, costs[1] / costs[0]);
        report.figure("paced embedded", name, costs[2] / costs[0]);
        rows.push(row(name, costs));
    }
    print_costs(rows);
    let costs = node(size, |server, path, fewer| {
        let request = Request::post(path, &order.text());
        async move { steady(&server, |_, _| request.clone(), chats / fewer).await }
    });
    print_vendors(costs.await);
}

/// The costs of a load that is kept up, in microseconds per delta.
async fn steady(server: &Server, request: impl Fn(usize, usize) -> Request, chats: usize) -> f64 {
    let readers = (0..chats).map(|chat| [request(0, chat), request(1, chat)]).collect();
    let length = Duration::from_micros(EVERY) * u32::try_from(PACED_DELTAS).unwrap();
    let sustained = sustain(server.address, readers, length, || server.cpu()).await;
    sustained.spent * 1e6 / sustained.deltas as f64
}

pub(crate) async fn measure_unpaced(size: Size, asked: &dyn Fn(&str) -> bool, report: &mut Report) {
    let (chats, deltas) = UNPACED;
    println!("\n## {chats} chats of {deltas} deltas without a pause: µs on a core of the server per delta\n");
    let folder = tempfile::tempdir().unwrap();
    let order = Order::new(deltas, Pace::Ready);
    let mut rows = Vec::new();
    for dialect in dialects(asked) {
        let name = dialect.name();
        let file = folder.path().join(name);
        record(dialect, deltas, &file).await;
        let mut costs = [f64::MAX; 3];
        for pass in 0..size.passes {
            let store = folder.path().join(format!("{name}-{pass}"));
            let servers = [
                Server::start(&["axum", file.to_str().unwrap()]),
                Server::start(&["headwater", "memory"]),
                Server::start(&["headwater", "commit", store.to_str().unwrap()]),
            ];
            for (at, server) in servers.iter().enumerate() {
                // The first load is for what is set up once.
                for again in 0..2 {
                    let requests = match at {
                        0 => vec![Request::post("/", &order.text()); chats],
                        _ => clients(name, pass * 2 + again, chats, &order),
                    };
                    costs[at] = costs[at].min(load(server, requests, deltas).await.cost);
                }
            }
        }
        report.figure("unpaced memory", name, costs[1] / costs[0]);
        report.figure("unpaced embedded", name, costs[2] / costs[0]);
        rows.push(row(name, costs));
    }
    print_costs(rows);
    let costs = node(size, |server, path, fewer| {
        let requests = vec![Request::post(path, &order.text()); (chats / fewer).min(10)];
        async move {
            // The first load is for its compiler.
            let first = load(&server, requests.clone(), deltas).await;
            load(&server, requests, deltas).await.cost.min(first.cost)
        }
    });
    print_vendors(costs.await);
}

fn dialects(asked: &dyn Fn(&str) -> bool) -> impl Iterator<Item = &'static dyn Dialect> {
    headwater_dialects::CHAT.iter().copied().filter(move |dialect| asked(dialect.name()))
}

/// Measures each of the vendors' servers, if they are installed.
async fn node<F: Future<Output = f64>>(
    _size: Size,
    measure: impl Fn(Server, &'static str, usize) -> F,
) -> Vec<(&'static str, f64)> {
    let mut costs = Vec::new();
    for (path, fewer) in NODE {
        let Some(server) = Server::node() else {
            println!("\nthere is no Node, or the vendors' packages are not installed: not measured");
            break;
        };
        costs.push((path, measure(server, path, fewer).await));
    }
    costs
}

fn row(dialect: &str, [bare, memory, embedded]: [f64; 3]) -> [String; 6] {
    let ratio = |cost: f64| number(cost / bare);
    [dialect.to_owned(), number(bare), number(memory), ratio(memory), number(embedded), ratio(embedded)]
}

fn print_costs(rows: Vec<[String; 6]>) {
    table(&["dialect", "bare axum", "memory", "÷ axum", "embedded, fsync at each commit", "÷ axum"], rows);
}

fn print_vendors(costs: Vec<(&str, f64)>) {
    println!();
    let rows = costs.into_iter().map(|(path, cost)| [path.trim_start_matches('/').to_owned(), number(cost)]);
    table(&["server in Node", "µs per delta"], rows);
}
