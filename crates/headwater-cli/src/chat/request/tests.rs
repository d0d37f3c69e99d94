use headwater_protocol::Choice;

use super::*;

const LOOK: MarkdownLook = MarkdownLook { width: 60, colour: true };

fn choice(kind: InterruptKind) -> RequestPrompt {
    let option = |id: &str, label: &str| Choice { id: id.into(), label: label.into(), description: None };
    let options = vec![option("send", "Send"), option("revise", "Revise")];
    let interrupt = Interrupt { kind, ..Interrupt::choice("r", "Send it?", options) };
    RequestPrompt::new(PendingRequest::Question(Box::new(interrupt)))
}

fn approval() -> RequestPrompt {
    RequestPrompt::new(PendingRequest::Approval {
        request: "a".into(),
        call: "c".into(),
        name: "delete_file".into(),
        input: Some(json!({ "path": "notes.txt" })),
    })
}

#[test]
fn choice_takes_a_number_an_id_a_label_or_the_highlight() {
    for typed in ["2", "revise", "REV", "Revise"] {
        assert_eq!(choice(InterruptKind::Choice).submit(typed), Some(Answer::value("revise")), "{typed}");
    }
    let mut prompt = choice(InterruptKind::Choice);
    assert_eq!(prompt.submit("3"), None);
    assert_eq!(prompt.problem.as_deref(), Some("`3` is not among the options: type a number from 1 to 2"));
    prompt.step(true);
    assert_eq!(prompt.submit(""), Some(Answer::value("revise")));
}

#[test]
fn several_options_are_chosen_by_space_or_numbers() {
    let mut prompt = choice(InterruptKind::MultiChoice);
    assert_eq!(prompt.submit("1, 2"), Some(Answer::value(vec!["send", "revise"])));
    prompt.step(true);
    assert!(prompt.toggle());
    assert_eq!(prompt.submit(""), Some(Answer::value(vec!["revise"])));
    assert!(!choice(InterruptKind::Choice).toggle());
}

#[test]
fn approval_needs_a_decision() {
    let mut prompt = approval();
    assert_eq!(prompt.submit(""), None);
    assert_eq!(prompt.submit("maybe"), None);
    assert_eq!(prompt.problem.as_deref(), Some("type `y`, `n`, or `n` and a reason"));
    assert_eq!(prompt.submit("y"), Some(Answer::approve()));
    assert_eq!(prompt.submit("n keep it"), Some(Answer::deny("keep it")));
    assert_eq!(prompt.submit(r#"{"path":"b"}"#), Some(Answer::approve_with(json!({ "path": "b" }))));
    prompt.step(true);
    assert_eq!(prompt.submit(""), Some(Answer::approve()));
}

#[test]
fn exact_input_of_an_approval_is_shown() {
    let texts: Vec<_> = approval().lines((1, 2), LOOK).iter().map(StyledLine::text).collect();
    assert_eq!(texts.first().map(String::as_str), Some("? Allow the call of delete_file? (1 of 2)"));
    assert_eq!(texts.get(1).map(String::as_str), Some("    path  notes.txt"));
}

#[test]
fn texts_are_not_empty_and_page_tools_take_json() {
    let mut prompt =
        RequestPrompt::new(PendingRequest::Question(Box::new(Interrupt::text("r", "Which city?"))));
    assert_eq!(prompt.submit("  "), None);
    assert_eq!(prompt.submit("Oslo"), Some(Answer::value("Oslo")));
    assert_eq!(prompt.decline(), Answer::declined());
    let tool = PendingRequest::ClientTool { call: "c".into(), name: "locate".into(), input: None };
    let mut prompt = RequestPrompt::new(tool);
    assert_eq!(prompt.submit("Oslo"), None);
    assert_eq!(prompt.submit(r#"{"city":"Oslo"}"#), Some(Answer::output(json!({ "city": "Oslo" }))));
}

#[test]
fn refused_form_begins_again() {
    let schema =
        json!({ "type": "object", "properties": { "a": { "type": "string" }, "b": { "type": "string" } } });
    let interrupt = Interrupt { response_schema: Some(schema), ..Interrupt::text("r", "Fill in") };
    let mut prompt = RequestPrompt::new(PendingRequest::Question(Box::new(interrupt)));
    assert_eq!(prompt.submit("x"), None);
    assert_eq!(prompt.submit("y"), Some(Answer::value(json!({ "a": "x", "b": "y" }))));
    prompt.refuse("too short".to_owned());
    assert_eq!(prompt.submit("z"), None);
    assert_eq!(prompt.submit("y"), Some(Answer::value(json!({ "a": "z", "b": "y" }))));
}
