//! Each provider's wire against its recordings.

mod anthropic;
mod chat;
mod google;
mod responses;
