//! What TanStack's page needs besides AG-UI's own events.

use super::*;

#[test]
fn text_after_an_object_begins_a_message_of_its_own_for_tanstack() {
    use headwater_protocol::{StructuredOp, StructuredUpdate};
    let update = StructuredUpdate::new("s1", "table", StructuredOp::append("rows", [json!(1)]));
    let mut records = vec![Record::new(0, started()), record(None, Event::Structured(update))];
    records.extend(text(None, "x", "Done"));
    let starts = |profile: &'static crate::Profile| -> Vec<String> {
        let all = events(&encode(&EncodeOptions::profile(profile), &records));
        let starts = all.iter().filter(|event| event["type"] == "TEXT_MESSAGE_START");
        starts.map(|event| event["messageId"].as_str().unwrap().to_owned()).collect()
    };
    let [object, said] = starts(super::super::TANSTACK).try_into().unwrap();
    let [own] = <[String; 1]>::try_from(starts(super::super::V1)).unwrap();
    assert_eq!(said, format!("{own}-1"));
    assert!(object.starts_with(&format!("{own}-object-")), "{object}");
}

#[test]
fn question_is_bound_to_its_run_for_tanstack() {
    let question = Event::InterruptRequested(Box::new(Interrupt::text("q1", "Which city?")));
    let waiting = Event::RunWaiting(headwater_protocol::RunWaiting::default());
    let records = [Record::new(0, started()), record(None, question), record(None, waiting)];
    let body = encode(&EncodeOptions::profile(super::super::TANSTACK), &records);
    let end = events(&body).pop().unwrap();
    let asked = &end["outcome"]["interrupts"][0];
    let binding =
        json!({ "v": 1, "kind": "generic", "interruptId": "q1", "interruptedRunId": "r1", "generation": 0 });
    assert_eq!(asked["metadata"]["tanstack:interruptBinding"], binding);
    assert_eq!(asked.get("responseSchema"), None);
}

#[test]
fn page_message_has_calls_as_the_live_page_has_them_and_no_questions() {
    let call = |id: &str| headwater_protocol::ToolInputAvailable::new(ToolCall::new(id, "f"), json!({}));
    let records = [
        record(None, call("done")),
        record(None, call("failed")),
        record(None, call("open")),
        output("done", json!({ "a": 1 })),
        record(
            None,
            headwater_protocol::ToolOutputError {
                call: "failed".into(),
                error: "no".into(),
                ..Default::default()
            },
        ),
        record(None, Event::InterruptRequested(Box::new(Interrupt::text("q1", "Which city?")))),
    ];
    let mut state = RunState::with_rules(super::super::rules());
    records.iter().for_each(|record| state.apply(record).unwrap());
    let page = dialect().page_message(&state.messages()[0]);
    let parts = page["parts"].as_array().unwrap();
    let calls: Vec<_> = parts
        .iter()
        .filter(|part| part["type"] == "tool-call")
        .map(|part| (part["id"].as_str().unwrap(), part["state"].as_str().unwrap(), part.get("output")))
        .collect();
    let (given, error) = (json!({ "a": 1 }), json!("no"));
    assert_eq!(
        calls,
        [
            ("done", "complete", Some(&given)),
            ("failed", "error", Some(&error)),
            ("open", "input-complete", None)
        ]
    );
}
