use super::*;

#[test]
fn error_blames_a_parameter() {
    let reply =
        |status, code| error(&ErrorReply { status, code, message: "no", known: &[] })["error"].clone();
    assert_eq!(
        reply(404, "agent.unknown"),
        json!({ "message": "no", "type": "not_found_error", "param": "model", "code": "agent.unknown" })
    );
    assert_eq!(reply(503, "store.busy")["type"], "server_error");
    assert_eq!(reply(429, "runs.too-many")["type"], "rate_limit_error");
}
