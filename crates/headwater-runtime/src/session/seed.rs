//! Beginning a session with a conversation that was kept elsewhere.

use std::collections::{BTreeMap, BTreeSet};

use headwater_protocol::{Message, Role, SessionId};
use serde_json::Map;

use super::{
    Session,
    budget::is_instruction,
    checkpoint::{Change, Checkpoint, CheckpointStatus, Input, Link, Node, fresh_checkpoint, fresh_tree},
    head::Head,
    moves::exists,
    position::HistoryHash,
    reconcile::{beginning, short},
};
use crate::{
    Agent, Result,
    agent::AgentInner,
    id::{fresh_id, fresh_run},
};

impl Agent {
    /// Begins a session whose conversation has these messages already: that of a page that kept its own history. They are
    /// one turn, which can be gone back to and forked from, and has no run.
    ///
    /// # Errors
    /// [`ErrorKind::SessionExists`](crate::ErrorKind::SessionExists) when there is a session of that name, or when the
    /// store fails.
    pub async fn seed_session(
        &self,
        id: Option<&str>,
        owner: Option<&str>,
        messages: Vec<Message>,
    ) -> Result<Session> {
        let agent = &self.0;
        let id: SessionId = match id {
            Some(id) => id.into(),
            None => fresh_id("session")?.into(),
        };
        let session = self.session(id.clone(), owner);
        agent.check_free(&session.key).await?;
        let mut head = Head::new(id.clone(), fresh_tree()?, agent, session.owner.clone());
        if !messages.is_empty() {
            agent.seed(&mut head, None, messages).await?;
        }
        if agent.create_head(&head).await?.is_some() {
            return Ok(session);
        }
        if let Some(checkpoint) = &head.checkpoint {
            agent.remove_checkpoint(checkpoint).await?;
        }
        Err(exists(&id))
    }
}

impl AgentInner {
    /// Lets a head stand after messages that came from elsewhere, as one turn after a checkpoint or the beginning.
    pub(super) async fn seed(
        &self,
        head: &mut Head,
        after: Option<&Node>,
        messages: Vec<Message>,
    ) -> Result<()> {
        let label = messages.iter().find(|message| message.role == Role::User).and_then(beginning);
        let mut node = Node {
            checkpoint: Checkpoint {
                id: fresh_checkpoint(&head.tree)?,
                session: head.id.clone(),
                turn: after.map_or(0, Node::turn) + 1,
                label: label.clone(),
                created_at: self.now(),
                run: fresh_run()?,
                seq: 0,
                parent: after.map(|after| after.id().clone()),
                status: CheckpointStatus::Finished,
                workflow: String::new(),
                position: Vec::new(),
                questions: Vec::new(),
            },
            history: HistoryHash::default(),
            jump: Link::default(),
            touched: BTreeSet::new(),
            summarised: self.summarised_at(after).await?,
            base: None,
            instructed: match after {
                Some(after) => after.instructed,
                None => messages.first().is_some_and(is_instruction),
            },
            imported: false,
            input: Input::Seed,
            keys: Vec::new(),
            messages: messages.into_iter().map(|message| Change { keep: 0, message }).collect(),
            structured: BTreeMap::new(),
            state: Map::new(),
        };
        self.link(after, &mut node).await?;
        self.put_node(&node).await?;
        head.checkpoint = Some(node.id().clone());
        head.turn = node.turn();
        if head.turn == 1 {
            head.label = label.map(short);
        }
        Ok(())
    }
}
