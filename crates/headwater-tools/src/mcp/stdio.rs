//! A transport over the pipes of a process, which ends with the transport.

use std::{future::Future, io, time::Duration};

use rmcp::{
    RoleClient,
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::{Transport, async_rw::AsyncRwTransport},
};
use tokio::{process::ChildStdin, time::timeout};

use super::process::{Process, ProcessExit, ProcessOutput, Program};
use crate::Result;

/// Time limit for writing the last message.
const FLUSH: Duration = Duration::from_secs(1);

/// The pipes and the process at the other end.
pub(super) struct StdioTransport {
    pipes: AsyncRwTransport<RoleClient, ProcessOutput, ChildStdin>,
    process: Process,
    over: bool,
}

impl StdioTransport {
    /// Starts a program.
    pub(super) fn start(program: &Program) -> Result<(Self, ProcessExit)> {
        let (process, output, input) = program.start()?;
        let ending = process.ending();
        // `ProcessOutput` has its own limit and reports it as an error.
        let pipes = AsyncRwTransport::new_client(output, input).with_max_line_length(usize::MAX);
        Ok((Self { pipes, process, over: false }, ending))
    }
}

impl Transport<RoleClient> for StdioTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.pipes.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        // A process may exit and leave its output open to a child, so both are watched. Output written before
        // the exit is still read.
        if !self.over {
            tokio::select! {
                biased;
                message = self.pipes.receive() => {
                    if message.is_none() {
                        self.process.ended_soon().await;
                    }
                    return message;
                }
                () = self.process.ended() => self.over = true,
            }
        }
        self.pipes.receive().await
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        // A process that does not read its input would block the flush forever.
        let _ = timeout(FLUSH, self.pipes.close()).await;
        self.process.stop().await;
        Ok(())
    }
}
