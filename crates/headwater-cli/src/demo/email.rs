//! The script of the agent `email`.

use headwater_models::scripted::Rule;
use serde_json::json;

use super::improvised::{DemoRequest, literal};

/// The bullets of a draft, the most important last: each revision drops the first.
const BULLETS: [&str; 3] = ["Works with the page you have", "Survives a reload", "Starts with one command"];

/// A draft. The last line of the prompt gives the number of bullets.
pub(super) fn draft(asked: &DemoRequest<'_>) -> Rule {
    let prompt = asked.input();
    let (brief, bullets) = prompt.rsplit_once("\nbullets: ").unwrap_or((&prompt, "3"));
    let wanted = bullets.trim().parse::<usize>().unwrap_or(3).max(1);
    let bullets: Vec<_> = BULLETS.iter().skip(BULLETS.len().saturating_sub(wanted)).collect();
    let brief = brief.split_whitespace().collect::<Vec<_>>().join(" ");
    let brief = if brief.is_empty() { "the launch".to_owned() } else { brief };
    let close = if wanted < BULLETS.len() { "" } else { "\n\nTell us what you think of it." };
    Rule::always()
        .json(json!({
            "subject": literal(&format!("News: {brief}")),
            "body": literal(&format!("Hi team,\n\nhere is what is new about {brief}.{close}")),
            "bullets": bullets,
        }))
        .chunk(6)
}
