//! What the tests of every engine share.

use std::{sync::Arc, time::Duration};

use headwater_store::{
    Store,
    remote::{EngineTime, Options},
};
use headwater_testkit::store::Setup;

/// Options with the limits of a case, and its clock instead of the engine's.
pub(crate) fn options(setup: &Setup) -> Options {
    let mut options = Options::default();
    options.clock = setup.clock.clone();
    options.engine_time = EngineTime::Simulated;
    options.max_record_bytes = setup.limits.record_bytes;
    options.max_value_bytes = setup.limits.value_bytes;
    options.max_journal_bytes = setup.limits.journal_bytes;
    // A watch that looks again unasked would wake where a case expects it to sleep.
    options.poll = Duration::from_secs(600);
    options
}

/// A store that a case may own.
pub(crate) fn shared(store: impl Store) -> Arc<dyn Store> {
    Arc::new(store)
}
