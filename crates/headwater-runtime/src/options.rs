//! Options of an agent's runs.

use std::time::Duration;

use crate::PriceList;

/// Options of an agent's runs.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AgentOptions {
    /// How long a run may wait for an answer: 7 days.
    pub max_wait: Duration,
    /// How long an ended run is kept: 7 days.
    pub keep: Duration,
    /// Whether a [notice](crate::RunNotice) is written when a run ends or starts to wait: no. Servers with
    /// webhooks need it.
    pub notices: bool,
    /// Prices of models, for the costs in [summaries](crate::RunSummary::cost_nanos).
    pub prices: PriceList,
    /// Maximum size of a run's data and state: 256 KiB.
    pub max_state_bytes: usize,
    /// Maximum number of handovers between workflows in a run: 32.
    pub max_transitions: u32,
    /// Whether a hook input that differs from the journal stops the run, instead of a warning.
    pub strict_replay: bool,
    /// Lease duration: how long a dead process blocks others from taking its runs over. 30 s; renewed every
    /// third of it.
    pub lease: Duration,
    /// How long a run whose workflow file has changed is left to processes that still have the original file,
    /// before it fails with `workflow.changed`: not at all. Set it if several processes share the store and
    /// are upgraded one after another. A run of a workflow with an explicit `version` waits without a limit.
    pub version_wait: Duration,
    /// Maximum bytes of a run's journal: 128 MiB. A run that exceeds it fails with `run.too-large`.
    pub max_run_bytes: u64,
    /// Maximum bytes of one model answer, with its reasoning and the inputs of its tool calls: 4 MiB. A run
    /// that exceeds it fails with `model.output-too-large`.
    pub max_answer_bytes: usize,
    /// Maximum bytes of one tool call's output, as JSON: 4 MiB. A call that exceeds it fails, and the model
    /// gets that error.
    pub max_tool_output_bytes: usize,
    /// Maximum number of consecutive takeovers without progress: 10. Then the run fails with `run.abandoned`.
    pub max_takeovers: u32,
    /// Whether a run may wait for its page: an answer, an approval or the output of a page tool. Default:
    /// yes. Some pages receive the server's tool calls only at the end of such a run.
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
