//! Finding where the value begins, when something comes before it.

/// What has been read before the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lead {
    /// Nothing but white space and a byte order mark.
    Blank,
    /// Prose; `fresh` while there is only white space on this line.
    Prose { fresh: bool },
    /// A bracket in prose, and white space after it.
    Bracket { open: u8, fresh: bool },
}

/// What one more byte says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// The value has not begun.
    Nothing(Lead),
    /// The value begins with this byte, which is a bracket.
    Here,
    /// The value has begun with this bracket, and the byte is the first thing in it.
    Before(u8),
}

impl Lead {
    pub(super) fn next(self, byte: u8) -> Found {
        let blank = matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
        match self {
            Self::Blank if blank => Found::Nothing(self),
            Self::Blank if matches!(byte, b'{' | b'[') => Found::Here,
            Self::Blank => Found::Nothing(Self::Prose { fresh: false }),
            Self::Bracket { .. } if blank => Found::Nothing(self),
            Self::Bracket { open, fresh } if begins(open, byte, fresh) => Found::Before(open),
            Self::Bracket { .. } => Self::Prose { fresh: false }.next(byte),
            Self::Prose { fresh } => Found::Nothing(match byte {
                b'\n' => Self::Prose { fresh: true },
                b'{' | b'[' => Self::Bracket { open: byte, fresh },
                _ => Self::Prose { fresh: fresh && blank },
            }),
        }
    }
}

/// Whether a bracket in prose with this byte after it begins a value.
fn begins(open: u8, first: u8, fresh: bool) -> bool {
    match (open, first) {
        (b'{', b'"') | (b'[', b'{' | b'"') => true,
        (b'{', b'}') | (b'[', b'[' | b']' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n') => fresh,
        _ => false,
    }
}
