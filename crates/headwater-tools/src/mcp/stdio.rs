//! A transport over the pipes of a process that ends with it.

use std::{future::Future, io, time::Duration};

use rmcp::{
    RoleClient,
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::{Transport, async_rw::AsyncRwTransport},
};
use tokio::{process::ChildStdin, time::timeout};

use super::process::{Ending, Output, Process, Program};
use crate::Result;

/// How long the last message may take to be written.
const FLUSH: Duration = Duration::from_secs(1);

/// The pipes, and the process at their other end.
pub(super) struct StdioTransport {
    pipes: AsyncRwTransport<RoleClient, Output, ChildStdin>,
    process: Process,
    over: bool,
}

impl StdioTransport {
    /// Starts a program.
    pub(super) fn start(program: &Program) -> Result<(Self, Ending)> {
        let (process, output, input) = program.start()?;
        let ending = process.ending();
        // The output has a limit of its own, which it reports.
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
        // A process may end and leave its output open to another that it started, so both are watched. What it said before
        // is still read.
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
        // A process that does not read its input keeps a writer waiting, and with it whoever wants to close.
        let _ = timeout(FLUSH, self.pipes.close()).await;
        self.process.stop().await;
        Ok(())
    }
}
