//! Many readers of one run.

use std::{sync::Arc, time::Instant};

use tokio::sync::Barrier;

use crate::{
    Size,
    child::Server,
    load::{Request, Response, says},
    memory::run_id,
    model::{Order, Pace},
    report::{Report, number, table},
};

pub(crate) async fn measure(size: Size, _report: &mut Report) {
    println!("\n## {} readers of one run of {} deltas\n", size.runs, size.deltas);
    let mut rows = Vec::new();
    for (pace, named) in
        [(Pace::Turns, "one by one"), (Pace::Every(5_000), "every 5 ms"), (Pace::Ready, "all at once")]
    {
        let (mut per_second, mut cost) = (0.0_f64, f64::MAX);
        for _ in 0..size.passes {
            let server = Server::start(&["headwater", "memory"]);
            let order = Order { gate: true, ..Order::new(size.deltas, pace) };
            let mut first = Response::ask(server.address, &says("ai-sdk", "shared", &order)).await;
            let id = run_id(&first.collect(0).await);
            let request = Request::get(&format!("/v1/runs/{id}/events?dialect=ai-sdk"), None);
            let begin = Arc::new(Barrier::new(size.runs + 1));
            let mut readers = tokio::task::JoinSet::new();
            for _ in 0..size.runs {
                let (begin, request, address) = (begin.clone(), request.clone(), server.address);
                readers.spawn(async move {
                    let mut response = Response::ask(address, &request).await;
                    // Its head, so that it is there when the run continues.
                    response.count(&mut None).await;
                    begin.wait().await;
                    while response.count(&mut None).await {}
                    response.stamps
                });
            }
            begin.wait().await;
            let (began, before) = (Instant::now(), server.cpu());
            let _go = Response::ask(server.address, &Request::post("/go", "")).await;
            while let Some(read) = readers.join_next().await {
                assert_eq!(read.unwrap(), size.deltas);
            }
            let events = (size.runs * size.deltas) as f64;
            per_second = per_second.max(events / began.elapsed().as_secs_f64());
            cost = cost.min((server.cpu() - before) * 1e6 / events);
        }
        rows.push([named.to_owned(), number(per_second), number(cost)]);
    }
    table(&["the model speaks", "events/s", "µs on a core per event and reader"], rows);
}
