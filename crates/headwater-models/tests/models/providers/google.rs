use crate::recorded;

#[test]
fn recorded_contents_are_read_as_the_trusted_implementation_reads_them() {
    recorded::judge(&["gemini-generate"]);
}
