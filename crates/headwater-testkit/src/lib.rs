//! What tests of Headwater share, and what those who write a store of their own test it with.

pub mod balancer;
pub mod disk;
#[cfg(unix)]
pub mod engines;
pub mod random;
pub mod store;
