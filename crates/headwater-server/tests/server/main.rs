//! The server over real sockets.

mod harness;
mod resume;
mod talk;
