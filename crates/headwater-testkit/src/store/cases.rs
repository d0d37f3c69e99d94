//! The cases by topic.

mod journals;
mod leases;
mod limits;
mod reading;
pub(super) mod reopening;
mod restoring;
mod retention;
mod values;
mod watch;

use super::Case;

pub(super) const ALL: &[&[Case]] = &[
    journals::CASES,
    reading::CASES,
    leases::CASES,
    retention::CASES,
    values::CASES,
    watch::CASES,
    limits::CASES,
    restoring::CASES,
];
