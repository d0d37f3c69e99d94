//! The `ai_sdk` dialect against recordings of its real clients.
