//! What the embedded store does on a real folder, driven step by step: no thread, no clock, no luck.

mod damage;
mod durability;
mod journals;
mod space;
mod support;
mod values;
