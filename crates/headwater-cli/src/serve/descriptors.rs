//! How many files and connections the process may have open.

/// Raises the limit on open files as far as the process may. Many systems begin with 1,024, for the sake of programs that
/// use `select`; this one does not.
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
            tracing::debug!(from = limit.current, to = limit.maximum, "the limit on open files is raised");
        }
        Err(error) => {
            tracing::warn!(%error, limit = limit.current, "the limit on open files cannot be raised");
        }
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn raise() {}
