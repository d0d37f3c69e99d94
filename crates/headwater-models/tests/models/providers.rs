//! Each provider's wire format against its recordings.

mod anthropic;
mod chat;
mod google;
mod responses;
