//! One line of a bench's output.

/// So many events of a stream, taken through something, in so many seconds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Measurement {
    pub(super) dialect: String,
    pub(super) stream: String,
    pub(super) what: String,
    pub(super) events: f64,
    pub(super) seconds: f64,
}

impl Measurement {
    /// Reads one flat object whose texts hold no escapes; any other line is not a measurement.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let line = line.trim();
        if !line.starts_with('{') {
            return None;
        }
        let text = |name| text(line, name);
        let number = |name| number(line, name).filter(|number| *number > 0.0);
        Some(Self {
            dialect: text("dialect")?,
            stream: text("stream")?,
            what: text("what")?,
            events: number("events")?,
            seconds: number("seconds")?,
        })
    }

    /// What the stream is made of, without its size.
    pub(super) fn kind(&self) -> &str {
        self.stream.split_once('@').map_or(&self.stream, |(kind, _)| kind)
    }

    /// The size that the stream is named after, as in `text@10000`.
    pub(super) fn size(&self) -> Option<u64> {
        self.stream.split_once('@').and_then(|(_, size)| size.parse().ok())
    }

    pub(super) fn events_per_second(&self) -> f64 {
        self.events / self.seconds
    }
}

/// The text of a member, which holds no escapes.
pub(super) fn text(line: &str, name: &str) -> Option<String> {
    Some(member(line, name)?.strip_prefix('"')?.split_once('"')?.0.to_owned())
}

/// The number of a member.
pub(super) fn number(line: &str, name: &str) -> Option<f64> {
    member(line, name)?.split([',', '}']).next()?.trim().parse().ok()
}

/// What follows `"name":`.
fn member<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(&format!("\"{name}\""))?;
    Some(rest.trim_start().strip_prefix(':')?.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_is_read_with_and_without_spaces() {
        let expected = Measurement {
            dialect: "ai-sdk".into(),
            stream: "text".into(),
            what: "vendor encode".into(),
            events: 12_800.0,
            seconds: 0.14196,
        };
        let lines = [
            r#"{"dialect":"ai-sdk","stream":"text","what":"vendor encode","events":12800,"seconds":0.14196}"#,
            r#"{ "events": 12800, "seconds": 1.4196e-1, "dialect": "ai-sdk", "stream": "text", "what": "vendor encode" }"#,
        ];
        for line in lines {
            assert_eq!(Measurement::parse(line), Some(expected.clone()));
        }
    }

    #[test]
    fn other_lines_and_empty_measurements_are_left_out() {
        assert_eq!(Measurement::parse("running 0 tests"), None);
        let never = r#"{"dialect":"mui","stream":"text","what":"encode","events":10,"seconds":0}"#;
        assert_eq!(Measurement::parse(never), None);
    }
}
