//! The agent `support`: looks up an order and refunds it once a person approves.
//!
//! The refund is a tool that needs approval. The approver may change the amount or deny the call; the model
//! sees the result either way. The outcome is shown as a structured object, the case.

use std::{sync::Arc, time::Duration};

use headwater_models::{Models, ToolResultOutput, scripted::Rule};
use headwater_runtime::{
    Agent, AgentOptions, Cx, END, FinishedToolCall, Next, NodeResult, Result, START, Workflow,
};
use headwater_store::Store;
use headwater_tools::{FunctionTool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::improvised::{DemoRequest, ImprovisedModel, ToolOutcome, Words, literal, literal_json};

/// The duration of a tool call, in paces of the model: 0.4 seconds at the default pace.
const TOOL_PACES: u32 = 27;

/// Refunds up to this amount need no approval. An amount changed by the approver follows the same rule.
const SMALL: u32 = 25;

const SYSTEM: &str = "Look up the order, propose a refund if something is wrong with it, and issue it.";

pub(super) fn agent(store: &Arc<dyn Store>, options: &AgentOptions, pace: Duration) -> Result<Agent> {
    let workflow = Workflow::new("support")
        .description("Settles a complaint about an order.")
        .node("settle", settle)
        .edge(START, "settle")
        .edge("settle", END)
        .build()?;
    let look_up = move |of: LookUpOrder| async move {
        tokio::time::sleep(pace * TOOL_PACES).await;
        CustomerOrder::find(&of.order)
            .ok_or_else(|| ToolError::new(format!("there is no order {}", of.order)))
    };
    let refund = move |refund: IssueRefund| async move {
        tokio::time::sleep(pace * TOOL_PACES).await;
        issue_refund(refund)
    };
    let refund = FunctionTool::new("issue_refund", refund).title("Issue a refund");
    Agent::builder()
        .name("support")
        .description("Looks up an order and refunds it, once you approve the amount.")
        .suggestion("My order 1042 arrived broken")
        .suggestion("Where is order 1043?")
        .suggestion("The boots of order 1044 do not fit")
        .models(Models::new().add("agent", ImprovisedModel::new("demo:agent", pace, answer)))
        .tool(FunctionTool::new("look_up_order", look_up).title("Look up an order").repeatable())
        // Nothing is paid here. A real refund would pass on `ToolContext::idempotency_key` instead of being
        // repeatable.
        .tool(refund.approval_if(|refund: &IssueRefund| refund.amount > SMALL).editable().repeatable())
        .workflow(workflow)
        .store(store.clone())
        .options(options.clone())
        .build()
}

/// Looks up an order by its number.
#[derive(Debug, Deserialize, JsonSchema)]
struct LookUpOrder {
    /// The number of the order.
    order: String,
}

/// Refunds an order. Above €25 a person must approve it and may change the amount.
#[derive(Debug, Deserialize, JsonSchema)]
struct IssueRefund {
    /// The number of the order.
    order: String,
    /// In euros.
    #[schemars(range(min = 1))]
    amount: u32,
    /// The reason for the refund.
    reason: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct CustomerOrder {
    order: String,
    item: String,
    /// In euros.
    paid: u32,
    status: String,
}

impl CustomerOrder {
    fn find(number: &str) -> Option<Self> {
        let (item, paid, status) = match number {
            "1042" => ("Enamel coffee pot, blue", 48, "delivered"),
            "1043" => ("Reading lamp, brass", 129, "on its way, expected on Thursday"),
            "1044" => ("Walking boots, size 42", 160, "delivered"),
            _ => return None,
        };
        Some(Self { order: number.to_owned(), item: item.to_owned(), paid, status: status.to_owned() })
    }
}

/// An issued refund.
#[derive(Debug, Serialize, Deserialize)]
struct Refund {
    id: String,
    amount: u32,
    reason: String,
}

/// The outcome of a complaint.
#[derive(Debug, Serialize)]
struct SupportCase {
    order: String,
    item: String,
    /// `refunded`, `open`, or `no action`.
    status: &'static str,
    paid: u32,
    refunded: u32,
    note: String,
}

fn issue_refund(refund: IssueRefund) -> std::result::Result<Refund, ToolError> {
    let order = CustomerOrder::find(&refund.order)
        .ok_or_else(|| ToolError::new(format!("there is no order {}", refund.order)))?;
    if refund.amount > order.paid {
        return Err(ToolError::new(format!(
            "€{} is more than the €{} that were paid",
            refund.amount, order.paid
        )));
    }
    Ok(Refund { id: format!("R-{}", refund.order), amount: refund.amount, reason: refund.reason })
}

async fn settle(cx: Cx, message: String) -> NodeResult {
    let reply = cx
        .reason("agent")
        .system(SYSTEM)
        .messages(cx.conversation()?)
        .input(message)
        .agent_tools(["look_up_order", "issue_refund"])
        .await?;
    let Some(case) = case(&reply.tool_results) else { return Ok(Next::go()) };
    cx.structured("support.case").finish(&case)?;
    Ok(Next::go().with_result(&case)?)
}

/// The case, if an order was found.
fn case(calls: &[FinishedToolCall]) -> Option<SupportCase> {
    let call = |name: &str| calls.iter().find(|call| call.name == name);
    let order = &call("look_up_order")?.result.as_ref().ok()?.output;
    let CustomerOrder { order, item, paid, .. } = CustomerOrder::deserialize(order).ok()?;
    let (status, refunded, note) = match call("issue_refund").map(|call| &call.result) {
        Some(Ok(refund)) => {
            let Refund { amount, reason, .. } = Refund::deserialize(&refund.output).ok()?;
            ("refunded", amount, reason)
        }
        Some(Err(why)) => ("open", 0, format!("The refund was not issued: {why}")),
        None => ("no action", 0, "The customer asked about the delivery".to_owned()),
    };
    Some(SupportCase { order, item, status, paid, refunded, note })
}

/// The script in place of a model.
fn answer(asked: &DemoRequest<'_>) -> Rule {
    let message = asked.input();
    let words = Words::of(&message);
    let called = asked.called();
    let found = called.iter().find(|call| call.tool == "look_up_order");
    let refund = called.iter().find(|call| call.tool == "issue_refund");
    match (found, refund) {
        (Some(found), Some(refund)) => Rule::always().text(literal(&settled(found, refund))),
        (Some(found), None) => propose(&words, found),
        _ => begin(asked, &words),
    }
}

/// The order number in a text.
fn order_in(words: &Words) -> Option<String> {
    words.iter().find(|word| word.len() == 4 && word.parse::<u32>().is_ok()).map(str::to_owned)
}

/// Looks up the order named in this message or an earlier one.
fn begin(asked: &DemoRequest<'_>, words: &Words) -> Rule {
    let before = || asked.said().rev().skip(1).find_map(|said| order_in(&Words::of(&said)));
    let has_reason =
        !matches!(reason(words), CaseReason::None) || words.any(&["order", "refund", "it", "where"]);
    let order = order_in(words).or_else(|| has_reason.then(before).flatten());
    match order {
        Some(order) => Rule::always()
            .reasoning("First I look up the order.")
            .tool("look_up_order", literal_json(json!({ "order": order }))),
        None if words.any(&["thanks", "thank"]) => {
            Rule::always().text("You are welcome. I am here if anything else is wrong.")
        }
        None => Rule::always().text(
            "I can look up an order and refund it. What is its number, and what is wrong? For example:\n\n\
             - `My order 1042 arrived broken`\n- `Where is order 1043?`\n- `The boots of order 1044 do not fit`",
        ),
    }
}

/// The customer's complaint.
enum CaseReason {
    Broken,
    DoesNotFit,
    Unwanted,
    None,
}

fn reason(words: &Words) -> CaseReason {
    if words.any(&["broken", "damaged", "defective", "cracked", "leaks", "wrong"]) {
        CaseReason::Broken
    } else if words.any(&["fit", "size", "small", "large", "big"]) {
        CaseReason::DoesNotFit
    } else if words.any(&["refund", "money", "return", "back"]) {
        CaseReason::Unwanted
    } else {
        CaseReason::None
    }
}

/// Proposes a refund, or reports the status of the order.
fn propose(words: &Words, found: &ToolOutcome<'_>) -> Rule {
    let order = match found.output {
        ToolResultOutput::Json { value } => CustomerOrder::deserialize(value).ok(),
        _ => None,
    };
    let Some(CustomerOrder { order, item, paid, status }) = order else {
        return Rule::always().text(
            "I cannot find an order with that number. It has four digits and is in the confirmation that we sent; the demo \
             knows 1042, 1043 and 1044.",
        );
    };
    let (why, part, because) = match reason(words) {
        CaseReason::Broken => ("I am sorry that it arrived like this", paid, "Arrived damaged"),
        // Two thirds: the shop keeps the cost of the return.
        CaseReason::DoesNotFit => ("A pity that it does not fit", paid * 2 / 3, "Does not fit"),
        CaseReason::Unwanted => ("You can return it", paid * 2 / 3, "Returned"),
        CaseReason::None => {
            return Rule::always()
                .text(literal(&format!("Order {order}, **{item}**, is {status}. You paid €{paid}.")));
        }
    };
    if !status.starts_with("delivered") {
        return Rule::always().text(literal(&format!(
            "Order {order}, **{item}**, is {status}. I can refund it once it has arrived."
        )));
    }
    let input = json!({ "order": order, "amount": part, "reason": because });
    Rule::always()
        .text(literal(&format!(
            "I found order {order}: **{item}**, €{paid}, {status}. {why}. I propose to refund **€{part}**; please approve it."
        )))
        .tool("issue_refund", literal_json(input))
}

/// Reports the outcome of the refund.
fn settled(found: &ToolOutcome<'_>, refund: &ToolOutcome<'_>) -> String {
    let proposed = refund.input.and_then(|input| input.get("amount")).and_then(Value::as_u64);
    let order = found.input.and_then(|input| input.get("order")).and_then(Value::as_str).unwrap_or_default();
    match refund.output {
        ToolResultOutput::Json { value } => {
            let amount = Refund::deserialize(value).map_or(0, |refund| refund.amount);
            let edited = if proposed == Some(amount.into()) { "" } else { ", the amount that you set" };
            format!(
                "Done: **€{amount}** of order {order} are on their way back{edited}. It takes two or three days."
            )
        }
        ToolResultOutput::ExecutionDenied { reason } => {
            let reason = reason.as_deref().map(str::trim).filter(|reason| !reason.is_empty());
            let because = reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
            format!(
                "The refund was not approved{because}, so nothing was paid. I keep the case of order {order} open; a \
                 replacement is possible instead."
            )
        }
        ToolResultOutput::ErrorText { value } => {
            format!("The refund failed: {value}. Nothing was paid, and the case of order {order} stays open.")
        }
        _ => format!("I could not read what came of the refund of order {order}."),
    }
}
