use headwater_client::Client;
use headwater_protocol::{Choice, Interrupt, Record};

use super::*;
use crate::chat::screen::ScreenFrame;

fn app() -> ChatApp {
    let agents = serde_json::from_value(serde_json::json!({ "agents": [], "default": null })).unwrap();
    ChatApp::new(ChatTarget { server: "here".into(), ..ChatTarget::default() }, agents, true, (60, 12))
}

fn submit(app: &mut ChatApp, text: &str) -> Vec<ChatAction> {
    app.on_input(ChatInput::Paste(text.into()));
    app.on_input(ChatInput::Submit)
}

fn run_reply() -> ChatReply {
    let run = Client::new("http://127.0.0.1:1").run("run_1");
    ChatReply::Run { run, session: Some("s1".into()), attached: false }
}

fn texts(lines: &[StyledLine]) -> Vec<String> {
    lines.iter().map(StyledLine::text).collect()
}

#[test]
fn message_is_shown_and_sent_and_the_next_one_waits_for_the_end() {
    let mut app = app();
    assert_eq!(submit(&mut app, "Hello"), [ChatAction::Send("Hello".into())]);
    assert_eq!(texts(&app.frame(None).finished), ["› Hello"]);
    app.on_reply(&run_reply());
    assert_eq!(submit(&mut app, "And then?"), []);
    let live = texts(&app.frame(None).live);
    assert!(live.contains(&"  next: And then?".to_owned()), "{live:?}");
    assert_eq!(app.on_run_end(&RunState::default()), [ChatAction::Send("And then?".into())]);
}

#[test]
fn interrupt_stops_the_run_and_a_second_one_quits() {
    let mut app = app();
    submit(&mut app, "Hello");
    app.on_reply(&run_reply());
    assert_eq!(app.on_input(ChatInput::Interrupt), [ChatAction::Stop]);
    assert_eq!(app.on_input(ChatInput::Interrupt), [ChatAction::Quit]);
}

#[test]
fn interrupt_without_a_run_clears_the_line_and_asks_before_it_quits() {
    let mut app = app();
    app.on_input(ChatInput::Paste("half".into()));
    assert_eq!(app.on_input(ChatInput::Interrupt), []);
    assert_eq!(app.on_input(ChatInput::Interrupt), []);
    assert!(texts(&app.frame(None).live).contains(&"  Ctrl-C again to quit".to_owned()));
    assert_eq!(app.on_input(ChatInput::Interrupt), [ChatAction::Quit]);
}

#[test]
fn request_takes_the_prompt_and_gives_the_draft_back() {
    let mut app = app();
    submit(&mut app, "Hello");
    app.on_reply(&run_reply());
    app.on_input(ChatInput::Paste("draft".into()));
    let option = |id: &str| Choice { id: id.into(), label: id.to_uppercase(), description: None };
    let question = Interrupt::choice("r", "Which?", vec![option("a"), option("b")]);
    let request = PendingRequest::Question(Box::new(question.clone()));
    let mut state = RunState::default();
    state.apply(&Record::new(1, Event::InterruptRequested(Box::new(question)))).unwrap();
    let pending = PendingRequest::list(&state);
    app.on_update(&Update::Connection(ConnectionStatus::Open), &state, &pending);
    app.on_input(ChatInput::Down);
    assert_eq!(
        app.on_input(ChatInput::Submit),
        [ChatAction::Answer(Box::new((request, Answer::value("b"))))]
    );
    app.on_update(&Update::Connection(ConnectionStatus::Open), &RunState::default(), &[]);
    assert_eq!(app.editor.text(), "draft");
}

#[test]
fn page_tools_are_answered_once_with_an_error() {
    let mut app = app();
    submit(&mut app, "Where am I?");
    app.on_reply(&run_reply());
    let pending = [PendingRequest::ClientTool { call: "c".into(), name: "locate".into(), input: None }];
    let open = Update::Connection(ConnectionStatus::Open);
    let actions = app.on_update(&open, &RunState::default(), &pending);
    assert!(matches!(actions.as_slice(), [ChatAction::Answer(_)]), "{actions:?}");
    assert_eq!(app.on_update(&open, &RunState::default(), &pending), []);
}

#[test]
fn commands_that_need_a_session_or_no_run_fail_with_that_reason() {
    let mut app = app();
    assert_eq!(submit(&mut app, "/undo"), []);
    assert_eq!(texts(&app.frame(None).finished), ["✗ this session has no messages yet"]);
    submit(&mut app, "Hello");
    app.on_reply(&run_reply());
    assert_eq!(submit(&mut app, "/retry"), []);
    let finished = texts(&app.frame(None).finished);
    assert!(finished.contains(&"✗ a run is active: `/stop` or `/detach` first".to_owned()), "{finished:?}");
    assert_eq!(submit(&mut app, "/detach"), [ChatAction::Detach]);
    assert_eq!(submit(&mut app, "/retry"), [ChatAction::Retry]);
}

#[test]
fn frames_fit_a_terminal_of_any_size() {
    let mut app = app();
    submit(&mut app, "Hello");
    app.on_reply(&run_reply());
    app.on_input(ChatInput::Paste("one two three four five six seven eight nine ten\nsecond\nthird".into()));
    for (width, height) in [(80, 24), (20, 6), (5, 2), (1, 1)] {
        app.on_input(ChatInput::Resize(width, height));
        let ScreenFrame { live, cursor, .. } = app.frame(None);
        assert!(live.len() < usize::from(height).max(2), "{width}x{height}: {live:?}");
        assert!(cursor.0 < live.len(), "{width}x{height}: {cursor:?} of {live:?}");
        assert!(live.iter().all(|line| line.width() <= usize::from(width)), "{width}x{height}: {live:?}");
    }
}
