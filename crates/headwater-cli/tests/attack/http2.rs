//! HTTP/2 frames that cost the server more than their sender: after each kind of flood it must respond and
//! its memory must be flat.

use std::{
    io::Write as _,
    net::TcpStream,
    time::{Duration, Instant},
};

use crate::{
    ANN, KEYS, lives,
    report::attack,
    server::{Server, memory},
};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const PRIORITY: u8 = 2;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PUSH_PROMISE: u8 = 5;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const PADDED: u8 = 8;

/// How many frames of a flood are sent per connection.
const FLOOD: u32 = 5_000;
/// The memory that all connections together may use while open or leave behind.
const GROWTH: u64 = 64 << 20;
const PEAK: u64 = 256 << 20;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut bytes = length[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// Repeats frames; streams of a client have odd numbers.
fn flood(times: u32, frames: impl Fn(u32) -> Vec<u8>) -> Vec<u8> {
    (0..times).flat_map(|time| frames(2 * time + 1)).collect()
}

/// The header block of a request with a short header, without compression.
fn block(method: u8, path: &str, address: &str) -> Vec<u8> {
    let text = |out: &mut Vec<u8>, text: &str| {
        // Lengths above 126 continue in the next bytes.
        match u8::try_from(text.len()).ok().filter(|length| *length < 127) {
            Some(length) => out.push(length),
            None => out.extend([127, u8::try_from(text.len() - 127).unwrap()]),
        }
        out.extend(text.as_bytes());
    };
    let mut out = vec![method, 0x86];
    for (name, value) in [(4_u8, path), (1, address)] {
        out.push(name);
        text(&mut out, value);
    }
    // `authorization` is number 23 of the static table.
    out.extend([0x0f, 8]);
    text(&mut out, ANN.1);
    out
}

/// The kinds of attacks, each with the bytes sent after the preface and the first settings.
fn kinds(address: &str) -> Vec<(&'static str, Vec<u8>)> {
    let get = block(0x82, "/v1/runs", address);
    let post = block(0x83, "/v1/runs", address);
    let request = |stream: u32| frame(HEADERS, END_HEADERS | END_STREAM, stream, &get);
    let begun = |stream: u32| frame(HEADERS, END_HEADERS, stream, &post);
    let after = |first: Vec<u8>, rest: Vec<u8>| [first, rest].concat();
    let settings = |id: u16, value: u32| [&id.to_be_bytes()[..], &value.to_be_bytes()[..]].concat();
    // Adds a header of 3,900 bytes to the table, then refers to it: each byte expands to 3,900.
    let mut bomb = get.clone();
    bomb.extend([0x40, 1, b'x', 0x7f, 0xbd, 0x1d]);
    bomb.extend([b'y'; 3_900]);
    bomb.extend([0xbe; 12_000]);
    vec![
        ("rapid reset", flood(FLOOD, |at| after(request(at), frame(RST_STREAM, 0, at, &[0, 0, 0, 8])))),
        (
            "resets that the server has to send",
            flood(FLOOD, |at| after(request(at), frame(WINDOW_UPDATE, 0, at, &[0; 4]))),
        ),
        (
            "CONTINUATION without an end",
            after(
                frame(HEADERS, 0, 1, &get),
                flood(FLOOD, |_| frame(CONTINUATION, 0, 1, &[0, 1, b'a', 1, b'b'].repeat(50))),
            ),
        ),
        (
            "empty CONTINUATION",
            after(frame(HEADERS, 0, 1, &get), flood(FLOOD, |_| frame(CONTINUATION, 0, 1, &[]))),
        ),
        ("PING", flood(FLOOD, |at| frame(PING, 0, 0, &u64::from(at).to_be_bytes()))),
        ("SETTINGS", flood(FLOOD, |at| frame(SETTINGS, 0, 0, &settings(4, at)))),
        ("empty SETTINGS", flood(FLOOD, |_| frame(SETTINGS, 0, 0, &[]))),
        ("SETTINGS that are not allowed", frame(SETTINGS, 0, 0, &settings(4, u32::MAX))),
        ("PRIORITY", flood(FLOOD, |at| frame(PRIORITY, 0, at, &[0, 0, 0, 0, 255]))),
        ("a stream that depends on itself", flood(FLOOD, |_| frame(PRIORITY, 0, 1, &[0, 0, 0, 1, 255]))),
        ("empty DATA", after(begun(1), flood(FLOOD, |_| frame(DATA, 0, 1, &[])))),
        (
            "DATA that is padding only",
            after(
                begun(1),
                flood(200, |_| frame(DATA, PADDED, 1, &[[255].as_slice(), [0; 255].as_slice()].concat())),
            ),
        ),
        ("DATA without a stream", frame(DATA, 0, 0, &[0; 100])),
        ("DATA of an idle stream", frame(DATA, 0, 9, &[0; 100])),
        ("padding longer than its frame", after(begun(1), frame(DATA, PADDED, 1, &[200, 0, 0]))),
        ("WINDOW_UPDATE", flood(FLOOD, |_| frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1]))),
        (
            "WINDOW_UPDATE beyond the maximum",
            flood(10, |_| frame(WINDOW_UPDATE, 0, 0, &[127, 255, 255, 255])),
        ),
        ("unknown frames", flood(FLOOD, |at| frame(0xfa, 0xff, at, &[7; 100]))),
        ("GOAWAY", flood(FLOOD, |_| frame(GOAWAY, 0, 0, &[0; 8]))),
        ("streams without a body", flood(FLOOD, begun)),
        (
            "answers that the client never reads",
            after(frame(SETTINGS, 0, 0, &settings(4, 0)), flood(FLOOD, request)),
        ),
        ("HPACK bomb", flood(20, |at| frame(HEADERS, END_HEADERS | END_STREAM, at, &bomb))),
        ("HPACK index that does not exist", frame(HEADERS, END_HEADERS | END_STREAM, 1, &[0xff, 0x80, 0x7f])),
        (
            "HPACK number without an end",
            frame(
                HEADERS,
                END_HEADERS | END_STREAM,
                1,
                &[[0x7f].as_slice(), [0xff; 100].as_slice()].concat(),
            ),
        ),
        (
            "HPACK table sizes",
            frame(HEADERS, END_HEADERS | END_STREAM, 1, &[0x20, 0x3f, 0xe1, 0x1f].repeat(2_000)),
        ),
        ("a frame larger than allowed", frame(HEADERS, END_HEADERS, 1, &[0; 1 << 20])),
        ("PUSH_PROMISE of a client", frame(PUSH_PROMISE, END_HEADERS, 1, &[0, 0, 0, 2])),
        ("numbers of streams that go back", after(request(9), request(1))),
        ("numbers of streams that are the server's", request(2)),
        ("RST_STREAM of an idle stream", frame(RST_STREAM, 0, 1, &[0; 4])),
    ]
}

#[test]
fn http2_floods_leave_the_server_responsive_and_its_memory_flat() {
    let folder = tempfile::tempdir().unwrap();
    let quick = [&KEYS[..], &["--set", "limits.idle=1s", "--set", "limits.body_time=1s"]].concat();
    let server = Server::start(&folder.path().join("data"), &quick);
    lives(&server).unwrap();
    let kinds = kinds(&server.address);
    let cases: Vec<_> = (0..5).flat_map(|_| &kinds).collect();
    let start = memory(server.pid(), "VmRSS");
    let mut open = Vec::new();
    attack("HTTP/2 floods and malformed frames", &cases, |(kind, bytes)| {
        let failed = |error: std::io::Error| format!("{kind}: {error}");
        let mut stream = TcpStream::connect(&server.address).map_err(failed)?;
        // A server that stops reading a flood has defended itself.
        stream.set_write_timeout(Some(Duration::from_secs(2))).map_err(failed)?;
        let begin = [PREFACE, &frame(SETTINGS, 0, 0, &[])].concat();
        let _ = stream.write_all(&begin).and_then(|()| stream.write_all(bytes));
        // Responses are not read, and the connection stays open until all cases have been tried.
        open.push(stream);
        lives(&server).map_err(|error| format!("{kind}: {error}"))
    });
    if let (Some(start), Some(peak)) = (start, memory(server.pid(), "VmHWM")) {
        assert!(peak < start + PEAK, "{} MiB at first, {} MiB at most", start >> 20, peak >> 20);
    }
    drop(open);
    // The memory of the connections is freed once the server has noticed that they are closed.
    let deadline = Instant::now() + Duration::from_secs(60);
    while let (Some(start), Some(now)) = (start, memory(server.pid(), "VmRSS")) {
        if now < start + GROWTH {
            break;
        }
        assert!(Instant::now() < deadline, "{} MiB at first, {} MiB now", start >> 20, now >> 20);
        std::thread::sleep(Duration::from_millis(100));
    }
    lives(&server).unwrap();
    let runs = server.ask("GET", "/v1/runs", &[ANN], "").json()["runs"].as_array().unwrap().len();
    assert_eq!(runs, 0, "nothing was begun");
    assert!(!server.logged().iter().any(|line| line.contains("panicked")));
}
