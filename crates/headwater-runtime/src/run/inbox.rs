//! Where answers and stops wait for the run: values beside the journal, which only the holder of the lease writes.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use headwater_protocol::{RequestId, RunId};
use sha2::{Digest as _, Sha256};

/// The keys under which what is sent to runs is kept.
pub(crate) const INBOX: &str = "inbox/";

/// The keys under which it is noted that something was sent to a run and not taken yet.
pub(crate) const MAIL: &str = "mail/";

/// What a stop is called where a request would be.
const STOP: &str = "!stop";

/// Where the answer to a request is kept.
pub(crate) fn inbox_key(run: &RunId, request: &RequestId) -> String {
    format!("{INBOX}{run}/{request}")
}

/// Where the wish to stop a run is kept.
pub(crate) fn stop_key(run: &RunId) -> String {
    format!("{INBOX}{run}/{STOP}")
}

/// Where it is noted what a value of the inbox is. The note goes when the run has taken the value; until then the run is
/// found by whoever looks after runs, also if the sender died before it could wake anybody.
pub(crate) fn mail_key(inbox: &str) -> String {
    format!("{MAIL}{}", inbox.strip_prefix(INBOX).unwrap_or(inbox))
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
