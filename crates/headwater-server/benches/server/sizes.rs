//! Bytes: what a store keeps of a text, and what goes over the wire for a structured object.

use std::{path::Path, time::Duration};

use crate::{
    Size,
    child::Server,
    load::{Request, Response, says},
    memory::run_id,
    model::{Order, Pace},
    report::{Report, number, table},
};

/// Runs whose bytes are counted, and the deltas of each.
const RUNS: usize = 20;
const DELTAS: usize = 2_000;

/// The bytes of a delta.
const DELTA: usize = 9;

/// The bytes of the structured object, and how often a row of it comes, in microseconds.
const OBJECT: usize = 50_000;
const EVERY: u64 = 20_000;

pub(crate) async fn stored(_size: Size, report: &mut Report) {
    println!(
        "\n## Bytes that are kept for each byte of text, {RUNS} runs of {DELTAS} deltas of {DELTA} bytes\n"
    );
    let text = (RUNS * DELTAS * DELTA) as f64;
    let order = Order { hold: true, short: true, ..Order::new(DELTAS, Pace::Turns) };
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&["headwater", "commit", folder.path().to_str().unwrap()]);
    let warm = Order::new(1, Pace::Ready);
    Response::ask(server.address, &says("ai-sdk", "warm", &warm)).await.rest().await;
    let empty = settled_size(folder.path()).await;
    let mut readers = speak(&server, "disk", &order, RUNS).await;
    let running = (settled_size(folder.path()).await - empty) / text;
    end(&server, &mut readers).await;
    let ended = (settled_size(folder.path()).await - empty) / text;
    report.figure("disk per text byte while running", "embedded", running);
    report.figure("disk per text byte after the end", "embedded", ended);
    drop(server);

    let server = Server::start(&["headwater", "memory"]);
    let mut warm = speak(&server, "warm", &order, RUNS).await;
    let before = server.resident();
    // Enough that what the allocator keeps aside does not count.
    let mut readers = speak(&server, "memory", &order, RUNS * 10).await;
    let memory = (server.resident() - before) / (text * 10.0);
    end(&server, &mut readers).await;
    end(&server, &mut warm).await;
    let memory_ended = (server.resident() - before) / (text * 10.0);
    table(
        &["store", "while running", "after the end"],
        [
            ["embedded, on disk".to_owned(), number(running), number(ended)],
            ["memory, resident, with the runs themselves".to_owned(), number(memory), number(memory_ended)],
        ],
    );
}

/// Starts runs, and reads all deltas but the last, before which each waits for a sign.
async fn speak(server: &Server, name: &str, order: &Order, runs: usize) -> Vec<Response> {
    let mut readers = Vec::new();
    for run in 0..runs {
        readers.push(Response::ask(server.address, &says("ai-sdk", &format!("{name}-{run}"), order)).await);
    }
    for reader in &mut readers {
        reader.until(order.deltas).await;
    }
    readers
}

/// Gives the sign, and reads to the ends.
async fn end(server: &Server, readers: &mut [Response]) {
    Response::ask(server.address, &Request::post("/go", "")).await.rest().await;
    for reader in readers {
        reader.rest().await;
    }
}

/// The bytes of all files in a folder, once they do not change any more.
async fn settled_size(folder: &Path) -> f64 {
    let mut last = u64::MAX;
    loop {
        let files = std::fs::read_dir(folder).unwrap().flatten();
        let size = files.filter_map(|file| Some(file.metadata().ok()?.len())).sum();
        if size == last {
            return size as f64;
        }
        last = size;
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

pub(crate) async fn structured(asked: &dyn Fn(&str) -> bool, report: &mut Report) {
    let order = Order::object(OBJECT, Pace::Every(EVERY));
    let object = order.object_bytes() as f64;
    println!(
        "\n## A structured object of {} bytes, a row every {} ms: bytes on the wire\n",
        number(object),
        EVERY / 1_000
    );
    let server = Server::start(&["headwater", "memory"]);
    let mut readers = tokio::task::JoinSet::new();
    let dialects = headwater_dialects::ALL.iter().map(|dialect| dialect.name());
    for (at, name) in
        dialects.filter(|name| asked(name) || matches!(*name, "native" | "responses")).enumerate()
    {
        // Each has a run of its own, but that not all dialects have chats: these follow a run of another one.
        let chats = asked(name) && name != "native";
        let request = says(if chats { name } else { "ai-sdk" }, &format!("{name}-{at}"), &order);
        let address = server.address;
        readers.spawn(async move {
            let mut response = Response::ask(address, &request).await;
            if !chats {
                let run = run_id(&response.collect(0).await);
                let path = format!("/v1/runs/{run}/events?dialect={name}");
                response = Response::ask(address, &Request::get(&path, None)).await;
            }
            let whole = response.rest().await;
            assert!(whole.contains("lorem ipsum"), "no object in {whole}");
            (at, name, response.bytes as f64)
        });
    }
    let mut found = readers.join_all().await;
    found.sort_by_key(|(at, ..)| *at);
    let rows = found.into_iter().map(|(_, name, bytes)| {
        report.figure("structured wire ÷ object", name, bytes / object);
        [name.to_owned(), number(bytes), number(bytes / object)]
    });
    let rows: Vec<_> = rows.collect();
    table(&["dialect", "bytes", "÷ object"], rows);
}
