use headwater_protocol::{Event, Record, RunStarted};
use serde_json::json;

use super::*;
use crate::names::ReaderNames;

#[test]
fn response_that_waits_for_its_turn_is_queued() {
    let names = ReaderNames {
        run: Some("resp_run_1.0".to_owned()),
        model: Some("demo".to_owned()),
        ..ReaderNames::default()
    };
    let document = whole_answer(&WholeAnswer { records: &[], since: 0, names: &names, created: 5_000 });
    assert_eq!((&document["id"], &document["status"]), (&json!("resp_run_1.0"), &json!("queued")));
    assert_eq!((&document["model"], &document["created_at"]), (&json!("demo"), &json!(5)));
}

#[test]
fn document_grows_with_its_records() {
    let started = RunStarted { run: Some("resp_run_1.0".into()), ..RunStarted::default() };
    let records = [
        Record::new(1, Event::RunStarted(started)).at(1_000),
        Record::new(2, Event::Message { content: "Hi".into() }).at(2_000),
        Record::new(3, Event::RunCancelled { reason: None }).at(3_000),
    ];
    let names = ReaderNames::default();
    let status = |count: usize| {
        let records = records.get(..count).unwrap_or_default();
        let document = whole_answer(&WholeAnswer { records, since: 0, names: &names, created: 0 });
        (
            document["status"].as_str().unwrap_or_default().to_owned(),
            document["output"].as_array().map(Vec::len),
        )
    };
    assert_eq!(status(1), ("in_progress".to_owned(), Some(0)));
    assert_eq!(status(2), ("in_progress".to_owned(), Some(1)));
    assert_eq!(status(3), ("cancelled".to_owned(), Some(1)));
}
