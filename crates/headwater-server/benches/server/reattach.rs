//! Reattaching to a long run.

use std::time::Instant;

use crate::{
    Size,
    child::Server,
    load::{Request, Response, says},
    memory::run_id,
    model::{DIGITS, MARK, Order, Pace},
    report::{Report, number, table},
};

/// How often each way back is gone: the median counts.
const TIMES: usize = 9;

pub(crate) async fn measure(size: Size, report: &mut Report) {
    println!("\n## Reattaching to a run of {} deltas that is still active\n", size.long);
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let mut rows = Vec::new();
    for (name, arguments) in [
        ("memory", vec!["headwater", "memory"]),
        ("embedded", vec!["headwater", "embedded", store.to_str().unwrap()]),
    ] {
        let server = Server::start(&arguments);
        let order = Order { hold: true, ..Order::new(size.long, Pace::Turns) };
        let mut first = Response::ask(server.address, &says("agents", "long", &order)).await;
        let seen = first.collect(size.long).await;
        let id = run_id(&seen);
        let cursors: Vec<_> = seen.lines().filter_map(|line| line.strip_prefix("id: ")).collect();
        // Live is who has what came last.
        let end = seen.rfind(char::from(MARK)).unwrap();
        let last = &seen[end - DIGITS..end];
        let path = format!("/v1/runs/{id}/events?dialect=agents");
        let now = format!("{path}&after=now");
        let at = |left: usize| cursors.get(cursors.len().saturating_sub(left + 1)).copied();
        let ways = [
            ("from the start", Request::get(&path, None)),
            ("by re-entry", Request::get(&now, None)),
            ("by a cursor, 10 frames before the end", Request::get(&path, at(10))),
            ("by a cursor, half of the frames before the end", Request::get(&path, at(cursors.len() / 2))),
        ];
        for (way, request) in ways {
            let mut firsts = Vec::new();
            let mut lives = Vec::new();
            for _ in 0..TIMES {
                let began = Instant::now();
                let mut response = Response::ask(server.address, &request).await;
                let mut tail = response.read().await.to_vec();
                firsts.push(began.elapsed().as_secs_f64() * 1e3);
                while memchr::memmem::find(&tail, last.as_bytes()).is_none() {
                    tail.drain(..tail.len().saturating_sub(DIGITS));
                    let read = response.read().await;
                    assert!(!read.is_empty(), "{way}: the stream ended");
                    tail.extend_from_slice(read);
                }
                lives.push(began.elapsed().as_secs_f64() * 1e3);
            }
            let median = |mut times: Vec<f64>| {
                times.sort_by(f64::total_cmp);
                times[times.len() / 2]
            };
            let (to_first, to_live) = (median(firsts), median(lives));
            rows.push([name.to_owned(), way.to_owned(), number(to_first), number(to_live)]);
            if way != "from the start" {
                report.below(&format!("{name}: back {way}, to live"), to_live, 10.0, "ms");
            }
        }
    }
    table(&["store", "way", "first byte, ms", "live, ms"], rows);
}
