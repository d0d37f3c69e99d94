//! Where answers and stops wait for the run: values beside the journal, which only the holder of the lease writes.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use headwater_protocol::{RequestId, RunId};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::journal::Answer;

/// The keys under which what is sent to runs is kept.
pub(crate) const INBOX: &str = "inbox/";

/// What the wish to stop a run is called among what is sent to it: it comes before any request.
pub(crate) const STOP: &str = "!stop";

/// An answer on its way to a run. The id tells apart answers to one request that are sent at the same time.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Sent {
    pub(crate) id: String,
    pub(crate) answer: Answer,
}

/// Where the answer to a request is kept.
pub(crate) fn inbox_key(run: &RunId, request: &RequestId) -> String {
    format!("{INBOX}{run}/{request}")
}

/// Where the wish to stop a run is kept.
pub(crate) fn stop_key(run: &RunId) -> String {
    format!("{INBOX}{run}/{STOP}")
}

/// The same for the same hook of the same run, and for no other in any run.
pub(crate) fn request_id(run: &RunId, key: &str) -> RequestId {
    let mut digest = Sha256::new();
    digest.update(run.as_str());
    digest.update([0]);
    digest.update(key);
    let digest = digest.finalize();
    let short: Vec<u8> = digest.iter().copied().take(12).collect();
    format!("req_{}", URL_SAFE_NO_PAD.encode(short)).into()
}
