//! The limit on open files and connections.

/// Raises the limit on open files to the allowed maximum. Many systems start with 1,024 for programs that use
/// `select`, which this one does not.
#[cfg(target_os = "linux")]
pub(super) fn raise() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    if limit.current == limit.maximum {
        return;
    }
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => {
            tracing::debug!(from = limit.current, to = limit.maximum, "raised the limit on open files");
        }
        Err(error) => {
            tracing::warn!(%error, limit = limit.current, "cannot raise the limit on open files");
        }
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn raise() {}
