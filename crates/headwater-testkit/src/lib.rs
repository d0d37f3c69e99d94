//! Test support for Headwater, including a test suite for custom store implementations.

pub mod balancer;
pub mod disk;
#[cfg(unix)]
pub mod engines;
pub mod random;
pub mod store;
