//! Checks whether a stream follows the rules of its dialect.

use headwater_protocol::{Frame, FrameReader, Framing, Place};

use crate::{
    lint::{Finding, Findings},
    reader::Reader,
};

/// Checks a whole stream.
///
/// ```
/// use headwater_dialects::lint;
/// use headwater_protocol::Framing;
///
/// let kortyx = headwater_dialects::reader("kortyx").unwrap();
/// let findings = lint(kortyx, Framing::Sse, b"data: {\"type\":\"done\"}\n\ndata: {\"type\":\"status\",\"message\":\"late\"}\n\n");
/// assert!(findings.iter().any(|finding| finding.rule == "nothing-after-done"));
/// ```
#[must_use]
pub fn lint(dialect: &dyn Reader, framing: Framing, stream: &[u8]) -> Vec<Finding> {
    let mut linter = dialect.linter();
    linter.stream(framing, stream);
    let mut findings = Findings::default();
    let mut reader = FrameReader::new(framing).with_tail(dialect.tail());
    let mut check = |frame: Result<Frame<'_>, headwater_protocol::FramingError>| match frame {
        Ok(frame) => {
            findings.place = Some(Place { frame: frame.index, offset: frame.offset });
            linter.frame(&frame, &mut findings);
        }
        Err(error) => {
            let error = headwater_protocol::Error::from(error);
            findings.place = error.place();
            findings.add("framing", error.message(), "a frame within the limits");
        }
    };
    reader.push(stream, &mut check);
    reader.finish(&mut check);
    findings.place = None;
    linter.end(&mut findings);
    let known = |finding: &Finding| dialect.lint_rules().iter().any(|rule| rule.name == finding.rule);
    debug_assert!(findings.found.iter().all(|finding| finding.rule == "framing" || known(finding)));
    findings.found
}
