//! `headwater inspect` of streams that still arrive, through a pipe or a URL.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpListener,
    process::Stdio,
    thread,
};

use serde_json::json;

use crate::{
    run::{CommandRun, headwater, read_example},
    server::{Server, command},
};

#[test]
fn rows_are_printed_while_the_stream_arrives() {
    let stream = read_example("kortyx.sse");
    let text = String::from_utf8(stream.clone()).unwrap();
    let cut = text.find("a note").unwrap();
    for json in [false, true] {
        let mut child = command()
            .args(["inspect", "--dialect", "kortyx"])
            .args(json.then_some("--json"))
            .env("COLUMNS", "100")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(&stream[..cut]).unwrap();
        input.flush().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut shown = String::new();
        let row = if json { "\"tool-output\"" } else { "←" };
        // The rest is written once this has been read.
        while !shown.contains(row) {
            assert!(out.read_line(&mut shown).unwrap() > 0, "{shown}");
        }
        assert!(!shown.contains("finished"), "{shown}");
        input.write_all(&stream[cut..]).unwrap();
        drop(input);
        out.read_to_string(&mut shown).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0), "{shown}");
        assert!(shown.contains("finished"), "{shown}");
    }
}

#[test]
fn long_text_is_printed_line_by_line() {
    let mut child = command()
        .args(["inspect", "--dialect", "ai-sdk"])
        .env("COLUMNS", "80")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut send = |chunk: serde_json::Value| {
        input.write_all(format!("data: {chunk}\n\n").as_bytes()).unwrap();
        input.flush().unwrap();
    };
    send(json!({ "type": "start", "messageId": "m" }));
    send(json!({ "type": "text-start", "id": "t" }));
    send(json!({ "type": "text-delta", "id": "t", "delta": "word ".repeat(40) }));
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut shown = String::new();
    while shown.matches("word word").count() < 2 {
        assert!(out.read_line(&mut shown).unwrap() > 0, "{shown}");
    }
    send(json!({ "type": "text-delta", "id": "t", "delta": "end" }));
    send(json!({ "type": "text-end", "id": "t" }));
    send(json!({ "type": "finish" }));
    input.write_all(b"data: [DONE]\n\n").unwrap();
    drop(input);
    out.read_to_string(&mut shown).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{shown}");
    assert_eq!(shown.matches("word").count(), 40, "each line once: {shown}");
    assert!(shown.contains(" end\n") && shown.contains(" (2 deltas, 203 bytes)\n"), "{shown}");
}

#[test]
fn pipe_shows_the_same_as_a_file() {
    let streams = [
        ("kortyx", "kortyx.sse"),
        ("kortyx", "kortyx-interrupt.sse"),
        ("ai-sdk", "ai-sdk.sse"),
        ("ag-ui", "ag-ui.sse"),
        ("mui", "mui.sse"),
    ];
    for (dialect, name) in streams {
        for form in ["--json", "--full"] {
            let args = ["inspect", form, "--dialect", dialect];
            let of_file = headwater(&[&args[..], &[&crate::run::example(name)]].concat(), "");
            let of_pipe = headwater(&args, read_example(name));
            assert_eq!(of_pipe.code, of_file.code, "{of_pipe:?}");
            // An object is printed when it is complete.
            let sorted = |ran: &CommandRun| {
                let mut lines: Vec<_> = ran.stdout.lines().map(str::to_owned).collect();
                if form == "--full" {
                    // The columns differ, so lines are broken elsewhere.
                    let mut letters: Vec<_> = ran.stdout.split_whitespace().flat_map(str::chars).collect();
                    letters.sort_unstable();
                    lines = vec![letters.into_iter().collect()];
                }
                lines.sort();
                lines
            };
            assert_eq!(sorted(&of_pipe), sorted(&of_file), "{name} {form}");
        }
    }
}

#[test]
fn url_is_read_with_its_key() {
    let folder = tempfile::tempdir().unwrap();
    let key = "0123456789abcdef";
    let server = Server::start(&folder.path().join("data"), &["--api-key", key]);
    let bearer = format!("Bearer {key}");
    let body = json!({ "agent": "chat", "input": "hello" }).to_string();
    let begun = server.ask("POST", "/v1/runs", &[("authorization", &bearer)], &body);
    let run = begun.json()["run"].as_str().unwrap().to_owned();
    for query in ["", "?dialect=ai-sdk", "?framing=ndjson"] {
        let url = format!("http://{}/v1/runs/{run}/events{query}", server.address);
        let ran = headwater(&["inspect", &url, "--key", key], "");
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stdout.contains("run     finished"), "{ran:?}");
    }
    let url = format!("http://{}/v1/runs/{run}/events", server.address);
    let refused = headwater(&["inspect", &url, "--key", "wrong"], "");
    assert_eq!((refused.code, &*refused.stdout), (Some(4), ""), "{refused:?}");
    let unknown = headwater(&["inspect", &url.replace(&run, "run_x"), "--key", key], "");
    assert_eq!((unknown.code, &*unknown.stdout), (Some(5), ""), "{unknown:?}");
}

#[test]
fn connection_that_is_lost_is_a_cut_stream() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/stream?token=hidden", listener.local_addr().unwrap());
    let server = thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            reader.read_line(&mut head).unwrap();
        }
        let body = read_example("kortyx.sse");
        let half = &body[..body.len() / 2];
        let mut stream = reader.into_inner();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(half).unwrap();
    });
    let ran = headwater(&["inspect", &url, "--dialect", "kortyx"], "");
    server.join().unwrap();
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.contains("run     failed · the stream was cut"), "{ran:?}");
    assert!(ran.stderr.contains("warning: the connection was lost"), "{ran:?}");
    assert!(!ran.stderr.contains("hidden"), "{ran:?}");
}
