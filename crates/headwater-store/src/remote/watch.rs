//! Watches of values in this process.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::Notify;

use crate::Watch;

/// All watches. A watch that was dropped goes with the next change.
#[derive(Debug, Default)]
pub(super) struct Watches(Mutex<Vec<(Box<str>, Weak<Notify>)>>);

impl Watches {
    fn list(&self) -> MutexGuard<'_, Vec<(Box<str>, Weak<Notify>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn watch(&self, prefix: &str) -> Watch {
        let notify = Arc::new(Notify::new());
        let mut list = self.list();
        list.retain(|(_, watch)| watch.strong_count() > 0);
        list.push((prefix.into(), Arc::downgrade(&notify)));
        Watch::new(notify)
    }

    /// Wakes the watches of a key.
    pub(super) fn changed(&self, key: &str) {
        self.wake(|prefix| key.starts_with(prefix));
    }

    /// Wakes all watches: announcements may have been lost.
    pub(super) fn changed_unknown(&self) {
        self.wake(|_| true);
    }

    fn wake(&self, concerns: impl Fn(&str) -> bool) {
        self.list().retain(|(prefix, watch)| {
            let Some(notify) = watch.upgrade() else { return false };
            if concerns(prefix) {
                notify.notify_one();
            }
            true
        });
    }
}
