//! Servers that others wrote, unmodified. `cargo xtask test` installs them and says where they are.
