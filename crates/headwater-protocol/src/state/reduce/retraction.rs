//! Changes of several parts: retraction and conversation snapshots.

use std::collections::{HashMap, HashSet};

use super::RunState;
use crate::{
    event::{Message, Origin, Part, Role},
    id::{AttemptId, MessageId},
};

impl RunState {
    /// Removes the output of an attempt. Completed calls stay, because their effects happened.
    pub(super) fn retract(&mut self, attempt: &AttemptId) {
        for message in &mut self.messages {
            message.parts.retain(|part| {
                let settled = matches!(part, Part::Tool(tool) if tool.state.is_settled());
                settled || part.attempt() != Some(attempt)
            });
        }
        self.rebuild_index();
    }

    /// Removes all parts of the current step.
    pub(super) fn reset_step(&mut self, origin: &Origin) {
        if let Some(message) = self.target_mut(origin) {
            let begin = message.parts.iter().rposition(|part| matches!(part, Part::StepStart));
            message.parts.truncate(begin.map_or(0, |at| at + 1));
        }
        self.rebuild_index();
    }

    /// Applies a snapshot of the conversation: messages with matching ids are replaced in place, new ones
    /// added, and missing ones removed. Reasoning and activity messages stay unless the snapshot has messages
    /// of that role.
    pub(super) fn reconcile(&mut self, snapshot: &[Message]) {
        let current = self.current_message().map(|message| message.id.clone());
        let has = |role: Role| snapshot.iter().any(|message| message.role == role);
        let keep_reasoning = !has(Role::Reasoning);
        let keep_activity = !has(Role::Activity);
        let by_id: HashMap<&str, &Message> =
            snapshot.iter().map(|message| (message.id.as_str(), message)).collect();
        self.messages.retain_mut(|message| {
            if let Some(replacement) = by_id.get(message.id.as_str()) {
                *message = (*replacement).clone();
                return true;
            }
            (message.role == Role::Reasoning && keep_reasoning)
                || (message.role == Role::Activity && keep_activity)
        });
        let known: HashSet<MessageId> = self.messages.iter().map(|message| message.id.clone()).collect();
        self.messages.extend(snapshot.iter().filter(|message| !known.contains(&message.id)).cloned());
        self.current = current.and_then(|id| self.messages.iter().rposition(|message| message.id == id));
        self.rebuild_index();
    }
}
