//! Waiting for the end of a run that is being stopped.

use std::time::Duration;

use headwater_runtime::Run;

use crate::ApiError;

/// How long the response to a stop waits for the run to end. Models and tools have at most three seconds.
const STOP_PATIENCE: Duration = Duration::from_secs(5);

/// Whether a run ends because of a stop, and not independently. One that takes longer to end than the
/// response waits counts as stopped, since the stop is durable.
pub(crate) async fn ended_by_stop(run: &Run) -> Result<bool, ApiError> {
    Ok(run.ended_by_stop(STOP_PATIENCE).await?.unwrap_or(true))
}
