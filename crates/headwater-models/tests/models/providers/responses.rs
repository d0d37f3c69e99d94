use crate::recorded;

#[test]
fn recorded_responses_are_read_as_the_trusted_implementation_reads_them() {
    recorded::judge(&["openai-responses"]);
}
