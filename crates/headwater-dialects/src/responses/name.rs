//! The names of responses: the run, and the record after which the response begins.

use headwater_protocol::RunId;

use crate::request::AnswerRef;

const PREFIX: &str = "resp_";

/// The name of the response that begins after a record of a run.
pub(super) fn response(run: &RunId, since: u64) -> String {
    format!("{PREFIX}{run}.{since}")
}

/// Parses the name of a response.
pub(super) fn parse(name: &str) -> Option<AnswerRef> {
    // A run id may contain a dot, so the number is always present.
    let (run, since) = name.strip_prefix(PREFIX)?.rsplit_once('.')?;
    let digits = !since.is_empty() && since.bytes().all(|byte| byte.is_ascii_digit());
    let since = since.parse().ok().filter(|_| digits)?;
    (!run.is_empty()).then(|| AnswerRef { run: run.into(), since })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn response_name_round_trips() {
        for (run, since) in [("run_1", 0), ("job.7", 12), ("resp_x.1", u64::MAX)] {
            let name = response(&run.into(), since);
            assert_eq!(parse(&name), Some(AnswerRef { run: run.into(), since }), "{name}");
        }
    }

    #[test]
    fn foreign_response_names_are_unknown() {
        for name in
            ["", "resp_", "resp_.1", "resp_68af", "run_1.0", "resp_run_1.", "resp_run_1.+1", "resp_a.1e3"]
        {
            assert_eq!(parse(name), None, "{name}");
        }
    }
}
