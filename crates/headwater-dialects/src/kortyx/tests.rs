use super::*;

#[test]
fn kortyx_frames_are_recognised_and_others_are_not() {
    let sure = |event: Option<&'static str>, data: &'static str| {
        Kortyx.recognise(&Frame { event, id: None, data, offset: 0, index: 0 })
    };
    for own in [
        r#"{"type":"session","sessionId":"s"}"#,
        r#"{"type":"structured-data","streamId":"s","dataType":"t","kind":"final"}"#,
        r#"{"type":"text-delta","node":"n","delta":"a"}"#,
        r#"{"type":"tool-call-start","tool":"t","toolCallId":"c"}"#,
    ] {
        assert!(sure(None, own) > 90, "{own}");
        assert_eq!(sure(Some("message.delta"), own), 0, "it has no event names");
    }
    for foreign in [
        r#"{"type":"done","id":"x","model":"m","timestamp":1,"finishReason":"stop"}"#,
        r#"{"type":"error","errorText":"x"}"#,
        r#"{"type":"text-start","id":"t1"}"#,
        r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#,
        r#"{"sequence":1,"chunk":{"type":"text-delta"}}"#,
        "[DONE]",
    ] {
        assert!(sure(None, foreign) <= 30, "{foreign}");
    }
}
