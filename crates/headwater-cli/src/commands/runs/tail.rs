//! `headwater runs tail`.

use std::{
    io::{self, Write},
    rc::Rc,
};

use clap::Args;
use headwater_client::{ConnectionStatus, RunStream, Update};
use headwater_protocol::RunStatus;

use crate::{
    commands::{inspect::LiveRows, remote::RemoteArgs},
    failure::{CommandFailure, ExitVerdict},
    server_args::block_on,
    style,
};

/// Follow a run: its messages, tools and questions as they happen.
///
/// A connection that is lost is made again. The exit code is 1 if the run failed or was stopped. Ctrl-C ends the
/// command, not the run.
#[derive(Debug, Args)]
pub(super) struct TailRun {
    /// The id of the run.
    run: String,

    /// Leave out what has happened already.
    #[arg(long)]
    from_now: bool,

    /// End when the run waits for an answer, instead of when it has ended.
    #[arg(long)]
    until_wait: bool,

    /// Do not abbreviate inputs, outputs and data.
    #[arg(long)]
    full: bool,

    #[command(flatten)]
    remote: RemoteArgs,
}

impl TailRun {
    pub(super) fn run(&self) -> Result<ExitVerdict, CommandFailure> {
        block_on(async {
            let run = self.remote.client().run(&self.run);
            let mut stream = run.follow();
            if self.from_now {
                // An ended run has no events from now on.
                run.show().await?;
                stream = stream.from_now();
            }
            if self.until_wait {
                stream = stream.until_wait();
            }
            self.follow(&mut stream).await?;
            let status = stream.state().run().status;
            Ok(ExitVerdict::at_fault_if(matches!(status, RunStatus::Failed | RunStatus::Cancelled)))
        })
    }

    async fn follow(&self, stream: &mut RunStream) -> Result<(), CommandFailure> {
        let mut rows = LiveRows::new(self.full);
        // Not locked: notes are printed in between.
        let mut out: Box<dyn Write> = match self.remote.json {
            true => Box::new(io::stdout()),
            false => Box::new(anstream::stdout()),
        };
        while let Some(update) = stream.next().await? {
            match update {
                Update::Event(event) if event.replay => {}
                Update::Event(event) if self.remote.json => {
                    let mut line = serde_json::to_vec(&event.record)?;
                    line.push(b'\n');
                    out.write_all(&line)?;
                }
                Update::Event(event) => {
                    rows.record(None, &Rc::new(event.record), &mut *out)?;
                    rows.print(&mut *out)?;
                }
                Update::Connection(ConnectionStatus::Lost { error, retry_in }) => {
                    style::note(&format!("{error}: connecting again in {:.1} s", retry_in.as_secs_f32()));
                }
                Update::Connection(ConnectionStatus::Queued) => style::note("the run is queued"),
                _ => {}
            }
            out.flush()?;
        }
        rows.finish(&mut *out)?;
        Ok(out.flush()?)
    }
}
