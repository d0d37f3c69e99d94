//! The `mui` dialect against recordings of its real clients.
