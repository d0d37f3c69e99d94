//! Runs that every vendor's client must show correctly.

use headwater_protocol::{
    ApprovalRequested, AttemptRetracted, AttemptStarted, BlockDelta, BlockEnded, BlockKind, BlockStarted,
    DataEvent, ErrorInfo, Event, Executor, FileEvent, FinishReason, Interrupt, MessageStarted, Origin,
    Record, Role, RunFinished, RunStarted, RunWaiting, SourceUrl, StructuredOp, StructuredUpdate, ToolCall,
    ToolInputAvailable, ToolInputDelta, ToolOutput, ToolOutputError, Usage,
};
use serde_json::{Value, json};

/// A run, and where its reader joins: at the beginning, or again after this many records.
pub(super) struct Scenario {
    pub(super) name: &'static str,
    pub(super) records: Vec<Record>,
    pub(super) comes_back_after: Option<usize>,
}

fn records(attempt: Option<&str>, events: Vec<Event>) -> Vec<Record> {
    let head = vec![
        Event::RunStarted(RunStarted {
            run: Some("run_1".into()),
            session: Some("thread_1".into()),
            workflow: Some("support".into()),
            model: Some("gpt-5.1".into()),
            ..RunStarted::default()
        }),
        Event::MessageStarted(MessageStarted {
            message: "msg_1".into(),
            role: Role::Assistant,
            ..Default::default()
        }),
    ];
    let origin = |attempt: Option<&str>| Origin {
        message: Some("msg_1".into()),
        attempt: attempt.map(Into::into),
        ..Origin::default()
    };
    let mut current = attempt.map(str::to_owned);
    let mut out = Vec::new();
    for (seq, event) in head.into_iter().chain(events).enumerate() {
        match &event {
            Event::AttemptStarted(AttemptStarted { attempt, .. }) => current = Some(attempt.to_string()),
            Event::AttemptFinished { .. } | Event::AttemptRetracted(_) => current = None,
            _ => {}
        }
        let seq = seq as u64;
        out.push(Record::new(seq, event).at(1_700_000_000_000 + seq).from(origin(current.as_deref())));
    }
    out
}

fn text(id: &str, deltas: &[&str]) -> Vec<Event> {
    let mut events = vec![Event::BlockStarted(BlockStarted::new(BlockKind::Text, id))];
    events.extend(deltas.iter().map(|delta| Event::BlockDelta(BlockDelta::new(BlockKind::Text, id, *delta))));
    events.push(Event::BlockEnded(BlockEnded::new(BlockKind::Text, id)));
    events
}

fn thought(id: &str, deltas: &[&str]) -> Vec<Event> {
    let mut events = vec![Event::BlockStarted(BlockStarted::new(BlockKind::Reasoning, id))];
    events.extend(
        deltas.iter().map(|delta| Event::BlockDelta(BlockDelta::new(BlockKind::Reasoning, id, *delta))),
    );
    events.push(Event::BlockEnded(BlockEnded::new(BlockKind::Reasoning, id)));
    events
}

fn call(id: &str, name: &str, executor: Executor, input: &Value) -> Vec<Event> {
    let tool = ToolCall::new(id, name).by(executor);
    let written = input.to_string();
    let (first, second) = written.split_at(written.len() / 2);
    let delta = |delta: &str| Event::ToolInputDelta(ToolInputDelta::new(id, delta));
    vec![
        Event::ToolInputStart(tool.clone()),
        delta(first),
        delta(second),
        Event::ToolInputAvailable(ToolInputAvailable::new(tool, Some(input.clone()))),
    ]
}

fn output(id: &str, output: Value) -> Event {
    Event::ToolOutput(ToolOutput::new(id, output))
}

fn step(events: impl IntoIterator<Item = Event>) -> Vec<Event> {
    let mut all = vec![Event::StepStarted { name: None }];
    all.extend(events);
    all.push(Event::StepFinished { name: None });
    all
}

fn end(reason: FinishReason) -> Vec<Event> {
    let usage = Usage { input_tokens: Some(12), output_tokens: Some(34), ..Usage::default() };
    vec![
        Event::MessageFinished { message: "msg_1".into() },
        Event::RunFinished(RunFinished { reason: Some(reason), usage: Some(usage), ..Default::default() }),
    ]
}

pub(super) fn scenarios() -> Vec<Scenario> {
    let weather = json!({ "city": "Oslo" });
    let scenario = |name, parts: Vec<Vec<Event>>| Scenario {
        name,
        records: records(None, parts.concat()),
        comes_back_after: None,
    };
    let hello = || text("text_1", &["Hel", "lo – ", "🙂 \"quoted\"\n\nend"]);
    let two_steps = || {
        vec![
            step(
                [
                    text("text_1", &["Let me ", "see. "]),
                    call("call_1", "weather", Executor::Server, &weather),
                ]
                .concat()
                .into_iter()
                .chain([output("call_1", json!({ "celsius": 4 }))]),
            ),
            step(text("text_2", &["I", "t is cold."])),
            end(FinishReason::Stop),
        ]
    };
    let mut all = vec![
        scenario("text", vec![step(hello()), end(FinishReason::Stop)]),
        scenario("length", vec![step(text("text_1", &["cut off"])), end(FinishReason::Length)]),
        scenario(
            "reasoning",
            vec![
                step([thought("think_1", &["Let me ", "think"]), hello()].concat()),
                end(FinishReason::Stop),
            ],
        ),
        scenario("tool", two_steps()),
        scenario(
            "tool-first",
            vec![
                step(
                    call("call_1", "weather", Executor::Server, &weather)
                        .into_iter()
                        .chain([output("call_1", json!("4 °C"))]),
                ),
                step(text("text_1", &["Co", "ld."])),
                end(FinishReason::Stop),
            ],
        ),
        scenario(
            "parallel-tools",
            vec![
                step(
                    [
                        call("call_1", "weather", Executor::Server, &weather),
                        call("call_2", "search", Executor::Server, &json!({ "q": "Oslo" })),
                        vec![output("call_2", json!([1, 2])), output("call_1", json!({ "celsius": 4 }))],
                    ]
                    .concat(),
                ),
                step(text("text_1", &["Done."])),
                end(FinishReason::Stop),
            ],
        ),
        scenario(
            "tool-error",
            vec![
                step(call("call_1", "weather", Executor::Server, &weather).into_iter().chain([
                    Event::ToolOutputError(ToolOutputError {
                        call: "call_1".into(),
                        error: "the station is closed".into(),
                        ..Default::default()
                    }),
                ])),
                step(text("text_1", &["Sorry."])),
                end(FinishReason::Stop),
            ],
        ),
        scenario(
            "client-tool",
            vec![
                step(call("call_1", "pick_colour", Executor::Client, &json!({ "of": 3 }))),
                vec![
                    Event::MessageFinished { message: "msg_1".into() },
                    Event::RunWaiting(RunWaiting { tool_calls: vec!["call_1".into()], ..Default::default() }),
                ],
            ],
        ),
        scenario(
            "approval",
            vec![
                step(call("call_1", "send_mail", Executor::Server, &json!({ "to": "a@example.com" }))),
                vec![Event::ApprovalRequested(ApprovalRequested {
                    approval: "approval_call_1".into(),
                    tool: ToolCall::new("call_1", "send_mail"),
                    input: Some(json!({ "to": "a@example.com" })),
                    ..Default::default()
                })],
                vec![
                    Event::MessageFinished { message: "msg_1".into() },
                    Event::RunWaiting(RunWaiting::default()),
                ],
            ],
        ),
        scenario(
            "sources-files-data",
            vec![
                step(
                    [
                        text("text_1", &["See "]),
                        vec![
                            Event::SourceUrl(SourceUrl {
                                source: "src_1".into(),
                                url: "https://example.com".into(),
                                title: Some("Example".into()),
                                ..Default::default()
                            }),
                            Event::File(FileEvent {
                                url: "https://example.com/a.png".into(),
                                media_type: "image/png".into(),
                                ..Default::default()
                            }),
                            Event::Data(DataEvent {
                                name: "chart".into(),
                                id: Some("c1".into()),
                                data: json!({ "bars": [1, 2] }),
                                ..Default::default()
                            }),
                        ],
                    ]
                    .concat(),
                ),
                end(FinishReason::Stop),
            ],
        ),
        scenario(
            "structured",
            vec![
                vec![
                    Event::Structured(StructuredUpdate::new(
                        "mail",
                        "email.compose",
                        StructuredOp::set("subject", "Hi"),
                    )),
                    Event::Structured(StructuredUpdate::new(
                        "mail",
                        "email.compose",
                        StructuredOp::text("body", "Hi team,"),
                    )),
                    Event::Structured(StructuredUpdate::new(
                        "mail",
                        "email.compose",
                        StructuredOp::finish(json!({ "subject": "Hi" })),
                    )),
                ],
                step(text("text_1", &["Here is a draft."])),
                end(FinishReason::Stop),
            ],
        ),
        scenario(
            "whole-message",
            vec![vec![Event::Message { content: "All at once.".into() }], end(FinishReason::Stop)],
        ),
        scenario(
            "interrupt",
            vec![
                step(text("text_1", &["One question."])),
                vec![
                    Event::InterruptRequested(Box::new(Interrupt {
                        token: Some("token_1".into()),
                        ..Interrupt::text("req_1", "Which city?")
                    })),
                    Event::MessageFinished { message: "msg_1".into() },
                    Event::RunWaiting(RunWaiting::default()),
                ],
            ],
        ),
        scenario(
            "failed",
            vec![
                step(text("text_1", &["I was about to"])),
                vec![Event::RunFailed(ErrorInfo::new("the model is gone").code("overloaded"))],
            ],
        ),
        scenario(
            "cancelled",
            vec![step(text("text_1", &["Half a sen"])), vec![Event::RunCancelled { reason: None }]],
        ),
        scenario(
            "retry",
            vec![
                vec![
                    Event::AttemptStarted(AttemptStarted {
                        attempt: "attempt_1".into(),
                        model: Some("gpt-5.1".into()),
                        ..Default::default()
                    }),
                    Event::BlockStarted(BlockStarted::new(BlockKind::Text, "text_1")),
                    Event::BlockDelta(BlockDelta::new(BlockKind::Text, "text_1", "Dead end")),
                    Event::AttemptRetracted(AttemptRetracted {
                        attempt: "attempt_1".into(),
                        reason: Some("the stream was cut".into()),
                        ..Default::default()
                    }),
                    Event::AttemptStarted(AttemptStarted {
                        attempt: "attempt_2".into(),
                        model: Some("gpt-5.1".into()),
                        ..Default::default()
                    }),
                ],
                text("text_2", &["A good ", "answer."]),
                vec![Event::AttemptFinished { attempt: "attempt_2".into() }],
                end(FinishReason::Stop),
            ],
        ),
    ];
    for (name, cut) in
        [("back-in-text", 5), ("back-in-tool-input", 9), ("back-after-tool", 13), ("back-at-the-end", 21)]
    {
        all.push(Scenario {
            name,
            records: records(None, two_steps().concat()),
            comes_back_after: Some(cut),
        });
    }
    all
}
