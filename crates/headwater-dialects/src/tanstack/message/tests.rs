use headwater_protocol::{
    ApprovalRequested, Event, Record, RunState, ToolCall, ToolDenied, ToolInputAvailable,
};

use super::*;

#[test]
fn denied_call_has_the_same_result_as_on_the_stream() {
    for (reason, told) in [(None, "The call was denied."), (Some("not mine"), "not mine")] {
        let tool = ToolCall::new("c1", "delete");
        let events = [
            Event::ToolInputAvailable(ToolInputAvailable::new(tool.clone(), json!({}))),
            Event::ApprovalRequested(ApprovalRequested { approval: "q1".into(), tool, ..Default::default() }),
            Event::ToolDenied(ToolDenied {
                call: "c1".into(),
                reason: reason.map(str::to_owned),
                ..Default::default()
            }),
        ];
        let mut state = RunState::default();
        for event in events {
            state.apply(&Record::new(0, event)).unwrap();
        }
        let page = page_message(&state.messages()[0]);
        assert_eq!(page["parts"][1]["content"], told, "{page}");
        assert_eq!(page["parts"][1]["state"], "complete");
    }
}
