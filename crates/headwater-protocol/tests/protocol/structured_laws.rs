//! Properties of every series of updates.

use headwater_protocol::{
    StructuredLimits, StructuredOp, StructuredState, StructuredStreams, StructuredUpdate,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::structured_reference as reference;

/// Few names and small indexes, so that updates collide, conflict and leave holes.
fn path() -> impl Strategy<Value = String> {
    let segment = prop_oneof![
        4 => "[ab]",
        3 => "[0-3]",
        1 => prop::sample::select(vec!["01", "00", "", "__proto__", "a-", "7", "~:0", "~:", "~0", "~00", "~", "a~1b", "99999999999999999999999"])
            .prop_map(str::to_owned),
    ];
    prop::collection::vec(segment, 1..4).prop_map(|segments| segments.join("."))
}

fn value() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!(null),
        json!(true),
        json!(-1.25),
        json!(""),
        json!("é😀"),
        json!([]),
        json!([null, "x"]),
        json!({}),
        json!({"a": {"b": [1]}, "x.y": 1, "0": 2}),
    ])
}

fn op() -> impl Strategy<Value = StructuredOp> {
    prop_oneof![
        4 => (path(), prop::option::weighted(0.8, value())).prop_map(|(path, value)| StructuredOp::Set { path, value }),
        3 => (path(), prop::collection::vec(value(), 0..3)).prop_map(|(path, items)| StructuredOp::Append { path, items }),
        3 => (path(), "[a-c😀]{0,2}").prop_map(|(path, delta)| StructuredOp::TextDelta { path, delta }),
    ]
}

fn update() -> impl Strategy<Value = StructuredUpdate> {
    let last = prop::option::weighted(0.9, value()).prop_map(|data| StructuredOp::Final { data });
    let op = prop_oneof![40 => op(), 1 => last];
    let text = || prop::option::weighted(0.2, "[n]{0,2}");
    (prop::sample::select(vec!["s1", "s1", "s1", "s1", "s1", "s2"]), "[tu]", op, text(), text()).prop_map(
        |(stream, data_type, op, node, schema_id)| {
            let mut update = StructuredUpdate::new(stream, data_type, op);
            update.node = node;
            update.schema_id = schema_id;
            update
        },
    )
}

/// Low enough for updates to reach it.
const MAX_UNSET: usize = 8;

fn limits() -> StructuredLimits {
    let mut limits = StructuredLimits::default();
    limits.max_unset = MAX_UNSET;
    limits
}

fn to_json(state: &StructuredState) -> Value {
    serde_json::to_value(state).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 512, ..ProptestConfig::default() })]

    /// The in-place reducer gives the same states and errors as the reference, for owned and borrowed
    /// updates, and a refused update changes nothing.
    #[test]
    fn in_place_reducer_equals_the_reference(updates in prop::collection::vec(update(), 1..40)) {
        let mut state: Option<StructuredState> = None;
        let mut expected: Option<reference::ReferenceState> = None;
        for update in &updates {
            let before = state.clone();
            let lent = match &mut state {
                Some(state) => state.apply(update),
                None => StructuredState::begin_within(limits(), update).map(|begun| state = Some(begun)),
            };
            let given = match before.clone() {
                Some(mut before) => before.apply(update.clone()).map(|()| before),
                None => StructuredState::begin_within(limits(), update.clone()),
            };
            match reference::reduce(expected.as_ref(), update, MAX_UNSET) {
                Ok(next) => {
                    prop_assert!(lent.is_ok(), "refused {update:?}: {lent:?}");
                    prop_assert_eq!(&given.ok(), &state);
                    prop_assert_eq!(state.as_ref().map(to_json), Some(next.to_json()));
                    expected = Some(next);
                }
                Err(message) => {
                    prop_assert_eq!(lent.map_err(|error| error.to_string()), Err(message.clone()));
                    prop_assert_eq!(given.map_err(|error| error.to_string()), Err(message));
                    prop_assert_eq!(&state, &before);
                }
            }
        }
    }

    /// A state's own updates rebuild it, including unset elements, also after a JSON round trip.
    #[test]
    fn updates_of_a_state_rebuild_it(updates in prop::collection::vec(update(), 1..40)) {
        let mut streams = StructuredStreams::with_limits(limits());
        for update in &updates {
            let before = streams.clone();
            if streams.apply(update).is_err() {
                prop_assert_eq!(&streams, &before);
            }
        }
        let mut rebuilt = StructuredStreams::with_limits(limits());
        for update in streams.iter().flat_map(StructuredState::updates) {
            let wire = serde_json::to_string(&update).unwrap();
            rebuilt.apply(serde_json::from_str::<StructuredUpdate>(&wire).unwrap()).unwrap();
        }
        for state in streams.iter() {
            prop_assert_eq!(Some(state), rebuilt.get(state.stream()));
        }
        prop_assert_eq!(rebuilt.len(), streams.len());
    }
}
