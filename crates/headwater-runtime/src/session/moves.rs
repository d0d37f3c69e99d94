//! Going back, branching, and doing a turn again: each is one compare-and-set of the head, whatever the length.

use headwater_protocol::{CheckpointId, Message, RequestId, RunId, SessionId};
use headwater_store::Expect;

use super::{
    Session,
    checkpoint::{Checkpoint, GivenAnswer, Input, Node, fresh_checkpoint, unknown},
    head::{Active, Chore, Doing, Head, VersionedHead},
    idempotency::Claim,
    reconcile::TurnBegin,
    repeat::says_the_same,
    turn::{Sent, Turn},
};
use crate::{
    Answer, Error, Result,
    error::ErrorKind,
    id::{fresh_id, fresh_run},
    journal::Invalidated,
    keys,
    value_pages::ValuePages,
};

/// What going back has undone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RolledBack {
    /// The structured streams that no longer hold. The next run of the session tells its readers.
    pub streams: Vec<String>,
    /// The questions that were taken back.
    pub requests: Vec<RequestId>,
}

/// One of several turns that were done at the same place.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Variant {
    /// The turn.
    pub checkpoint: Checkpoint,
    /// Whether the session goes on from it.
    pub selected: bool,
}

impl Session {
    /// Goes back to a checkpoint: the turns after it go, with their variants. If its run waited for an answer, the question is asked again,
    /// with a new request and token, by a new run.
    ///
    /// # Errors
    /// [`ErrorKind::SessionBusy`] while a run is going, [`ErrorKind::UnknownCheckpoint`] when it is not on the way to
    /// where the session stands.
    pub async fn roll_back(&self, to: &CheckpointId) -> Result<RolledBack> {
        self.back_to(|_| Ok(Some(to.clone()))).await
    }

    /// Goes back to the beginning of the session.
    ///
    /// # Errors
    /// As [`Session::roll_back`].
    pub async fn roll_back_to_start(&self) -> Result<RolledBack> {
        match self.reconcile().await?.head.checkpoint {
            Some(_) => self.back_to(|_| Ok(None)).await,
            None => Ok(RolledBack::default()),
        }
    }

    /// Goes back by one turn.
    ///
    /// # Errors
    /// As [`Session::roll_back`]; [`ErrorKind::UnknownCheckpoint`] at the beginning.
    pub async fn undo(&self) -> Result<RolledBack> {
        self.back_to(|head: &Node| Ok(head.checkpoint.parent.clone())).await
    }

    async fn back_to(&self, to: impl Fn(&Node) -> Result<Option<CheckpointId>>) -> Result<RolledBack> {
        let agent = &self.agent.0;
        loop {
            let VersionedHead { mut head, version } = self.idle().await?;
            let tip = self.tip(&head).await?;
            let to = match to(&tip)? {
                Some(to) => Some(agent.on_chain(&head, &to).await?),
                None => None,
            };
            if to.as_ref().is_some_and(|to| to.id() == tip.id() && (head.live.is_some() || !to.waits())) {
                return Ok(RolledBack::default());
            }
            if to.as_ref().map(Node::id) != Some(tip.id()) {
                head.chores.push(Chore::Forget { after: to.as_ref().map(|to| to.id().clone()) });
            }
            let undone = self.stand_at(&mut head, tip, to.as_ref()).await?;
            reopen(&mut head, to.as_ref())?;
            if agent.swap(head, version).await? {
                agent.reconcile(&self.key).await?;
                return Ok(undone);
            }
        }
    }

    /// Makes a session of its own that goes on from a checkpoint. This one is not touched, and nothing is copied. What
    /// its run waited for is asked again there.
    ///
    /// # Errors
    /// [`ErrorKind::SessionExists`] when there is a session of that name, [`ErrorKind::UnknownCheckpoint`].
    pub async fn fork(&self, at: &CheckpointId, name: Option<&str>) -> Result<Session> {
        let agent = &self.agent.0;
        let seen = self.reconcile().await?;
        let (node, _) = agent.reach(&seen.head, at).await?;
        let id: SessionId = match name {
            Some(name) => name.into(),
            None => fresh_id("session")?.into(),
        };
        let mut head = Head::new(id.clone(), seen.head.tree.clone(), agent, seen.head.owner.clone());
        agent.check_free(&head.key()).await?;
        head.label.clone_from(&seen.head.label);
        head.own_label.clone_from(&seen.head.own_label);
        head.forked = Some((self.id.clone(), at.clone()));
        head.checkpoint = Some(at.clone());
        head.turn = node.turn();
        reopen(&mut head, Some(&node))?;
        if agent.create_head(&head).await?.is_none() {
            return Err(exists(&id));
        }
        agent.reconcile(&head.key()).await?;
        Ok(self.agent.session(id, self.owner.as_deref()))
    }

    /// Does a turn again with the same input: what was written is run again, and an answer is given again as an answer.
    /// The turn that was there is kept as a variant.
    ///
    /// # Errors
    /// As [`Session::roll_back`].
    pub async fn regenerate(&self, turn: &CheckpointId) -> Result<Sent> {
        self.regenerate_as(turn, Turn::new("")).await
    }

    /// Does a turn again with the same input, as a request asks for it: what the route approves of now counts, and what
    /// the page says of itself now; what `now` does not say is as it was. Its text and its message are not looked at. If
    /// it has a [key](Turn::key) of the session's last turn, that turn is given back, and nothing begins.
    ///
    /// ```
    /// # use headwater_protocol::CheckpointId;
    /// # use headwater_runtime::{Result, Sent, Session, Start, Turn};
    /// # use serde_json::json;
    /// async fn once_more(session: &Session, turn: &CheckpointId) -> Result<Sent> {
    ///     let now = Start::new("").runtime_context(json!({ "plan": "free" }));
    ///     session.regenerate_as(turn, Turn::from(now).key("request-18")).await
    /// }
    /// ```
    ///
    /// # Errors
    /// As [`Session::roll_back`]; [`ErrorKind::Input`] when the choice of tools is none.
    pub async fn regenerate_as(&self, turn: &CheckpointId, now: impl Into<Turn>) -> Result<Sent> {
        let now = now.into();
        now.check(&self.agent.0)?;
        self.again(turn, &now, None, |_, node| match &node.input {
            Input::Message(said) => Ok(Doing::Message(Box::new(now.clone().repeated((**said).clone())))),
            Input::Answers(answers) => copy_of(node, answers.clone(), now.keys()),
            Input::Seed => Err(seeded(node)),
        })
        .await
    }

    /// Does a turn again with another message. The turn that was there is kept as a variant. What the turn does not say
    /// beside the message is as it was. If the session's last turn has one of its [keys](Turn::key) and says the same, that
    /// turn is given back, and nothing begins.
    ///
    /// # Errors
    /// As [`Session::roll_back`]; [`ErrorKind::Input`] when the turn was an answer, or the choice of tools is none.
    pub async fn edit(&self, turn: &CheckpointId, now: impl Into<Turn>) -> Result<Sent> {
        let now = now.into();
        now.check(&self.agent.0)?;
        let says = now.says();
        self.again(turn, &now, Some(&says), |run, node| match &node.input {
            Input::Message(said) => Ok(Doing::Message(Box::new(now.clone().edited(run, (**said).clone())))),
            Input::Answers(_) => {
                let message = format!("turn {} was an answer: answer it again instead", node.turn());
                Err(Error::new(ErrorKind::Input, message).with_code("turn.answer"))
            }
            Input::Seed => Err(seeded(node)),
        })
        .await
    }

    /// Does a turn that was an answer again with another answer. The turn that was there is kept as a variant.
    ///
    /// # Errors
    /// As [`Session::roll_back`]; [`ErrorKind::Input`] when the turn was no single answer.
    pub async fn answer_again(&self, turn: &CheckpointId, answer: Answer) -> Result<Sent> {
        self.again(turn, &Turn::new(""), None, |_, node| match &node.input {
            Input::Answers(answers) if let [given] = &**answers => {
                copy_of(node, vec![GivenAnswer { key: given.key.clone(), answer: answer.clone() }], &[])
            }
            _ => {
                let message = format!("turn {} was not one answer: edit it, or do it again", node.turn());
                Err(Error::new(ErrorKind::Input, message).with_code("turn.no-answer"))
            }
        })
        .await
    }

    /// Repeats a turn, unless the last turn has one of the keys, and sends the new message.
    async fn again(
        &self,
        turn: &CheckpointId,
        now: &Turn,
        says: Option<&Message>,
        doing: impl Fn(&RunId, &Node) -> Result<Doing>,
    ) -> Result<Sent> {
        let agent = &self.agent.0;
        loop {
            let VersionedHead { mut head, version } = self.reconcile().await?;
            if let Some(sent) = self.last_turn_of(&head, now.keys(), says).await? {
                return Ok(sent);
            }
            let (Claim { run, checkpoint }, begun) = self.claim(&head, now).await?;
            if let Some(sent) = begun {
                return Ok(sent);
            }
            if head.active.is_some() {
                return Err(self.busy());
            }
            let tip = self.tip(&head).await?;
            let node = agent.on_chain(&head, turn).await?;
            let doing = doing(&run, &node)?;
            let active = Active { run, checkpoint, doing };
            let parent = match &node.checkpoint.parent {
                Some(parent) => Some(agent.node(parent).await?),
                None => None,
            };
            agent.note_branch(&self.key, parent.as_ref().map(Node::id), node.id(), tip.id()).await?;
            self.stand_at(&mut head, tip, parent.as_ref()).await?;
            let (run, checkpoint) = (active.run.clone(), active.checkpoint.clone());
            head.active = Some(active);
            match agent.begin_turn(head, Expect::Version(version)).await? {
                TurnBegin::Conflict => {}
                begin => return Ok(self.sent_as(run, checkpoint, begin)),
            }
        }
    }

    /// The turns that were done at the same place as this one, oldest first.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownCheckpoint`].
    pub async fn variants(&self, of: &CheckpointId) -> Result<Vec<Variant>> {
        let agent = &self.agent.0;
        let head = self.load().await?.head;
        let (node, _) = agent.reach(&head, of).await?;
        let mut ids: Vec<CheckpointId> = Vec::new();
        let branches = keys::branches_at(&self.key, node.checkpoint.parent.as_ref());
        let mut pages = ValuePages::new(&*agent.store, branches);
        while let Some(page) = pages.next().await? {
            let children = page.iter().filter_map(|(key, _)| keys::read_branch(&self.key, key));
            ids.extend(children.map(|(_, child)| child));
        }
        let current = match &head.checkpoint {
            Some(at) => agent.ancestor(agent.node(at).await?, node.turn()).await?,
            None => None,
        };
        let current = current.filter(|current| {
            current.turn() == node.turn() && current.checkpoint.parent == node.checkpoint.parent
        });
        let selected = current.map(|current| current.id().clone());
        ids.extend(selected.clone().filter(|id| !ids.contains(id)));
        let mut variants = Vec::new();
        for id in ids {
            let checkpoint = agent.node(&id).await?.checkpoint;
            variants.push(Variant { checkpoint, selected: selected.as_ref() == Some(&id) });
        }
        variants.sort_by(|one, other| {
            let key = |variant: &Variant| (variant.checkpoint.created_at, variant.checkpoint.id.clone());
            key(one).cmp(&key(other))
        });
        Ok(variants)
    }

    /// Goes on from a variant, at the turn where it was left.
    ///
    /// # Errors
    /// [`ErrorKind::SessionBusy`] while a run is going, [`ErrorKind::UnknownCheckpoint`].
    pub async fn select(&self, variant: &CheckpointId) -> Result<RolledBack> {
        let agent = &self.agent.0;
        loop {
            let VersionedHead { mut head, version } = self.idle().await?;
            let (_, to) = agent.reach(&head, variant).await?;
            if head.checkpoint.as_ref() == Some(&to) {
                return Ok(RolledBack::default());
            }
            let to = agent.node(&to).await?;
            let mut undone = RolledBack::default();
            if let Some(at) = &head.checkpoint {
                let tip = agent.node(at).await?;
                let common = agent.common(tip.clone(), to.clone()).await?;
                self.note_left(&tip, common.as_ref()).await?;
                undone = self.stand_at(&mut head, tip, common.as_ref()).await?;
            }
            head.checkpoint = Some(to.id().clone());
            head.turn = to.turn();
            reopen(&mut head, Some(&to))?;
            if agent.swap(head, version).await? {
                agent.reconcile(&self.key).await?;
                return Ok(undone);
            }
        }
    }

    /// Moves a head to an earlier turn, or to the beginning, and then after messages from elsewhere. What is left behind
    /// can be selected again.
    pub(super) async fn branch_at(
        &self,
        head: &mut Head,
        to: Option<&Node>,
        messages: Vec<Message>,
    ) -> Result<()> {
        let agent = &self.agent.0;
        let left = head.checkpoint.clone();
        if let Some(at) = &left {
            let tip = agent.node(at).await?;
            self.note_left(&tip, to).await?;
            self.stand_at(head, tip, to).await?;
        }
        if messages.is_empty() {
            return Ok(());
        }
        let messages = self.known_messages(left, messages).await?;
        // If the head is not swapped after all, what was put is swept.
        agent.note_sweep(&head.tree).await?;
        agent.seed(head, to, messages).await
    }

    /// Messages from elsewhere, with the session's own in the place of those that say the same under the same name: they
    /// have calls of tools, which a page cannot vouch for.
    async fn known_messages(&self, at: Option<CheckpointId>, messages: Vec<Message>) -> Result<Vec<Message>> {
        let own = self.agent.0.state_at(at).await?.messages;
        let same = |message: &Message| {
            own.iter()
                .find(|own| own.id == message.id && own.role == message.role && says_the_same(own, message))
        };
        let taken = messages.into_iter().map(|mut message| {
            if let Some(own) = same(&message) {
                return Ok(own.clone());
            }
            if message.id == "" || own.iter().any(|own| own.id == message.id) {
                message.id = fresh_id("msg")?.into();
            }
            Ok(message)
        });
        taken.collect()
    }

    /// Notes the branch from a node to a tip that is left, so that it can be selected again.
    async fn note_left(&self, tip: &Node, from: Option<&Node>) -> Result<()> {
        let agent = &self.agent.0;
        let turn = from.map_or(0, Node::turn);
        match agent.ancestor(tip.clone(), turn + 1).await?.filter(|left| left.turn() > turn) {
            Some(left) => agent.note_branch(&self.key, from.map(Node::id), left.id(), tip.id()).await,
            None => Ok(()),
        }
    }

    /// The head, when nothing is going.
    async fn idle(&self) -> Result<VersionedHead> {
        let seen = self.reconcile().await?;
        if seen.head.active.is_some() { Err(self.busy()) } else { Ok(seen) }
    }

    async fn tip(&self, head: &Head) -> Result<Node> {
        match &head.checkpoint {
            Some(id) => self.agent.0.node(id).await,
            None => Err(unknown(&CheckpointId::from("at the beginning"))),
        }
    }

    /// Moves a head back, and notes what no longer holds.
    async fn stand_at(&self, head: &mut Head, tip: Node, to: Option<&Node>) -> Result<RolledBack> {
        let turn = to.map_or(0, Node::turn);
        let mut streams: Vec<String> = Vec::new();
        let agent = &self.agent.0;
        let mut next = Some(tip);
        while let Some(node) = next.filter(|node| node.turn() > turn) {
            let jump = node.jump.id.as_ref().filter(|_| node.base.is_none() && node.jump.turn >= turn);
            let far = match jump {
                Some(id) => agent.find_node(id).await?,
                None => None,
            };
            next = match (far, &node.checkpoint.parent) {
                (Some(far), _) => {
                    streams.extend(node.touched);
                    Some(far)
                }
                // What it jumps to is no longer kept, or too far.
                (None, Some(parent)) => {
                    streams.extend(node.structured.into_keys());
                    Some(agent.node(parent).await?)
                }
                (None, None) => {
                    streams.extend(node.structured.into_keys());
                    None
                }
            };
        }
        streams.sort_unstable();
        streams.dedup();
        let checkpoint = to.map(|to| to.id().clone());
        let requests = head.leave_waiting();
        head.invalidated.retain(|gone| !streams.contains(&gone.stream));
        head.invalidated.extend(
            streams
                .iter()
                .map(|stream| Invalidated { stream: stream.clone(), checkpoint: checkpoint.clone() }),
        );
        head.checkpoint = checkpoint;
        head.turn = turn;
        if turn == 0 {
            head.label = None;
        }
        Ok(RolledBack { streams, requests })
    }
}

/// Lets a new run ask again what the run of a checkpoint waited for.
fn reopen(head: &mut Head, at: Option<&Node>) -> Result<()> {
    if let Some(node) = at.filter(|node| node.waits()) {
        let doing = Doing::Copy { of: node.id().clone(), answers: Vec::new(), keys: Vec::new() };
        head.active = Some(Active { run: fresh_run()?, checkpoint: fresh_checkpoint(&head.tree)?, doing });
    }
    Ok(())
}

/// Answers again what the checkpoint before a turn waited for.
fn copy_of(node: &Node, answers: Vec<GivenAnswer>, keys: &[String]) -> Result<Doing> {
    match &node.checkpoint.parent {
        Some(parent) => Ok(Doing::Copy { of: parent.clone(), answers, keys: keys.to_vec() }),
        None => Err(unknown(node.id())),
    }
}

fn seeded(node: &Node) -> Error {
    let message = format!("turn {} came with the session and has no run to do again", node.turn());
    Error::new(ErrorKind::Input, message).with_code("turn.seeded")
}

pub(super) fn exists(id: &SessionId) -> Error {
    Error::new(ErrorKind::SessionExists, format!("there is a session {id} already: choose another name"))
}
