use crate::recorded;

#[test]
fn recorded_messages_are_read_as_the_trusted_implementation_reads_them() {
    recorded::judge(&["anthropic-messages"]);
}
