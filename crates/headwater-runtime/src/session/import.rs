//! Creating a session from an existing conversation.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use headwater_protocol::{Message, Role, SessionId};
use serde_json::Map;

use super::{
    Session, Sessions,
    budget::is_instruction,
    checkpoint::{
        AncestorLink, Checkpoint, CheckpointStatus, MessageChange, Node, StoredInput, fresh_checkpoint,
        fresh_tree,
    },
    head::Head,
    history_hash::HistoryHash,
    label::{beginning, short},
    session_exists,
};
use crate::{
    Result,
    id::{fresh_id, fresh_run},
};

impl Sessions {
    /// Creates a session with these messages, from a page that kept its own history. They form one turn
    /// without a run, which supports rollback and fork.
    ///
    /// # Errors
    /// [`ErrorKind::SessionExists`](crate::ErrorKind::SessionExists) when there is a session of that name, or when the
    /// store fails.
    pub(crate) async fn seed_session(
        self: &Arc<Self>,
        id: Option<&str>,
        owner: Option<&str>,
        messages: Vec<Message>,
    ) -> Result<Session> {
        let id: SessionId = match id {
            Some(id) => id.into(),
            None => fresh_id("session")?.into(),
        };
        let session = self.session(id.clone(), owner);
        self.check_free(&session.key).await?;
        let mut head = Head::new(id.clone(), fresh_tree()?, &self.env, session.owner.clone());
        if !messages.is_empty() {
            self.seed(&mut head, None, messages).await?;
        }
        if self.heads.create(&head).await?.is_some() {
            return Ok(session);
        }
        if let Some(checkpoint) = &head.checkpoint {
            self.tree.remove_checkpoint(checkpoint).await?;
        }
        Err(session_exists(&id))
    }
}

impl Sessions {
    /// Adds messages from elsewhere as one turn after a checkpoint or the start, and moves the head there.
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
                created_at: self.env.now(),
                run: fresh_run()?,
                seq: 0,
                parent: after.map(|after| after.id().clone()),
                status: CheckpointStatus::Finished,
                workflow: String::new(),
                position: Vec::new(),
                questions: Vec::new(),
            },
            history: HistoryHash::default(),
            jump: AncestorLink::default(),
            touched: BTreeSet::new(),
            summarised: self.budget.summarised_at(after).await?,
            base: None,
            instructed: match after {
                Some(after) => after.instructed,
                None => messages.first().is_some_and(is_instruction),
            },
            imported: false,
            input: StoredInput::Seed,
            keys: Vec::new(),
            messages: messages.into_iter().map(|message| MessageChange { keep: 0, message }).collect(),
            structured: BTreeMap::new(),
            state: Map::new(),
        };
        self.tree.link(after, &mut node).await?;
        self.tree.put_node(&node).await?;
        head.checkpoint = Some(node.id().clone());
        head.turn = node.turn();
        if head.turn == 1 {
            head.label = label.map(short);
        }
        Ok(())
    }
}
