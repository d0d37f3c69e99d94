//! What follows.
