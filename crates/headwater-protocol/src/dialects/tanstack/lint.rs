//! stub
use crate::{
    framing::Frame,
    lint::{Findings, Lint, Rule},
};
#[derive(Debug, Default)]
pub(super) struct Linter;
pub(super) static RULES: [Rule; 1] = [Rule { name: "json", demands: "x" }];
impl Lint for Linter {
    fn frame(&mut self, _frame: &Frame<'_>, _findings: &mut Findings) {}
    fn end(&mut self, _findings: &mut Findings) {}
}
