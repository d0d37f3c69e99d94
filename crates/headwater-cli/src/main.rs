//! The `headwater` command.

use std::process::ExitCode;

/// Streams allocate many small buffers on one thread and free them on another, which mimalloc handles well.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Connection buffers are large and mostly untouched. Huge pages would make all of their memory resident:
    // an idle reader would need half as much memory again.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
    headwater_cli::main(headwater_cli::ProgramAgents::new())
}
