//! The `kortyx` dialect against recordings of its real clients.
