//! The names of responses: the run, and the record after which the response begins.

use headwater_protocol::RunId;

use crate::request::AnswerRef;

const PREFIX: &str = "resp_";

/// The name of the response of a run that begins after a record.
pub(super) fn response(run: &RunId, since: u64) -> String {
    format!("{PREFIX}{run}.{since}")
}

/// The response of a name.
pub(super) fn parse(name: &str) -> Option<AnswerRef> {
    // A run may have a dot in its name, so the number is always there.
    let (run, since) = name.strip_prefix(PREFIX)?.rsplit_once('.')?;
    let digits = !since.is_empty() && since.bytes().all(|byte| byte.is_ascii_digit());
    let since = since.parse().ok().filter(|_| digits)?;
    (!run.is_empty()).then(|| AnswerRef { run: run.into(), since })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn response_is_found_by_its_name() {
        for (run, since) in [("run_1", 0), ("job.7", 12), ("resp_x.1", u64::MAX)] {
            let name = response(&run.into(), since);
            assert_eq!(parse(&name), Some(AnswerRef { run: run.into(), since }), "{name}");
        }
    }

    #[test]
    fn names_of_others_are_unknown() {
        for name in
            ["", "resp_", "resp_.1", "resp_68af", "run_1.0", "resp_run_1.", "resp_run_1.+1", "resp_a.1e3"]
        {
            assert_eq!(parse(name), None, "{name}");
        }
    }
}
