//! x
use crate::lint::{Findings, Lint, Rule};
pub(super) const RULES: &[Rule] = &[Rule { name: "x", demands: "x" }];
#[derive(Debug, Default)]
pub(super) struct Linter;
impl Lint for Linter {
    fn frame(&mut self, _: &crate::framing::Frame<'_>, _: &mut Findings) {}
    fn end(&mut self, _: &mut Findings) {}
}
