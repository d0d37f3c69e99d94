//! Finds the beginning of the value after prose.

/// What precedes the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lead {
    /// Only whitespace and a byte order mark.
    Blank,
    /// Prose; `fresh` while the current line has only whitespace.
    Prose { fresh: bool },
    /// A bracket after prose, followed by whitespace so far.
    Bracket { open: u8, fresh: bool },
}

/// The result of reading one more byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LeadStep {
    /// The value has not begun.
    Nothing(Lead),
    /// The value begins with this byte, a bracket.
    Here,
    /// The value began with this earlier bracket, and this byte is the first inside it.
    Before(u8),
}

impl Lead {
    pub(super) fn next(self, byte: u8) -> LeadStep {
        let blank = matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
        match self {
            Self::Blank if blank => LeadStep::Nothing(self),
            Self::Blank if matches!(byte, b'{' | b'[') => LeadStep::Here,
            Self::Blank => LeadStep::Nothing(Self::Prose { fresh: false }),
            Self::Bracket { .. } if blank => LeadStep::Nothing(self),
            Self::Bracket { open, fresh } if begins(open, byte, fresh) => LeadStep::Before(open),
            Self::Bracket { .. } => Self::Prose { fresh: false }.next(byte),
            Self::Prose { fresh } => LeadStep::Nothing(match byte {
                b'\n' => Self::Prose { fresh: true },
                b'{' | b'[' => Self::Bracket { open: byte, fresh },
                _ => Self::Prose { fresh: fresh && blank },
            }),
        }
    }
}

/// Whether a bracket after prose begins a value, given the first byte inside it.
fn begins(open: u8, first: u8, fresh: bool) -> bool {
    match (open, first) {
        (b'{', b'"') | (b'[', b'{' | b'"') => true,
        (b'{', b'}') | (b'[', b'[' | b']' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n') => fresh,
        _ => false,
    }
}
