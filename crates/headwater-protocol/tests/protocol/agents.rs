//! The `agents` dialect against recordings of its real clients.
