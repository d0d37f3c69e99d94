//! How an agent treats its runs.

use std::time::Duration;

use crate::PriceList;

/// How an agent treats its runs.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AgentOptions {
    /// How long a run may wait for an answer: 7 days.
    pub max_wait: Duration,
    /// How long a run that has ended is kept: 7 days.
    pub keep: Duration,
    /// Whether a [notice](crate::RunNotice) is written when a run ends or begins to wait: no. A server with webhooks takes them.
    pub notices: bool,
    /// What models cost, for the costs in [summaries](crate::RunSummary::cost_nanos).
    pub prices: PriceList,
    /// How much data and state a run may have: 256 KiB.
    pub max_state_bytes: usize,
    /// How often one workflow may hand over to another in a run: 32.
    pub max_transitions: u32,
    /// Whether a hook that is called with something else than the journal says stops the run, instead of a warning.
    pub strict_replay: bool,
    /// How long a process that died keeps its runs from being taken over: 30 s. A lease is renewed three times as often.
    pub lease: Duration,
    /// How long a run whose workflow file has changed is left to processes that still have the file it began with, before it
    /// fails with `workflow.changed`: not at all. Set it where several processes share the store and are upgraded one after
    /// another. A run of a workflow with a `version` of its own waits as long as it takes.
    pub version_wait: Duration,
    /// The bytes that a run may have in its journal: 128 MiB. A run that would have more fails with `run.too-large`.
    pub max_run_bytes: u64,
    /// The bytes that one answer of a model may have, with its reasoning and the inputs of its tool calls: 4 MiB. A run
    /// whose model says more fails with `model.output-too-large`.
    pub max_answer_bytes: usize,
    /// The bytes that one tool call may give, as JSON: 4 MiB. A call that gives more fails, and the model gets that error.
    pub max_tool_output_bytes: usize,
    /// How often a run may be taken over in a row without getting any further: 10. Then it fails with `run.abandoned`.
    pub max_takeovers: u32,
    /// Whether a run may ask its page for something, an answer, an approval or what a tool of the page gives: yes. Some pages
    /// are shown what the server's tools do only at the end of such a run.
    pub asks: bool,
}

impl Default for AgentOptions {
    fn default() -> Self {
        let week = Duration::from_secs(7 * 24 * 60 * 60);
        Self {
            max_wait: week,
            keep: week,
            notices: false,
            prices: PriceList::default(),
            max_state_bytes: 256 << 10,
            max_transitions: 32,
            strict_replay: false,
            lease: Duration::from_secs(30),
            version_wait: Duration::ZERO,
            max_run_bytes: 128 << 20,
            max_answer_bytes: 4 << 20,
            max_tool_output_bytes: 4 << 20,
            max_takeovers: 10,
            asks: true,
        }
    }
}
