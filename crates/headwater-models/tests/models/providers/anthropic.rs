use crate::recorded;

#[test]
fn anthropic_recordings_decode_like_the_reference() {
    recorded::judge(&["anthropic-messages"]);
}
