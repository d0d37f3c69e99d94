//! AG-UI.

use crate::{
    decode::Decode,
    dialect::{Dialect, Profile, Support},
    encode::{Encode, EncodeOptions},
    error::Error,
    event::EventKind,
    framing::Frame,
    lint::{Lint, Rule},
    request::{ChatRequest, RawRequest},
};

/// AG-UI.
#[derive(Debug, Clone, Copy)]
pub struct AgUi;

#[expect(clippy::unimplemented, reason = "laid out before it is built")]
impl Dialect for AgUi {
    fn name(&self) -> &'static str {
        "ag-ui"
    }
    fn about(&self) -> &'static str {
        "AG-UI."
    }
    fn profiles(&self) -> &'static [Profile] {
        &[Profile::PLAIN]
    }
    fn support(&self, _kind: EventKind, _profile: &Profile) -> Support {
        Support::Dropped
    }
    fn encoder(&self, _options: &EncodeOptions) -> Box<dyn Encode> {
        unimplemented!()
    }
    fn decoder(&self) -> Box<dyn Decode> {
        unimplemented!()
    }
    fn linter(&self) -> Box<dyn Lint> {
        unimplemented!()
    }
    fn lint_rules(&self) -> &'static [Rule] {
        &[]
    }
    fn parse_request(&self, _request: &RawRequest<'_>) -> Result<ChatRequest, Error> {
        unimplemented!()
    }
    fn recognise(&self, _frame: &Frame<'_>) -> u8 {
        0
    }
}
