//! `headwater replay`: replays recorded runs against today's code and compares the bytes that clients get.

mod golden;

use std::{io::Write, path::PathBuf, sync::Arc};

use clap::Args;
use headwater_protocol::RunId;
use headwater_runtime::{Agent, AgentFile, Divergence, JournalEntry, RecordReader, ReplayReport, replay};
use headwater_store::Store;
use serde_json::{Value, json};

use super::store::StoreLocation;
use crate::{
    ProgramAgents, agents, demo,
    failure::{CommandFailure, ExitVerdict},
    style::{self, BOLD, DIM, GREEN, RED, printable},
};

/// Replay a recorded run with today's code and report the first difference.
///
/// Results of models, tools and people come from the run's journal, which is only read; its server may run
/// meanwhile. With --golden the
/// run's events are also written in every dialect, as files in DIR, or compared with the files that exist
/// there. Without a RUN, --golden checks every run in DIR.
#[derive(Debug, Args)]
pub(crate) struct ReplayCommand {
    /// The id of the run.
    #[arg(required_unless_present = "golden")]
    run: Option<String>,

    /// The files of the agents that may have started it.
    #[arg(value_name = "AGENT.yaml")]
    files: Vec<PathBuf>,

    /// The store with the run: a folder or a URL; default: the store of the settings.
    #[arg(long)]
    store: Option<StoreLocation>,

    /// Write or compare the bytes that clients get in each dialect.
    #[arg(long, value_name = "DIR")]
    golden: Option<PathBuf>,

    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

impl ReplayCommand {
    pub(crate) fn run(&self, agents: &ProgramAgents) -> Result<ExitVerdict, CommandFailure> {
        let mut out = style::stdout(self.json);
        let verdict = match (&self.run, &self.golden) {
            (Some(run), _) => self.replay(run, agents, &mut out)?,
            (None, Some(folder)) => {
                let checked = golden::check_all(folder)?;
                self.print_golden(&checked, &mut out)?
            }
            (None, None) => {
                return Err(CommandFailure::new("give the id of a run, or a folder with --golden"));
            }
        };
        out.flush()?;
        Ok(verdict)
    }

    fn replay(
        &self,
        run: &str,
        agents: &ProgramAgents,
        out: &mut dyn Write,
    ) -> Result<ExitVerdict, CommandFailure> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| CommandFailure::new(format!("cannot start: {error}")))?;
        runtime.block_on(async {
            let read = StoreLocation::or_settings(self.store.as_ref())?.open_to_read().await?;
            let store = &read.store;
            let agent = self.agent_of(run, store, agents).await?;
            let replayed =
                replay(&agent, run).await.map_err(|error| CommandFailure::new(error.to_string()))?;
            let bytes = match &self.golden {
                Some(folder) => {
                    let entries = agent
                        .run(run)
                        .entries()
                        .await
                        .map_err(|error| CommandFailure::new(error.to_string()))?;
                    let records = entries.into_iter().filter_map(|entry| match entry {
                        JournalEntry::Event(record) => Some(*record),
                        _ => None,
                    });
                    let run = RunId::from(run);
                    let before = agent.conversation_before(&run).await;
                    let before = before.map_err(|error| CommandFailure::new(error.to_string()))?;
                    Some(golden::keep(folder, &run, &records.collect::<Vec<_>>(), before)?)
                }
                None => None,
            };
            let is_same = replayed.is_same();
            if self.json {
                serde_json::to_writer_pretty(&mut *out, &as_json(&replayed, bytes.as_ref()))?;
                writeln!(out)?;
            } else {
                print_report(&replayed, out)?;
                if let Some(bytes) = &bytes {
                    self.print_golden(std::slice::from_ref(bytes), out)?;
                }
            }
            let bytes_differ = bytes.is_some_and(|bytes| !bytes.differences.is_empty());
            Ok(ExitVerdict::at_fault_if(!is_same || bytes_differ))
        })
    }

    /// Builds the agent that started a run.
    async fn agent_of(
        &self,
        run: &str,
        store: &Arc<dyn Store>,
        agents: &ProgramAgents,
    ) -> Result<Agent, CommandFailure> {
        let mut known: Vec<String> = agents.names().map(str::to_owned).collect();
        let mut files = Vec::new();
        for path in &self.files {
            let file = AgentFile::read(path).map_err(|errors| CommandFailure::new(errors.to_string()))?;
            known.push(file.name().to_owned());
            files.push(file);
        }
        let name = began(store, run).await?;
        if let Some(file) = files.iter().find(|file| file.name() == name) {
            return agents::of_file(file, store.clone());
        }
        if let Some(made) = agents.make(&name, store.clone()) {
            return made;
        }
        let demo = demo::agent(&name, store).map_err(|error| CommandFailure::new(error.to_string()))?;
        demo.ok_or_else(|| {
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            let message = format!(
                "run {run} belongs to agent `{name}`, which is not known here (known: {known}): give its file after the run"
            );
            CommandFailure::new(message)
        })
    }

    fn print_golden(
        &self,
        all: &[golden::GoldenResult],
        out: &mut dyn Write,
    ) -> Result<ExitVerdict, CommandFailure> {
        let is_wrong = all.iter().any(|checked| !checked.differences.is_empty());
        if self.json && self.run.is_none() {
            let told: Vec<_> = all.iter().map(golden::GoldenResult::to_json).collect();
            serde_json::to_writer_pretty(&mut *out, &json!({ "golden": told }))?;
            writeln!(out)?;
            return Ok(ExitVerdict::at_fault_if(is_wrong));
        }
        for checked in all {
            let (run, same, written) = (printable(&checked.run), checked.same, checked.written);
            if checked.differences.is_empty() {
                writeln!(
                    out,
                    "{GREEN}✓{GREEN:#} {BOLD}{run}{BOLD:#} {same} streams are the same, {written} were written"
                )?;
            }
            for difference in &checked.differences {
                writeln!(out, "{RED}✗{RED:#} {BOLD}{run}{BOLD:#} {}", printable(difference))?;
            }
        }
        Ok(ExitVerdict::at_fault_if(is_wrong))
    }
}

/// The name of the agent that started a run, from its journal.
async fn began(store: &Arc<dyn Store>, run: &str) -> Result<String, CommandFailure> {
    use headwater_store::{JournalId, ReadLimit};
    let unknown = || {
        CommandFailure::new(format!(
            "there is no run {run} in this store: the id is wrong, or the run was deleted"
        ))
    };
    let page =
        store.read(&JournalId::from(run), 0, ReadLimit::default()).await.map_err(|error| {
            match error.kind() {
                headwater_store::ErrorKind::Unknown => unknown(),
                _ => CommandFailure::new(error.to_string()),
            }
        })?;
    let mut reader = RecordReader::default();
    for record in &page.records {
        let effect = reader.effect(record).map_err(|error| CommandFailure::new(error.to_string()))?;
        let effect = effect.unwrap_or_default();
        if let Some(agent) = effect.pointer("/begun/agent").and_then(Value::as_str) {
            return Ok(agent.to_owned());
        }
    }
    Err(unknown())
}

fn as_json(replayed: &ReplayReport, bytes: Option<&golden::GoldenResult>) -> Value {
    let mut told = json!({
        "run": replayed.run,
        "same": replayed.is_same(),
        "visits": replayed.visits,
        "hooks": replayed.hooks,
        "divergence": replayed.divergence,
    });
    if let (Some(bytes), Some(fields)) = (bytes, told.as_object_mut()) {
        fields.insert("golden".to_owned(), bytes.to_json());
    }
    told
}

fn print_report(replayed: &ReplayReport, out: &mut dyn Write) -> Result<(), CommandFailure> {
    let run = printable(replayed.run.as_str());
    let Some(divergence) = &replayed.divergence else {
        let visits = style::count(replayed.visits as u64, "visit");
        let hooks = style::count(replayed.hooks as u64, "recorded hook");
        writeln!(out, "{GREEN}✓{GREEN:#} {BOLD}{run}{BOLD:#} today's code does the same: {visits}, {hooks}")?;
        return Ok(());
    };
    let Divergence { recorded, asked, .. } = divergence;
    writeln!(out, "{RED}✗{RED:#} {BOLD}{run}{BOLD:#} {}", printable(&divergence.to_string()))?;
    for (label, value) in [("the journal has", recorded), ("the code has", asked)] {
        let text = match value {
            Some(Value::String(text)) => text.clone(),
            Some(value) => serde_json::to_string_pretty(value)?,
            None => "nothing".to_owned(),
        };
        writeln!(out, "  {DIM}{label}:{DIM:#} {}", printable(&text).replace('\n', "\n  "))?;
    }
    Ok(())
}
