//! The `headwater` command.

use std::process::ExitCode;

/// Many small pieces of many streams are taken by one thread and given back by another.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // A connection has buffers that it hardly uses: in huge pages all of them would be there, and a reader that waits
    // would take half as much again.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
    headwater_cli::main(headwater_cli::Agents::new())
}
