//! Runs that every vendor's client must show as they are.

use headwater_protocol::{
    ErrorInfo, Event, Executor, FinishReason, Interrupt, Origin, Record, Role, RunStarted, StructuredOp,
    StructuredUpdate, ToolCall, Usage,
};
use serde_json::{Value, json};

/// A run, and where its reader comes in: at the beginning, or again after so many records.
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
        Event::MessageStarted { message: "msg_1".into(), role: Role::Assistant, author: None },
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
            Event::AttemptStarted { attempt, .. } => current = Some(attempt.to_string()),
            Event::AttemptFinished { .. } | Event::AttemptRetracted { .. } => current = None,
            _ => {}
        }
        let seq = seq as u64;
        out.push(Record::new(seq, event).at(1_700_000_000_000 + seq).from(origin(current.as_deref())));
    }
    out
}

fn text(id: &str, deltas: &[&str]) -> Vec<Event> {
    let mut events = vec![Event::TextStart { id: id.into(), metadata: None }];
    events.extend(deltas.iter().map(|delta| Event::TextDelta {
        id: id.into(),
        delta: (*delta).into(),
        metadata: None,
    }));
    events.push(Event::TextEnd { id: id.into(), metadata: None });
    events
}

fn thought(id: &str, deltas: &[&str]) -> Vec<Event> {
    let mut events = vec![Event::ReasoningStart { id: id.into(), metadata: None }];
    events.extend(deltas.iter().map(|delta| Event::ReasoningDelta {
        id: id.into(),
        delta: (*delta).into(),
        metadata: None,
    }));
    events.push(Event::ReasoningEnd { id: id.into(), metadata: None });
    events
}

fn call(id: &str, name: &str, executor: Executor, input: &Value) -> Vec<Event> {
    let tool = ToolCall::new(id, name).by(executor);
    let written = input.to_string();
    let (first, second) = written.split_at(written.len() / 2);
    let delta = |delta: &str| Event::ToolInputDelta { call: id.into(), delta: delta.into() };
    vec![
        Event::ToolInputStart(tool.clone()),
        delta(first),
        delta(second),
        Event::ToolInputAvailable { tool, input: Some(input.clone()) },
    ]
}

fn output(id: &str, output: Value) -> Event {
    Event::ToolOutput {
        call: id.into(),
        name: None,
        output,
        structured: None,
        is_error: false,
        preliminary: false,
        metadata: None,
    }
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
        Event::RunFinished { reason: Some(reason), usage: Some(usage), data: None },
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
                    Event::ToolOutputError {
                        call: "call_1".into(),
                        name: None,
                        error: "the station is closed".into(),
                    },
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
                    Event::RunWaiting { tool_calls: vec!["call_1".into()], usage: None },
                ],
            ],
        ),
        scenario(
            "approval",
            vec![
                step(call("call_1", "send_mail", Executor::Server, &json!({ "to": "a@example.com" }))),
                vec![Event::ApprovalRequested {
                    approval: "approval_call_1".into(),
                    tool: ToolCall::new("call_1", "send_mail"),
                    input: Some(json!({ "to": "a@example.com" })),
                    signature: None,
                    automatic: false,
                }],
                vec![
                    Event::MessageFinished { message: "msg_1".into() },
                    Event::RunWaiting { tool_calls: vec![], usage: None },
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
                            Event::SourceUrl {
                                source: "src_1".into(),
                                url: "https://example.com".into(),
                                title: Some("Example".into()),
                                call: None,
                                metadata: None,
                            },
                            Event::File {
                                url: "https://example.com/a.png".into(),
                                media_type: "image/png".into(),
                                filename: None,
                                id: None,
                                reasoning: false,
                                metadata: None,
                            },
                            Event::Data {
                                name: "chart".into(),
                                id: Some("c1".into()),
                                data: json!({ "bars": [1, 2] }),
                                transient: false,
                            },
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
                    Event::RunWaiting { tool_calls: vec![], usage: None },
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
                    Event::AttemptStarted { attempt: "attempt_1".into(), model: Some("gpt-5.1".into()) },
                    Event::TextStart { id: "text_1".into(), metadata: None },
                    Event::TextDelta { id: "text_1".into(), delta: "Dead end".into(), metadata: None },
                    Event::AttemptRetracted {
                        attempt: "attempt_1".into(),
                        reason: Some("the stream was cut".into()),
                    },
                    Event::AttemptStarted { attempt: "attempt_2".into(), model: Some("gpt-5.1".into()) },
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
