//! The script of the agent `table`.

use headwater_models::scripted::Rule;
use serde_json::{Value, json};

use super::improvised::DemoRequest;

/// A table about planets if the input asks for them, otherwise about rivers.
pub(super) fn fill(asked: &DemoRequest<'_>) -> Rule {
    let table = if asked.input().to_lowercase().contains("planet") { planets() } else { rivers() };
    Rule::always().json(table).chunk(8)
}

fn rivers() -> Value {
    json!({
        "title": "Rivers",
        "columns": ["river", "length in km", "ends in"],
        "rows": [
            ["Nile", 6650, "Mediterranean Sea"],
            ["Amazon", 6400, "Atlantic Ocean"],
            ["Yangtze", 6300, "East China Sea"],
            ["Danube", 2850, "Black Sea"],
            ["Rhine", 1233, "North Sea"],
        ],
        "caption": "Five rivers, the longest first. Lengths are about right.",
    })
}

fn planets() -> Value {
    json!({
        "title": "Planets",
        "columns": ["planet", "moons", "year in days"],
        "rows": [["Mercury", 0, 88], ["Venus", 0, 225], ["Earth", 1, 365], ["Mars", 2, 687]],
        "caption": "The four inner planets, from the sun outwards.",
    })
}
