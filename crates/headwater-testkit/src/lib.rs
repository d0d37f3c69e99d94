//! What tests of Headwater share, and what those who write a store of their own test it with.

pub mod disk;
pub mod random;
pub mod store;
