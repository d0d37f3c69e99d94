//! Sending, following, stopping and answering.

use headwater_client::{
    Answer, Change, Client, KeyPresence, PendingRequest, RunFilter, RunStream, ToolSet, Update,
};
use headwater_protocol::{Event, Framing, RunStatus};
use serde_json::{Value, json};

use crate::harness::TestServer;

/// Reads until the run waits for something.
async fn read_to_wait(stream: &mut RunStream) -> Vec<PendingRequest> {
    while let Some(update) = stream.next().await.unwrap() {
        if matches!(update.event(), Some(Event::RunWaiting(_))) {
            return stream.pending();
        }
    }
    panic!("the run ended: {:?}", stream.state().run());
}

#[tokio::test]
async fn text_is_followed_to_its_end() {
    let server = TestServer::start().await;
    let run = server.client().send("hello").await.unwrap();
    assert!(!run.is_queued() && !run.is_repeated() && run.agent() == Some("demo"));
    let mut stream = run.follow();
    let (mut text, mut changes) = (String::new(), Vec::new());
    while let Some(update) = stream.next().await.unwrap() {
        if let Update::Event(event) = update {
            assert!(event.problem.is_none() && !event.replay, "{event:?}");
            if let Event::BlockDelta(delta) = &event.record.event {
                text.push_str(&delta.delta);
                changes.push(event.change);
            }
        }
    }
    assert_eq!(text, "Hm, let me think.You said: hello, in turn 1.");
    assert!(changes.iter().all(|change| *change == Change::Message(0)), "{changes:?}");
    assert_eq!(stream.text(), "You said: hello, in turn 1.");
    assert_eq!(stream.state().run().status, RunStatus::Finished);
    // A stream that ended stays ended.
    assert!(stream.next().await.unwrap().is_none());
}

#[tokio::test]
async fn message_with_the_same_key_counts_once() {
    let server = TestServer::start().await;
    let send = || server.client().send("hello").idempotency_key("k1");
    let (one, other) = (send().await.unwrap(), send().await.unwrap());
    assert_eq!(one.id(), other.id());
    assert!(!one.is_repeated() && other.is_repeated());
}

#[tokio::test]
async fn server_tool_shows_its_output() {
    let server = TestServer::start().await;
    let state = server.client().send("weather").await.unwrap().follow().finish().await.unwrap();
    let parts = state.messages().iter().flat_map(|message| &message.parts);
    let tools: Vec<_> = parts.filter_map(|part| part.as_tool()).collect();
    assert_eq!(tools.len(), 1);
    assert_eq!(tools[0].output, Some(json!("sunny in Paris")));
}

#[tokio::test]
async fn approval_is_granted_and_denied() {
    let server = TestServer::start().await;
    for (approve, text) in [(true, "It is gone."), (false, "It stays.")] {
        let run = server.client().send("delete").await.unwrap();
        let mut stream = run.follow();
        let pending = read_to_wait(&mut stream).await;
        let [PendingRequest::Approval { request, name, input, .. }] = pending.as_slice() else {
            panic!("{pending:?}");
        };
        assert_eq!((name.as_str(), input), ("delete", &Some(json!({ "city": "Rome" }))));
        let interrupts = server.client().interrupts(None).await.unwrap().interrupts;
        assert!(interrupts.iter().any(|open| open.request == *request), "{interrupts:?}");
        match approve {
            true => run.approve(request).await.unwrap(),
            false => run.deny(request, "no").await.unwrap(),
        }
        // Once more is the same answer, the opposite is refused.
        let opposite = if approve { Answer::deny("") } else { Answer::approve() };
        let error = run.answer(Some(request), &opposite).await.unwrap_err();
        assert!(error.code().starts_with("request.") || error.code() == "run.ended", "{error:?}");
        while stream.next().await.unwrap().is_some() {}
        assert_eq!(stream.text(), text);
    }
}

#[tokio::test]
async fn question_is_answered_by_its_request_alone() {
    let server = TestServer::start().await;
    let client = server.client();
    let mut stream = client.send("choose").await.unwrap().follow();
    let pending = read_to_wait(&mut stream).await;
    let [PendingRequest::Question(question)] = pending.as_slice() else { panic!("{pending:?}") };
    assert_eq!((question.question.as_deref(), question.options.len()), (Some("Which one?"), 2));
    let wrong = client.answer(question.request.as_str(), &Answer::value("z")).await.unwrap_err();
    assert_eq!(wrong.status(), Some(422), "{wrong:?}");
    client.answer(question.request.as_str(), &Answer::value("b")).await.unwrap();
    while stream.next().await.unwrap().is_some() {}
    assert_eq!(stream.text(), "You chose b.");
    assert!(stream.pending().is_empty());
}

#[tokio::test]
async fn client_tool_is_executed_and_its_error_reaches_the_model() {
    let server = TestServer::start().await;
    let tools = ToolSet::new().add("locate", |input: Value| async move {
        assert_eq!(input, json!({ "zone": 1 }));
        Ok::<_, String>(json!("Oslo"))
    });
    let mut stream = server.client().send("where").await.unwrap().follow().tools(tools).until_wait();
    while stream.next().await.unwrap().is_some() {}
    assert_eq!(stream.text(), "So you are in Oslo.");

    let broken = ToolSet::new().add("locate", |_: Value| async { Err("no signal") });
    let mut stream = server.client().send("where").await.unwrap().follow().tools(broken);
    while stream.next().await.unwrap().is_some() {}
    assert!(stream.text().contains("no signal"), "{}", stream.text());
}

#[tokio::test]
async fn stream_until_wait_ends_at_a_client_tool_that_it_does_not_have() {
    let server = TestServer::start().await;
    let run = server.client().send("where").await.unwrap();
    let mut stream = run.follow().until_wait();
    while stream.next().await.unwrap().is_some() {}
    let pending = stream.pending();
    let [PendingRequest::ClientTool { call, .. }] = pending.as_slice() else { panic!("{pending:?}") };
    let cursor = stream.cursor().unwrap().to_owned();
    run.answer_call(call, &Answer::output("Rome")).await.unwrap();
    // Another process continues exactly after it.
    let mut rest = run.follow().after(&cursor);
    let mut events = 0;
    while let Some(update) = rest.next().await.unwrap() {
        events += u32::from(update.event().is_some());
    }
    assert!(events > 0 && rest.text() == "So you are in Rome.", "{}", rest.text());
}

#[tokio::test]
async fn stop_ends_the_run_and_keeps_its_text() {
    let server = TestServer::start().await;
    let run = server.client().send("slow").await.unwrap();
    let mut stream = run.follow();
    while stream.text().is_empty() {
        stream.next().await.unwrap().unwrap();
    }
    assert!(run.stop().await.unwrap().stopped);
    while stream.next().await.unwrap().is_some() {}
    assert_eq!(stream.state().run().status, RunStatus::Cancelled);
    assert!(stream.text().starts_with("slowly"));
    assert!(!run.stop().await.unwrap().stopped);
}

#[tokio::test]
async fn dropped_stream_detaches_and_another_begins_with_the_state() {
    let server = TestServer::start().await;
    let run = server.client().send("long").await.unwrap();
    let mut stream = run.follow();
    while stream.text().len() < 100 {
        stream.next().await.unwrap().unwrap();
    }
    drop(stream);
    let mut stream = run.follow().from_now();
    let (mut resets, mut replayed) = (0, 0);
    while let Some(update) = stream.next().await.unwrap() {
        match update {
            Update::Reset => resets += 1,
            Update::Event(event) => replayed += u32::from(event.replay),
            _ => {}
        }
    }
    assert_eq!(stream.text(), crate::harness::long_text());
    assert!(resets == 1 && replayed > 0, "{resets} {replayed}");
}

#[tokio::test]
async fn failed_run_shows_its_error() {
    let server = TestServer::start().await;
    let state = server.client().send("fail").await.unwrap().follow().finish().await.unwrap();
    assert_eq!(state.run().status, RunStatus::Failed);
    assert!(state.run().error.is_some());
}

#[tokio::test]
async fn runs_are_listed_by_filter_and_shown() {
    let server = TestServer::start().await;
    let client = server.client();
    let done = client.send("hello").session("s1").await.unwrap();
    done.follow().finish().await.unwrap();
    let waiting = client.send("choose").await.unwrap();
    read_to_wait(&mut waiting.follow()).await;
    let ids = |filter: RunFilter| {
        let client = client.clone();
        async move { client.runs(&filter).await.unwrap().runs.into_iter().map(|run| run.id).collect::<Vec<_>>() }
    };
    let all = ids(RunFilter::default()).await;
    assert_eq!(all, [waiting.id().to_string(), done.id().to_string()]);
    let finished = RunFilter { status: Some(RunStatus::Finished), ..RunFilter::default() };
    assert_eq!(ids(finished).await, [done.id().to_string()]);
    let of_session = RunFilter { session: Some("s1".to_owned()), ..RunFilter::default() };
    assert_eq!(ids(of_session).await, [done.id().to_string()]);
    let by_text = RunFilter { q: Some("CHOOSE".to_owned()), ..RunFilter::default() };
    assert_eq!(ids(by_text).await, [waiting.id().to_string()]);
    let first = client.runs(&RunFilter { limit: Some(1), ..RunFilter::default() }).await.unwrap();
    assert_eq!(first.runs[0].input.as_deref(), Some("choose"));
    let second =
        client.runs(&RunFilter { after: first.next, limit: Some(1), ..RunFilter::default() }).await.unwrap();
    assert_eq!(second.runs[0].id, done.id().as_str());
    let details = waiting.show().await.unwrap();
    assert_eq!((details.run.status, details.waits_for.len()), (RunStatus::Waiting, 1));
    let agents = client.agents().await.unwrap();
    assert_eq!((agents.default.as_deref(), agents.agents[0].tools.len()), (Some("demo"), 3));
    let models = client.models().await.unwrap().models;
    assert_eq!((models.len(), &*models[0].aliases), (1, &["model".to_owned()][..]));
    assert_eq!((&*models[0].agent, models[0].key), ("demo", KeyPresence::NotNeeded));

    let mut stream = done.export("native", Framing::Ndjson).await.unwrap();
    let mut bytes = Vec::new();
    while let Some(piece) = stream.next().await.unwrap() {
        bytes.extend_from_slice(&piece);
    }
    let lines = String::from_utf8(bytes).unwrap();
    assert!(lines.lines().any(|line| line.contains("\"run-finished\"")), "{lines}");
    let unknown = client.run("run_x").export("native", Framing::Sse).await.unwrap_err();
    assert_eq!((unknown.code(), unknown.status()), ("run.unknown", Some(404)));
}

#[tokio::test]
async fn next_may_be_dropped_at_any_time() {
    let server = TestServer::start().await;
    let mut stream = server.client().send("long").await.unwrap().follow();
    let mut text = String::new();
    loop {
        // A branch of `select!` that loses: the future is dropped after one poll.
        let update = futures_util::FutureExt::now_or_never(stream.next());
        match update {
            None => tokio::task::yield_now().await,
            Some(update) => match update.unwrap() {
                None => break,
                Some(update) => {
                    if let Some(Event::BlockDelta(delta)) = update.event() {
                        text.push_str(&delta.delta);
                    }
                }
            },
        }
    }
    assert_eq!(text, crate::harness::long_text());
}

#[tokio::test]
async fn unknown_run_and_wrong_key_are_errors_at_once() {
    let server = TestServer::start().await;
    let error = server.client().run("run_none").follow().finish().await.unwrap_err();
    assert_eq!((error.code(), error.status()), ("run.unknown", Some(404)));
    let error = Client::new("not a url").send("hello").await.unwrap_err();
    assert_eq!(error.code(), "url.invalid", "{error}");
    let error = server.client().key("line\nbreak").send("hello").await.unwrap_err();
    assert_eq!(error.code(), "header.invalid", "{error}");

    let options = headwater_server::Options::default()
        .authenticator(headwater_server::ApiKeys::new().add("ann", "a long secret"));
    let server = TestServer::with(options).await;
    let error = server.client().key("another").send("hello").await.unwrap_err();
    assert_eq!((error.code(), error.status(), error.is_retryable()), ("auth.unknown", Some(401), false));
    server.client().key("a long secret").send("hello").await.unwrap();
}
