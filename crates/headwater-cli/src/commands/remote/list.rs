//! Lists of a server: pages joined, printed once or kept current.

use std::io::Write as _;

use clap::Args;
use headwater_client::{Client, Result};
use serde::Serialize;

use super::{RemoteArgs, watch::watch};
use crate::{
    failure::{CommandFailure, ExitVerdict},
    server_args::block_on,
    style,
    text_table::TextTable,
};

/// The largest page that a server gives.
const PAGE: usize = 500;

/// How many entries to list, and how.
#[derive(Debug, Clone, Args)]
pub(in super::super) struct ListArgs {
    /// The most entries to list.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,

    /// Keep the table current until Ctrl-C. Needs a terminal.
    #[arg(long, conflicts_with = "json")]
    watch: bool,

    #[command(flatten)]
    remote: RemoteArgs,
}

impl ListArgs {
    pub(in super::super) fn limit(&self) -> usize {
        usize::try_from(self.limit).unwrap_or(usize::MAX)
    }
}

/// A page of a list.
pub(in super::super) trait ListPage: Serialize {
    /// The number of entries.
    fn len(&self) -> usize;
    /// The entries that cannot be read.
    fn unreadable(&self) -> &[String];
    /// Where the next page begins.
    fn next(&self) -> Option<&str>;
    /// Adds the page that follows.
    fn append(&mut self, next: Self);
}

macro_rules! list_pages {
    ($($page:ident . $entries:ident),*) => {$(
        impl ListPage for headwater_client::$page {
            fn len(&self) -> usize {
                self.$entries.len()
            }

            fn unreadable(&self) -> &[String] {
                &self.unreadable
            }

            fn next(&self) -> Option<&str> {
                self.next.as_deref()
            }

            fn append(&mut self, next: Self) {
                self.$entries.extend(next.$entries);
                self.unreadable.extend(next.unreadable);
                self.next = next.next;
            }
        }
    )*};
}

list_pages!(RunPage.runs, SessionPage.sessions, InterruptPage.interrupts);

/// Requests pages until there are enough entries: a page of a filtered list may have few, or none, and more follow.
pub(in super::super) async fn gather<P: ListPage>(
    limit: usize,
    request: impl AsyncFn(Option<String>, usize) -> Result<P>,
) -> Result<P, CommandFailure> {
    let mut list = request(None, limit.min(PAGE)).await?;
    while list.len() < limit
        && let Some(next) = list.next()
    {
        let this = next.to_owned();
        let next = request(Some(this.clone()), (limit - list.len()).min(PAGE)).await?;
        if next.next() == Some(&this) {
            return Err(CommandFailure::new("the server sent the same page of a list twice"));
        }
        list.append(next);
    }
    Ok(list)
}

/// Prints a list, or keeps it current.
pub(in super::super) fn show_list<P: ListPage>(
    args: &ListArgs,
    noun: &str,
    request: impl AsyncFn(&Client) -> Result<P, CommandFailure>,
    table: impl Fn(&P) -> TextTable,
) -> Result<ExitVerdict, CommandFailure> {
    let client = args.remote.client();
    if args.watch {
        let lines = async |columns: usize| Ok(table(&request(&client).await?).lines(columns));
        return block_on(watch(noun, lines)).map(|()| ExitVerdict::Sound);
    }
    let list = block_on(request(&client))?;
    let mut out = style::stdout(args.remote.json);
    if args.remote.json {
        serde_json::to_writer_pretty(&mut out, &list)?;
        writeln!(out)?;
        out.flush()?;
        return Ok(ExitVerdict::Sound);
    }
    for line in table(&list).lines(style::terminal_width()) {
        writeln!(out, "{line}")?;
    }
    out.flush()?;
    for id in list.unreadable() {
        style::warning(&format!("cannot read {id}"));
    }
    if list.len() == 0 {
        style::note(&format!("no {noun}"));
    } else if list.next().is_some() {
        style::note(&format!("there are more {noun}: raise --limit"));
    }
    Ok(ExitVerdict::Sound)
}
