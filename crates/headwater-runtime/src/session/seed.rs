//! Beginning a session with a conversation that was kept elsewhere.

use std::collections::{BTreeMap, BTreeSet};

use headwater_protocol::{Message, Role, SessionId};
use serde_json::Map;

use super::{
    Session,
    budget::is_instruction,
    checkpoint::{Change, Checkpoint, CheckpointStatus, Input, Link, Node, fresh_checkpoint, fresh_tree},
    head::Head,
    look::{beginning, short},
    moves::exists,
};
use crate::{
    Agent, Result,
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
        let label = messages.iter().find(|message| message.role == Role::User).and_then(beginning);
        if !messages.is_empty() {
            let node = seed(&head, label.clone(), messages)?;
            head.checkpoint = Some(node.id().clone());
            head.turn = 1;
            head.label = label.map(short);
            agent.put_node(&node).await?;
        }
        if agent.create_head(&head).await? {
            return Ok(session);
        }
        if let Some(checkpoint) = &head.checkpoint {
            agent.remove_node(checkpoint).await?;
        }
        Err(exists(&id))
    }
}

fn seed(head: &Head, label: Option<String>, messages: Vec<Message>) -> Result<Node> {
    Ok(Node {
        checkpoint: Checkpoint {
            id: fresh_checkpoint(&head.tree)?,
            session: head.id.clone(),
            turn: 1,
            label,
            created_at: head.created,
            run: fresh_run()?,
            seq: 0,
            parent: None,
            status: CheckpointStatus::Finished,
            workflow: String::new(),
            position: Vec::new(),
            questions: Vec::new(),
        },
        jump: Link::default(),
        touched: BTreeSet::new(),
        summarised: None,
        base: None,
        instructed: messages.first().is_some_and(is_instruction),
        imported: false,
        input: Input::Seed,
        keys: Vec::new(),
        messages: messages.into_iter().map(|message| Change { keep: 0, message }).collect(),
        structured: BTreeMap::new(),
        state: Map::new(),
    })
}
