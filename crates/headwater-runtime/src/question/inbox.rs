//! The inbox of a run: values for answers and stops beside the journal, which only the lease holder writes.

use headwater_protocol::{RequestId, RunId, ToolCallId};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::{id::derived_id, journal::AnswerValue};

/// An answer on its way to a run.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct QueuedAnswer {
    pub(crate) answer: AnswerValue,
    /// The end of the journal when it was given: a reader that follows the answer starts there.
    #[serde(default)]
    pub(crate) since: u64,
}

/// The request id of a hook, equal only for the same hook of the same run: a node that asks again after a
/// crash overwrites its earlier question.
pub(crate) fn request_id(run: &RunId, key: &str) -> RequestId {
    let mut digest = Sha256::new();
    digest.update(run.as_str());
    digest.update([0]);
    digest.update(key);
    let digest = digest.finalize();
    let mut content = [0; 10];
    content.iter_mut().zip(digest).for_each(|(byte, of_digest)| *byte = of_digest);
    derived_id("req", run, &content).into()
}

/// The request id for the output of a page's tool call.
pub(crate) fn client_request(run: &RunId, call: &ToolCallId) -> RequestId {
    request_id(run, &format!("client-tool/{call}"))
}
