//! The conversation context of a run: the newest messages within a budget, and a summary of the older ones.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use headwater_protocol::{CheckpointId, Message, MessageId, Part, Role};
use headwater_store::{Expect, Store, ValuePages};
use serde::{Deserialize, Serialize};

use super::{
    SessionOptions, SummaryRequest, checkpoint::Node, checkpoint_store::CheckpointTree, head::Head,
    history::messages, options::Summarise,
};
use crate::{
    Error, Result, environment::Environment, error::ErrorKind, journal::HistoryRange, keys, run::HISTORY_GONE,
};

/// Claim of one process on writing a summary. Another process takes over after this time, in case the first
/// has died.
const CLAIM: Duration = Duration::from_secs(60);

/// Limit on any configured budget: the run's first record must fit into the store.
const MOST_TOKENS: usize = 1 << 20;

/// A summary, stored beside the checkpoint whose turn first needed it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ConversationSummary {
    pub(super) text: String,
    /// The last message included in the summary, and the turn in which that message began.
    upto: MessageId,
    turn: u64,
}

/// What a run gets of the conversation before it.
#[derive(Debug, Default)]
pub(super) struct PriorMessages {
    pub(super) messages: Vec<Message>,
    /// Where the session has them, unless a summary stands for some.
    pub(super) history: Option<HistoryRange>,
}

/// Picks what a run gets of the conversation before it.
#[derive(Debug)]
pub(super) struct ContextBudget {
    env: Arc<Environment>,
    options: SessionOptions,
    tree: Arc<CheckpointTree>,
}

impl ContextBudget {
    pub(super) fn new(env: Arc<Environment>, options: SessionOptions, tree: Arc<CheckpointTree>) -> Self {
        Self { env, options, tree }
    }

    /// The conversation before a turn, as far as the budget goes.
    pub(super) async fn prior_messages(&self, head: &Head) -> Result<PriorMessages> {
        let Some(at) = &head.checkpoint else { return Ok(PriorMessages::default()) };
        let options = &self.options;
        match &options.summarise {
            Some(sum_up) => {
                let messages = self.summed_up(head, at, sum_up).await?;
                Ok(PriorMessages { messages, history: None })
            }
            None => {
                let (mut count, mut tokens) = (0, 0);
                let nodes = self
                    .tree
                    .nodes_back(Some(at.clone()), |node| {
                        count += node.messages.iter().filter(|change| change.keep == 0).count();
                        tokens +=
                            node.messages.iter().map(|change| about_tokens(&change.message)).sum::<usize>();
                        count > options.last_messages
                            || options.last_tokens.is_some_and(|limit| tokens > limit)
                    })
                    .await?;
                let instructions = self.instructions(nodes.first()).await?;
                let mut newest = without(messages(&nodes), &instructions);
                newest.drain(..over(&newest, options.last_messages, options.last_tokens));
                let history = HistoryRange { checkpoint: at.clone(), messages: newest.len() };
                Ok(PriorMessages { messages: [instructions, newest].concat(), history: Some(history) })
            }
        }
    }

    /// The messages that a run got of the conversation before it. The checkpoints of a tree never change, so they are the
    /// same whenever they are read.
    pub(super) async fn messages_of(&self, history: &HistoryRange) -> Result<Vec<Message>> {
        let HistoryRange { checkpoint, messages: count } = history;
        let mut seen = HashSet::new();
        let enough = |node: &Node| {
            seen.extend(node.messages.iter().map(|change| change.message.id.clone()));
            seen.len() > *count
        };
        let nodes = match self.tree.nodes_back(Some(checkpoint.clone()), enough).await {
            Err(error) if error.kind() == ErrorKind::UnknownCheckpoint => {
                let message = format!(
                    "the conversation before the run, up to checkpoint {checkpoint}, is no longer kept: its session \
                     was deleted, went back to before it, or keeps fewer checkpoints"
                );
                return Err(Error::new(ErrorKind::UnknownCheckpoint, message).with_code(HISTORY_GONE));
            }
            nodes => nodes?,
        };
        let instructions = self.instructions(nodes.first()).await?;
        let mut newest = without(messages(&nodes), &instructions);
        newest.drain(..newest.len().saturating_sub(*count));
        Ok([instructions, newest].concat())
    }

    async fn summed_up(&self, head: &Head, at: &CheckpointId, sum_up: &Summarise) -> Result<Vec<Message>> {
        let (most, tokens) = (self.options.last_messages, self.options.last_tokens);
        let here = self.summary(at).await?;
        let made = here.is_some();
        let mut summary = match (here, self.tree.node(at).await?.summarised.clone()) {
            (Some(here), _) => Some(here),
            (None, Some(before)) => self.summary(&before).await?,
            (None, None) => None,
        };
        let from = summary.as_ref().map_or(0, |summary| summary.turn);
        let nodes = self.tree.nodes_back(Some(at.clone()), |node| node.first_turn() <= from).await?;
        let instructions = self.instructions(nodes.first()).await?;
        let turns = turns_of(&nodes);
        let mut newest = without(messages(&nodes), &instructions);
        if let Some(summary) = &summary {
            let after = newest.iter().position(|message| message.id == summary.upto).map_or(0, |at| at + 1);
            newest.drain(..after);
        }
        if !made && over(&newest, most, tokens) > 0 {
            // Cuts to half of the budget, so that a summary is not needed in every turn.
            let gone = over(&newest, most / 2, tokens.map(|tokens| tokens / 2));
            let (dropped, _) = newest.split_at(gone);
            if let Some(last) = dropped.last() {
                let request = SummaryRequest {
                    session: head.id.clone(),
                    owner: head.owner.clone(),
                    dropped: dropped.to_vec(),
                    previous: summary.as_ref().map(|summary| summary.text.clone()),
                };
                let (upto, turn) = (last.id.clone(), turns.get(&last.id).copied().unwrap_or(0));
                match self.sum_up_once(at, sum_up, request, upto, turn).await {
                    Ok(new) => {
                        let after = newest.iter().position(|message| message.id == new.upto);
                        newest.drain(..after.map_or(0, |at| at + 1));
                        summary = Some(new);
                    }
                    Err(error) if matches!(error.kind(), ErrorKind::Busy | ErrorKind::Store) => {
                        return Err(error);
                    }
                    Err(error) => {
                        // The turn matters more than the summary; the next turn tries again.
                        tracing::warn!(session = ?head.id.as_str(), code = error.code(), "a summary failed");
                        tracing::debug!(session = ?head.id.as_str(), error = ?error.message(), "a summary failed");
                    }
                }
            }
        }
        newest.drain(..over(&newest, most, tokens));
        let told = summary.map(|summary| {
            Message::text(format!("msg_summary_{}", summary.upto), Role::System, summary.text)
        });
        Ok([instructions, told.into_iter().collect(), newest].concat())
    }

    async fn sum_up_once(
        &self,
        at: &CheckpointId,
        sum_up: &Summarise,
        request: SummaryRequest,
        upto: MessageId,
        turn: u64,
    ) -> Result<ConversationSummary> {
        use headwater_store::ErrorKind::Conflict;
        let claim = keys::summary_claim(at);
        let version = match self
            .env
            .store
            .put(&claim, self.env.process.clone().into(), Expect::Absent, Some(CLAIM))
            .await
        {
            Err(error) if matches!(error.kind(), Conflict { .. }) => {
                return Err(Error::new(
                    ErrorKind::Busy,
                    "another process is summarising the earlier messages",
                ));
            }
            version => version?,
        };
        let text = (sum_up.0)(request).await;
        let kept = match text {
            Ok(text) => self.keep_summary(at, ConversationSummary { text, upto, turn }).await,
            Err(error) => Err(error),
        };
        match self.env.store.remove(&claim, Expect::Version(version)).await {
            Err(error) if !matches!(error.kind(), Conflict { .. }) => Err(error.into()),
            _ => kept,
        }
    }

    /// Stores a summary. If another process stored one first, that one is used.
    async fn keep_summary(
        &self,
        at: &CheckpointId,
        summary: ConversationSummary,
    ) -> Result<ConversationSummary> {
        let bytes = serde_json::to_vec(&summary).map_err(|error| {
            Error::new(ErrorKind::State, format!("a summary does not serialise: {error}"))
        })?;
        match self.env.store.put(&keys::summary(at), bytes.into(), Expect::Absent, None).await {
            Ok(_) => Ok(summary),
            Err(error) => match error.kind() {
                headwater_store::ErrorKind::Conflict { .. } => Ok(self.summary(at).await?.unwrap_or(summary)),
                headwater_store::ErrorKind::TooLarge => {
                    Err(Error::new(ErrorKind::Limit, error.to_string()).with_code("session.too-large"))
                }
                _ => Err(error.into()),
            },
        }
    }

    pub(super) async fn summary(&self, at: &CheckpointId) -> Result<Option<ConversationSummary>> {
        let Some(value) = self.env.store.get(&keys::summary(at)).await? else { return Ok(None) };
        crate::codec::decode(&value.bytes).map(Some).map_err(|error| {
            Error::new(ErrorKind::Store, format!("the summary at {at} cannot be read: {error}"))
        })
    }

    /// The checkpoint of the newest summary used by a turn after `parent`.
    pub(super) async fn summarised_at(&self, parent: Option<&Node>) -> Result<Option<CheckpointId>> {
        let Some(parent) = parent else { return Ok(None) };
        if self.options.summarise.is_some()
            && self.env.store.get(&keys::summary(parent.id())).await?.is_some()
        {
            return Ok(Some(parent.id().clone()));
        }
        Ok(parent.summarised.clone())
    }

    /// The instructions with which the conversation begins. They stay, whatever goes.
    async fn instructions(&self, earliest: Option<&Arc<Node>>) -> Result<Vec<Message>> {
        let Some(earliest) = earliest.filter(|node| node.instructed) else { return Ok(Vec::new()) };
        let first = self.tree.first(earliest.clone()).await?;
        let leading = first.messages.iter().map(|change| &change.message);
        Ok(leading.take_while(|message| is_instruction(message)).cloned().collect())
    }
}

/// The checkpoints of a tree at which there are summaries.
pub(super) async fn summaries_of(store: &dyn Store, tree: &str) -> Result<Vec<CheckpointId>> {
    let mut found = Vec::new();
    let mut pages = ValuePages::new(store, keys::summaries(tree));
    while let Some(page) = pages.next().await? {
        found.extend(page.iter().filter_map(|(key, _)| keys::read_summary(key)));
    }
    Ok(found)
}

pub(super) async fn remove_summary(store: &dyn Store, at: &CheckpointId) -> Result<()> {
    store.remove(&keys::summary(at), Expect::Any).await?;
    Ok(())
}

/// Number of oldest messages to drop. A tool call is dropped together with its result.
fn over(messages: &[Message], most: usize, tokens: Option<usize>) -> usize {
    let mut sum = 0;
    let tokens = Some(tokens.unwrap_or(usize::MAX).min(MOST_TOKENS));
    let fitting = messages.iter().rev().take(most).take_while(|message| {
        sum += about_tokens(message);
        tokens.is_none_or(|limit| sum <= limit)
    });
    let mut gone = messages.len() - fitting.count();
    loop {
        let (dropped, kept) = messages.split_at(gone);
        let calls: HashSet<_> = dropped.iter().flat_map(calls_of).collect();
        // Dropping a call's result may separate another call from its own result.
        match kept.iter().rposition(|message| calls_of(message).any(|call| calls.contains(call))) {
            Some(torn) => gone += torn + 1,
            None => return gone,
        }
    }
}

pub(super) fn is_instruction(message: &Message) -> bool {
    matches!(message.role, Role::System | Role::Developer)
}

fn calls_of(message: &Message) -> impl Iterator<Item = &str> {
    message.parts.iter().filter_map(|part| match part {
        Part::Tool(tool) => Some(tool.call.as_str()),
        _ => None,
    })
}

fn without(mut messages: Vec<Message>, others: &[Message]) -> Vec<Message> {
    messages.retain(|message| !others.iter().any(|other| other.id == message.id));
    messages
}

/// The turns in which messages began.
fn turns_of(nodes: &[Arc<Node>]) -> HashMap<MessageId, u64> {
    let mut turns = HashMap::new();
    for node in nodes {
        for change in node.messages.iter().filter(|change| change.keep == 0) {
            turns.entry(change.message.id.clone()).or_insert_with(|| node.first_turn());
        }
    }
    turns
}

/// Estimates one token per four bytes of text.
fn about_tokens(message: &Message) -> usize {
    message.parts.iter().map(|part| serde_json::to_string(part).map_or(0, |text| text.len() / 4)).sum()
}

#[cfg(test)]
mod tests {
    use headwater_protocol::{MessageStatus, ToolPart};

    use super::*;

    fn said(id: &str) -> Message {
        Message::text(id, Role::User, "four chars each, more or less")
    }

    fn calling(id: &str, role: Role, call: &str) -> Message {
        let mut message = Message::new(id, role, MessageStatus::Sent);
        message.parts.push(Part::Tool(Box::new(ToolPart::new(call, "search"))));
        message
    }

    #[test]
    fn oldest_messages_go_first() {
        let messages: Vec<_> = ["1", "2", "3", "4"].map(said).to_vec();
        assert_eq!(over(&messages, 10, None), 0);
        assert_eq!(over(&messages, 3, None), 1);
        let each = about_tokens(&messages[0]);
        assert_eq!(over(&messages, 10, Some(2 * each)), 2);
        assert_eq!(over(&messages, 10, Some(each - 1)), 4);
        assert_eq!(over(&[], 0, Some(0)), 0);
    }

    #[test]
    fn tool_call_goes_with_its_result() {
        let messages = [
            said("1"),
            calling("2", Role::Assistant, "a"),
            calling("3", Role::Assistant, "b"),
            calling("4", Role::Tool, "a"),
            calling("5", Role::Tool, "b"),
            said("6"),
        ];
        for (most, gone) in [(6, 0), (5, 1), (4, 5), (3, 5), (2, 5), (1, 5), (0, 6)] {
            assert_eq!(over(&messages, most, None), gone, "of {most}");
        }
    }
}
