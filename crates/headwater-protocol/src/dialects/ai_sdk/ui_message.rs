//! Messages of the page.
