//! Conversations with `travel`, `research` and `support`: changes, denials, and unknown inputs.

use headwater_protocol::{Event, Message, Part, RunStatus, StructuredOp};
use headwater_runtime::{Agent, Answer, AnswerValue, RunOutcome, Session, Start};
use serde_json::{Value, json};

use super::{agent, parts, run, said};

/// Answers the first open question and runs to the next stop.
async fn answer(agent: &Agent, answer: AnswerValue) -> RunOutcome {
    let request = agent.questions(None, 10).await.unwrap().first().unwrap().request.clone();
    agent.answer(Answer::new(request, answer).by(None)).await.unwrap().outcome().await.unwrap()
}

fn object(outcome: &RunOutcome) -> Value {
    outcome.structured().iter().last().unwrap().data().unwrap().clone()
}

/// Sends a text and returns the last message with its structured object.
async fn sent(session: &Session, text: &str) -> (Message, Value) {
    session.send(text).await.unwrap();
    session.settled().await.unwrap();
    let message = session.history(None, None, 50).await.unwrap().messages.pop().unwrap();
    let object = message.parts.iter().rev().find_map(|part| match part {
        Part::Structured(part) => part.data.clone(),
        _ => None,
    });
    (message, object.unwrap_or_default())
}

fn titles(itinerary: &Value) -> Vec<&str> {
    itinerary["days"].as_array().unwrap().iter().map(|day| day["title"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn travel_asks_for_pace_calls_tools_and_plans() {
    let (agent, outcome) = run("travel", "3 days in Lisbon in May").await;
    assert_eq!(outcome.status(), RunStatus::Waiting);
    let question = outcome.state.interrupts()[0].question.clone().unwrap();
    assert_eq!(question, "How full should your days in Lisbon be?");
    let outcome = answer(&agent, AnswerValue::Given(json!("packed"))).await;
    assert_eq!(outcome.status(), RunStatus::Finished);
    let plan = object(&outcome);
    assert_eq!(plan["title"], "3 full days in Lisbon");
    assert_eq!(plan["dates"], "12–14 May");
    assert_eq!(titles(&plan), ["Alfama and the castle", "Belém along the river", "A day in Sintra"]);
    let costs: u64 =
        plan["costs"].as_array().unwrap().iter().map(|cost| cost["euros"].as_u64().unwrap()).sum();
    assert_eq!(plan["total"], costs);
    let tools = parts(&outcome).into_iter().filter(|part| matches!(part, Part::Tool(_))).count();
    assert_eq!(tools, 2);
    let text = outcome.text();
    assert!(text.contains("Lisbon in May is usually mild and mostly sunny, around 20 °C."), "{text}");
    assert!(text.contains("### 3 full days in Lisbon"), "{text}");
}

#[tokio::test]
async fn travel_streams_each_day_with_a_comment() {
    let agent = agent("travel");
    let run = agent.start(Start::new("a relaxed weekend in Copenhagen")).await.unwrap();
    run.outcome().await.unwrap();
    let events = run.recorded().await.unwrap();
    // Growth that comes together is one update.
    let updates = events.iter().filter_map(|event| match event {
        Event::Structured(update) => Some(match &update.op {
            StructuredOp::Append { items, .. } => items.len(),
            _ => 1,
        }),
        _ => None,
    });
    // Title, city, dates, two days, four costs, the total, and the end.
    assert_eq!(updates.sum::<usize>(), 11);
}

#[tokio::test]
async fn travel_changes_the_plan_of_the_conversation() {
    let agent = agent("travel");
    let session = agent.new_session(None).await.unwrap();
    let (_, first) = sent(&session, "a packed 3 days in Lisbon in May").await;
    let (_, swapped) = sent(&session, "swap day 2 and 3").await;
    assert_eq!(titles(&swapped), ["Alfama and the castle", "A day in Sintra", "Belém along the river"]);
    assert_eq!(swapped["total"], first["total"]);
    let (message, slower) = sent(&session, "Make day 2 slower, please").await;
    assert_eq!(slower["days"][1]["afternoon"], "A slow walk through one garden, and tea in the village");
    assert_eq!(slower["days"][0], swapped["days"][0]);
    assert!(message.plain_text().contains("Day 2 now has a free afternoon."), "{}", message.plain_text());
    let (_, cheaper) = sent(&session, "cheaper").await;
    assert!(cheaper["total"].as_u64() < slower["total"].as_u64(), "{cheaper}");
    assert_eq!(cheaper["days"], slower["days"]);
    let (_, longer) = sent(&session, "make it 4 days").await;
    assert_eq!(titles(&longer).len(), 4);
    let (message, nothing) = sent(&session, "paint it blue").await;
    assert_eq!(nothing, Value::Null);
    assert!(
        message.plain_text().starts_with("I did not understand that change."),
        "{}",
        message.plain_text()
    );
}

#[tokio::test]
async fn travel_plans_for_unknown_city() {
    let (_, outcome) = run("travel", "two relaxed days in {input} porto alegre in July").await;
    assert_eq!(outcome.status(), RunStatus::Finished);
    let (_, outcome) = run("travel", "two relaxed days in porto alegre in July").await;
    let plan = object(&outcome);
    assert_eq!(plan["title"], "2 relaxed days in Porto Alegre");
    assert_eq!(titles(&plan), ["The old town", "Markets and neighbourhoods"]);
    assert!(said("travel", "hello").await.starts_with("Where do you want to go"));
    assert!(said("travel", "").await.starts_with("Where do you want to go"));
}

#[tokio::test]
async fn research_searches_twice_and_cites() {
    let (_, outcome) = run("research", "How do heat pumps work in winter?").await;
    assert_eq!(outcome.status(), RunStatus::Finished);
    let text = outcome.text();
    for piece in ["## Heat pumps in winter", "| −7 °C |", "```python", "- **Flow temperature.**", "[4]"] {
        assert!(text.contains(piece), "{piece} in {text}");
    }
    let count = |is: fn(&Part) -> bool| parts(&outcome).into_iter().filter(|part| is(part)).count();
    assert_eq!(count(|part| matches!(part, Part::Reasoning(_))), 1);
    assert_eq!(count(|part| matches!(part, Part::Tool(_))), 2);
    assert_eq!(count(|part| matches!(part, Part::SourceUrl(_))), 4);
    assert_eq!(count(|part| matches!(part, Part::SourceDocument(_))), 1);
    assert_eq!(count(|part| matches!(part, Part::File(_))), 1);
}

#[tokio::test]
async fn research_answers_all_of_its_suggestions() {
    let agent = agent("research");
    for suggestion in agent.suggestions() {
        let text = said("research", suggestion).await;
        assert!(text.starts_with("## ") && text.contains("[1]"), "{suggestion}: {text}");
    }
}

#[tokio::test]
async fn research_shortens_its_last_answer() {
    let agent = agent("research");
    let session = agent.new_session(None).await.unwrap();
    sent(&session, "Why are there two tides a day?").await;
    let (message, _) = sent(&session, "shorter, please").await;
    let text = message.plain_text();
    assert!(text.starts_with("**In short:** tides come from the difference"), "{text}");
    assert!(said("research", "shorter").await.starts_with("There is nothing to shorten yet."));
}

#[tokio::test]
async fn research_refuses_unknown_questions() {
    let (_, outcome) = run("research", "Who wins {input}?").await;
    let text = outcome.text();
    assert!(text.contains("demo model") && text.contains("*Who wins {input}?*"), "{text}");
    assert!(!parts(&outcome).iter().any(|part| matches!(part, Part::Tool(_) | Part::SourceUrl(_))));
}

#[tokio::test]
async fn support_issues_approved_refund() {
    let (agent, outcome) = run("support", "My order 1042 arrived broken").await;
    assert_eq!(outcome.status(), RunStatus::Waiting);
    let open = agent.questions(None, 10).await.unwrap();
    let (_, input) = open[0].approval().unwrap();
    assert_eq!(input, &json!({ "order": "1042", "amount": 48, "reason": "Arrived damaged" }));
    let outcome = answer(&agent, AnswerValue::Approval { approved: true, reason: None, input: None }).await;
    assert_eq!(outcome.status(), RunStatus::Finished);
    assert!(
        outcome
            .text()
            .ends_with("Done: **€48** of order 1042 are on their way back. It takes two or three days.")
    );
    let case = object(&outcome);
    assert_eq!(case["status"], "refunded");
    assert_eq!((&case["refunded"], &case["note"]), (&json!(48), &json!("Arrived damaged")));
}

#[tokio::test]
async fn support_uses_amount_set_by_approver() {
    for (amount, status, refunded) in [(20, "refunded", 20), (900, "open", 0)] {
        let (agent, _) = run("support", "My order 1042 arrived broken").await;
        let input = Some(json!({ "order": "1042", "amount": amount, "reason": "Goodwill" }));
        let mut outcome = answer(&agent, AnswerValue::Approval { approved: true, reason: None, input }).await;
        if amount > 25 {
            assert_eq!(outcome.status(), RunStatus::Waiting, "the rule holds for the new amount too");
            outcome =
                answer(&agent, AnswerValue::Approval { approved: true, reason: None, input: None }).await;
        }
        assert_eq!(outcome.status(), RunStatus::Finished, "{amount}");
        let case = object(&outcome);
        assert_eq!((&case["status"], &case["refunded"]), (&json!(status), &json!(refunded)), "{case}");
        let told =
            if refunded == 20 { "the amount that you set" } else { "is more than the €48 that were paid" };
        assert!(outcome.text().contains(told), "{}", outcome.text());
    }
}

#[tokio::test]
async fn support_pays_nothing_after_denial() {
    let (agent, _) = run("support", "The boots of order 1044 do not fit").await;
    let denied = AnswerValue::Approval { approved: false, reason: Some("worn".to_owned()), input: None };
    let outcome = answer(&agent, denied).await;
    assert_eq!(outcome.status(), RunStatus::Finished);
    assert!(
        outcome.text().contains("The refund was not approved (worn), so nothing was paid."),
        "{}",
        outcome.text()
    );
    let case = object(&outcome);
    assert_eq!((&case["status"], &case["refunded"]), (&json!("open"), &json!(0)));
}

#[tokio::test]
async fn support_remembers_the_order_and_reports_unknown_ones() {
    let agent = agent("support");
    let session = agent.new_session(None).await.unwrap();
    let (message, case) = sent(&session, "Where is order 1043?").await;
    let text = message.plain_text();
    assert!(text.ends_with("is on its way, expected on Thursday. You paid €129."), "{text}");
    assert_eq!(case["status"], "no action");
    let (message, _) = sent(&session, "I want a refund").await;
    let text = message.plain_text();
    assert!(text.ends_with("I can refund it once it has arrived."), "{text}");
    assert!(
        said("support", "order 9999 is broken").await.starts_with("I cannot find an order with that number.")
    );
    assert!(said("support", "hello").await.starts_with("I can look up an order"));
}
