//! All declared paths in one automaton, so that each key takes one lookup however many fields are declared.
//!
//! The paths form a trie in which a key may match both a name and a wildcard. Each set of trie nodes matched
//! together becomes one state, so a document is always in exactly one state.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::FieldKind;
use super::error::FieldError;
use crate::path::{is_digits, unescape};

/// The state in which nothing below can match.
pub(crate) const DEAD: u32 = 0;
/// The state of the document's root.
pub(crate) const ROOT: u32 = 1;

const MAX_STATES: usize = 10_000;

/// One declared path.
#[derive(Debug)]
pub(super) struct Pattern {
    kind: FieldKind,
    segments: Vec<PathStep>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum PathStep {
    Any,
    Key(String),
    /// Digits match an index or a key.
    Digits(String),
}

impl Pattern {
    pub(super) fn read(kind: FieldKind, path: &str) -> Result<Self, FieldError> {
        if path.is_empty() {
            return Err(FieldError::empty_path(kind));
        }
        let segments = path.split('.').map(|segment| match segment {
            "" => Err(FieldError::empty_segment(kind, path)),
            "*" => Ok(PathStep::Any),
            digits if is_digits(digits) => Ok(PathStep::Digits(digits.to_owned())),
            key => Ok(PathStep::Key(unescape(key).into_owned())),
        });
        Ok(Self { kind, segments: segments.collect::<Result<_, _>>()? })
    }
}

#[derive(Debug)]
pub(crate) struct Automaton {
    states: Vec<AutomatonState>,
}

#[derive(Debug, Default)]
struct AutomatonState {
    kinds: Kinds,
    names: NameTable,
    /// Target states of indexes that differ from `other`, in ascending order.
    indexes: Vec<(usize, u32)>,
    /// Target state of every other key and index.
    other: u32,
}

/// The field kinds that match a value, as bits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Kinds(u8);

impl Kinds {
    #[inline]
    pub(crate) fn has(self, kind: FieldKind) -> bool {
        self.0 & Self::bit(kind) != 0
    }

    fn bit(kind: FieldKind) -> u8 {
        match kind {
            FieldKind::Set => 1,
            FieldKind::Text => 2,
            FieldKind::Append => 4,
        }
    }
}

/// Target state of a key, and its position among the declared names of the object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeyMatch {
    pub(crate) state: u32,
    pub(crate) ordinal: Option<u32>,
}

/// The declared names below a state. Comparing a few one by one is faster than hashing.
#[derive(Debug)]
enum NameTable {
    Few(Vec<(Box<str>, u32)>),
    Many(HashMap<Box<str>, (u32, u32)>),
}

impl Default for NameTable {
    fn default() -> Self {
        Self::Few(Vec::new())
    }
}

impl NameTable {
    fn new(names: Vec<(Box<str>, u32)>) -> Self {
        if names.len() <= 8 {
            return Self::Few(names);
        }
        Self::Many(
            names.into_iter().zip(0..).map(|((name, state), ordinal)| (name, (state, ordinal))).collect(),
        )
    }

    fn is_empty(&self) -> bool {
        matches!(self, Self::Few(names) if names.is_empty())
    }

    #[inline]
    fn find(&self, key: &str) -> Option<(u32, u32)> {
        match self {
            Self::Few(names) => {
                let found = names.iter().zip(0..).find(|((name, _), _)| **name == *key);
                found.map(|((_, state), ordinal)| (*state, ordinal))
            }
            Self::Many(names) => names.get(key).copied(),
        }
    }
}

impl Automaton {
    pub(super) fn new(patterns: &[Pattern]) -> Result<Self, FieldError> {
        let trie = Trie::new(patterns);
        let mut states = vec![AutomatonState::default()];
        let mut known = HashMap::from([(BTreeSet::new(), DEAD)]);
        let mut queue = vec![BTreeSet::from([0])];
        known.insert(BTreeSet::from([0]), ROOT);
        let mut next = 0;
        while let Some(nodes) = queue.get(next).cloned() {
            next += 1;
            let mut number = |target: BTreeSet<usize>| {
                let new = u32::try_from(known.len()).unwrap_or(u32::MAX);
                *known.entry(target).or_insert_with_key(|target| {
                    queue.push(target.clone());
                    new
                })
            };
            states.push(trie.state(&nodes, &mut number));
            if known.len() > MAX_STATES {
                return Err(FieldError::too_many_states(MAX_STATES));
            }
        }
        Ok(Self { states })
    }

    #[inline]
    pub(crate) fn kinds(&self, state: u32) -> Kinds {
        self.states.get(state as usize).map_or(Kinds(0), |state| state.kinds)
    }

    /// Whether a field can match below this state.
    #[inline]
    pub(crate) fn can_match_below(&self, state: u32) -> bool {
        self.states
            .get(state as usize)
            .is_some_and(|state| state.other != DEAD || !state.names.is_empty() || !state.indexes.is_empty())
    }

    #[inline]
    pub(crate) fn at_key(&self, state: u32, key: &str) -> KeyMatch {
        let Some(state) = self.states.get(state as usize) else {
            return KeyMatch { state: DEAD, ordinal: None };
        };
        match state.names.find(key) {
            Some((state, ordinal)) => KeyMatch { state, ordinal: Some(ordinal) },
            None => KeyMatch { state: state.other, ordinal: None },
        }
    }

    #[inline]
    pub(crate) fn at_index(&self, state: u32, index: usize) -> u32 {
        let Some(state) = self.states.get(state as usize) else {
            return DEAD;
        };
        if state.indexes.is_empty() {
            return state.other;
        }
        let found = state.indexes.binary_search_by_key(&index, |(index, _)| *index).ok();
        found.and_then(|at| state.indexes.get(at)).map_or(state.other, |(_, state)| *state)
    }
}

#[derive(Debug, Default)]
struct Trie {
    nodes: Vec<TrieNode>,
}

#[derive(Debug, Default)]
struct TrieNode {
    kinds: u8,
    next: BTreeMap<PathStep, usize>,
}

impl Trie {
    fn new(patterns: &[Pattern]) -> Self {
        let mut nodes = vec![TrieNode::default()];
        for pattern in patterns {
            let mut at = 0;
            for step in &pattern.segments {
                let new = nodes.len();
                let Some(node) = nodes.get_mut(at) else { break };
                at = *node.next.entry(step.clone()).or_insert(new);
                if at == new {
                    nodes.push(TrieNode::default());
                }
            }
            if let Some(node) = nodes.get_mut(at) {
                node.kinds |= Kinds::bit(pattern.kind);
            }
        }
        Self { nodes }
    }

    /// The state that matches all of `nodes`. `number` assigns a number to the state of a set of nodes.
    fn state(
        &self,
        nodes: &BTreeSet<usize>,
        number: &mut dyn FnMut(BTreeSet<usize>) -> u32,
    ) -> AutomatonState {
        let matched = || nodes.iter().filter_map(|node| self.nodes.get(*node));
        let any: BTreeSet<usize> =
            matched().filter_map(|node| node.next.get(&PathStep::Any).copied()).collect();
        let mut names: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
        let mut indexes: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for (step, next) in matched().flat_map(|node| &node.next) {
            let (PathStep::Key(name) | PathStep::Digits(name)) = step else { continue };
            names.entry(name).or_insert_with(|| any.clone()).insert(*next);
            // `07` matches a key only: indexes have no leading zero.
            let is_index = matches!(step, PathStep::Digits(_)) && (name == "0" || !name.starts_with('0'));
            if let (true, Ok(index)) = (is_index, name.parse::<usize>()) {
                indexes.entry(index).or_insert_with(|| any.clone()).insert(*next);
            }
        }
        AutomatonState {
            kinds: Kinds(matched().fold(0, |kinds, node| kinds | node.kinds)),
            names: NameTable::new(
                names.into_iter().map(|(name, next)| (name.into(), number(next))).collect(),
            ),
            indexes: indexes.into_iter().map(|(index, next)| (index, number(next))).collect(),
            other: number(any),
        }
    }
}
