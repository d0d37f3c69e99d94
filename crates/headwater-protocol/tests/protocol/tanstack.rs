//! The `tanstack` dialect against recordings of its real clients.
