//! The real binary, on the example streams and on garbage.

mod convert;
mod dialects;
mod extract;
mod garbage;
mod inspect;
mod lint;
mod reduce;
mod run;
mod structured;
mod usage;
