//! What readers and runs take of the memory while nothing happens.

use crate::{
    Size,
    child::Server,
    load::{Request, Response, says},
    model::{Order, Pace},
    report::{Report, number, table},
};

/// How many requests are sent before the first of them must be answered.
const AT_ONCE: usize = 100;

pub(crate) async fn measure(size: Size, files: u64, report: &mut Report) {
    // Some files are needed for other things.
    let readers = size.readers.min(usize::try_from(files.saturating_sub(200)).unwrap_or(usize::MAX));
    println!("\n## Memory of {readers} readers\n");
    if readers < size.readers {
        println!(
            "The system lets a process open {files} files: fewer readers than the {} wanted.\n",
            size.readers
        );
    }
    let order = Order { hold: true, ..Order::new(1, Pace::Ready) };
    let mut rows = Vec::new();

    let server = Server::start(&["headwater", "memory"]);
    let mut first = Response::ask(server.address, &says("ai-sdk", "first", &order)).await;
    let id = run_id(&first.collect(1).await);
    let idle = Request::get(&format!("/v1/runs/{id}/events?dialect=ai-sdk"), None);
    let _kept = open(&server, (0..AT_ONCE).map(|_| idle.clone())).await;
    let before = server.resident();
    let open_readers = open(&server, (0..readers).map(|_| idle.clone())).await;
    let each = (server.resident() - before) / readers as f64;
    rows.push(["a reader of a run that others read too".to_owned(), number(each)]);
    report.below("memory of an idle reader", each / 1024.0, 16.0, "KiB");
    report.figure("idle reader KB", "memory", each / 1e3);
    drop(open_readers);
    drop(server);

    let server = Server::start(&["headwater", "memory"]);
    let runs = |name: &'static str, count: usize| {
        (0..count).map(move |run| says("ai-sdk", &format!("{name}-{run}"), &order))
    };
    let _kept = open(&server, runs("warm", AT_ONCE)).await;
    let before = server.resident();
    let _open_runs = open(&server, runs("run", readers)).await;
    let each = (server.resident() - before) / readers as f64;
    rows.push(["a run whose model is silent, with its session and its reader".to_owned(), number(each)]);
    report.figure("silent run KB", "memory", each / 1e3);
    table(&["what", "bytes"], rows);
}

/// Opens streams, and reads the first delta of each.
async fn open(server: &Server, requests: impl Iterator<Item = Request>) -> Vec<Response> {
    let mut open = Vec::new();
    let mut sent = Vec::new();
    for request in requests {
        sent.push(Response::ask(server.address, &request).await);
        if sent.len() == AT_ONCE {
            for mut response in sent.drain(..) {
                response.until(1).await;
                response.forget_buffer();
                open.push(response);
            }
        }
    }
    for mut response in sent {
        response.until(1).await;
        open.push(response);
    }
    open
}

/// The name of the run that a response follows, from its head.
pub(crate) fn run_id(response: &str) -> String {
    let line = response.lines().find_map(|line| line.strip_prefix("x-run-id: "));
    line.unwrap_or_else(|| panic!("no run in {response}")).to_owned()
}
