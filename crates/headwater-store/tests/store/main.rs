//! Every store is held to the behaviour that is written once, in the testkit.

mod memory;
