//! The `ag_ui` dialect against recordings of its real clients.
