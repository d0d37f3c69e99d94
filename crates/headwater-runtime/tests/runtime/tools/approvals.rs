//! Tool calls that a person approves, refuses or edits.

use super::*;

fn decide(approval: &OpenQuestion, answer: AnswerValue) -> Answer {
    Answer::new(approval.request.clone(), answer).token(approval.token().unwrap())
}

#[tokio::test]
async fn approval_shows_the_exact_input() {
    let made = Calls::default();
    let model = caller([call("Oslo").id("c1")]);
    let world = world(&model, &made);

    let ran = world.run("approve").await;
    assert_eq!(ran.status(), RunStatus::Waiting);
    assert!(cities(&made).is_empty());
    let approval = ran.approval().await;
    let (tool, input) = approval.approval().unwrap();
    assert_eq!((tool.name.as_str(), input), ("weather", &json!({ "city": "Oslo" })));
    let asked = ran.events.iter().find_map(|event| match event {
        Event::ApprovalRequested(ApprovalRequested { input, signature, .. }) => {
            Some((input.clone().unwrap(), signature.clone()))
        }
        _ => None,
    });
    assert_eq!(asked, Some((json!({ "city": "Oslo" }), approval.token().map(str::to_owned))));
    let ran =
        ran.send(Answer::approved(approval.request.clone()).token(approval.token().unwrap())).await.unwrap();
    assert_eq!(cities(&made), ["Oslo"]);
    assert_eq!(ran.text(), "Let me see. It is sunny in Oslo.");
    assert_eq!(model.asked(), 2, "no pass is made twice");

    let ran = world.run("approve").await;
    let approval = ran.approval().await;
    let denied = Answer::denied(approval.request.clone(), Some("too far")).token(approval.token().unwrap());
    let ran = ran.send(denied).await.unwrap();
    assert_eq!(cities(&made), ["Oslo"], "it was not called");
    assert_eq!(ran.count("tool-denied"), 1);
    assert_eq!(results(&model), json!([{ "type": "execution-denied", "reason": "too far" }]));
    assert!(ran.result()["results"][0]["error"].as_str().unwrap().contains("too far"));
}

#[tokio::test]
async fn edited_input_is_validated_before_the_call() {
    let made = Calls::default();
    let model = caller([call("Oslo")]);
    let world = World::with(one(node), |agent| agent.model("writer", model).tool(weather(&made).editable()));

    let ran = world.run("approve").await;
    let ran = ran.send(decide(&ran.approval().await, edited(json!({ "city": "Bergen" })))).await.unwrap();
    assert!(cities(&made).is_empty(), "the rule is applied again to the edited input");
    let again = ran.approval().await;
    assert_eq!(again.approval().unwrap().1, &json!({ "city": "Bergen" }));
    let approved = Answer::approved(again.request.clone()).token(again.token().unwrap());
    let ran = ran.send(approved).await.unwrap();
    assert_eq!(cities(&made), ["Bergen"]);
    assert_eq!(ran.result()["results"][0]["input"]["city"], "Bergen");

    let ran = world.run("approve").await;
    let wrong = ran.send(decide(&ran.approval().await, edited(json!({ "city": 1 })))).await;
    assert_eq!(wrong.unwrap_err().code(), "answer.invalid", "and the question stays open");
    assert_eq!(cities(&made), ["Bergen"]);
    assert_eq!(ran.approvals().await.len(), 1);
}

fn edited(input: Value) -> AnswerValue {
    AnswerValue::Approval { approved: true, reason: None, input: Some(input) }
}

#[tokio::test]
async fn approval_with_another_input_is_refused_unless_the_tool_is_editable() {
    let made = Calls::default();
    let world = world(&caller([call("Oslo")]), &made);
    let ran = world.run("approve").await;
    let asked = ran.approval().await;
    let changed = ran.send(decide(&asked, edited(json!({ "city": "Bergen" })))).await;
    assert_eq!(changed.unwrap_err().code(), "approval.edited");
    assert_eq!(ran.approvals().await.len(), 1, "and the question stays open");
    assert!(cities(&made).is_empty());
    let ran = ran.send(decide(&asked, edited(json!({ "city": "Oslo" })))).await.unwrap();
    assert_eq!(cities(&made), ["Oslo"], "the same input is not a change");
    assert_eq!(ran.count("approval-requested"), 1);
}

#[tokio::test]
async fn edited_input_is_called_at_once_only_if_its_rule_allows_it() {
    for (to, asked_again) in [("Bergen", false), ("Lviv", true)] {
        let made = Calls::default();
        async fn node(cx: Cx, _: ()) -> NodeResult {
            let reply = cx.reason("writer").agent_tools(["weather"]).input("go").await?;
            Ok(Next::go().with_result(&result_of(&reply))?)
        }
        let tool = weather(&made).approval_if(|input| matches!(&*input.city, "Kyiv" | "Lviv")).editable();
        let world = World::with(one(node), |agent| agent.model("writer", caller([call("Kyiv")])).tool(tool));
        let ran = world.run("").await;
        let ran = ran.send(decide(&ran.approval().await, edited(json!({ "city": to })))).await.unwrap();
        assert_eq!(cities(&made).is_empty(), asked_again, "{to}");
        if asked_again {
            let again = ran.approval().await;
            ran.send(Answer::approved(again.request.clone()).token(again.token().unwrap())).await.unwrap();
        }
        assert_eq!(cities(&made), [to]);
    }
}

#[tokio::test]
async fn expired_approval_is_a_refusal() {
    let made = Calls::default();
    let world = world(&caller([call("Oslo")]), &made);
    let ran = world.run("in a minute").await;
    let ran = world.later(&ran, Duration::from_secs(61)).await;
    assert!(ran.result()["results"][0]["error"].as_str().unwrap().contains("no decision came in time"));
    assert!(cities(&made).is_empty());
    assert_eq!((ran.count("approval-answered"), ran.count("tool-denied")), (1, 1));
}

#[tokio::test]
async fn approval_for_some_inputs_does_not_delay_others() {
    let made = Calls::default();
    async fn node(cx: Cx, _: ()) -> NodeResult {
        let reply = cx.reason("writer").agent_tools(["weather"]).input("go").await?;
        Ok(Next::go().with_result(&result_of(&reply))?)
    }
    let model = caller([call("Oslo").id("c1"), call("Kyiv").id("c2"), call("Bergen").id("c3")]);
    let world = World::with(one(node), |agent| {
        agent.model("writer", model).tool(weather(&made).approval_if(|input| input.city == "Kyiv"))
    });
    let ran = world.run("").await;
    assert_eq!(cities(&made), ["Oslo", "Bergen"], "what may be called is called");
    let ran = ran.send(decide(&ran.approval().await, approved())).await.unwrap();
    assert_eq!(cities(&made), ["Oslo", "Bergen", "Kyiv"], "and not again");
    assert_eq!(ran.result()["results"].as_array().unwrap().len(), 3);
}

fn approved() -> AnswerValue {
    AnswerValue::Approval { approved: true, reason: None, input: None }
}

#[tokio::test]
async fn two_approvals_at_once_are_decided_one_by_one() {
    let made = Calls::default();
    let world = world(&caller([call("Oslo").id("c1"), call("Bergen").id("c2")]), &made);
    let ran = world.run("approve").await;
    let approvals = ran.approvals().await;
    assert_eq!(approvals.len(), 2);
    let of = |city: &str| approvals.iter().find(|one| one.approval().unwrap().1["city"] == city).unwrap();
    let swapped = Answer::approved(of("Oslo").request.clone()).token(of("Bergen").token().unwrap());
    assert_eq!(ran.send(swapped).await.unwrap_err().code(), "token.invalid", "a token is for one input");
    let ran = ran.send(decide(of("Bergen"), approved())).await.unwrap();
    assert_eq!((cities(&made), ran.status()), (vec!["Bergen".to_owned()], RunStatus::Waiting));
    let ran = ran.send(decide(of("Oslo"), AnswerValue::Declined)).await.unwrap();
    assert_eq!(cities(&made), ["Bergen"], "to decline is to forbid");
    assert_eq!(ran.status(), RunStatus::Finished);
}

// On the embedded store a result is durable only some time after its tool returned.
#[tokio::test]
async fn results_of_other_tools_are_shown_before_the_run_waits_for_approval() {
    let (made, folder) = (Calls::default(), tempfile::tempdir().unwrap());
    let model = caller([call("Oslo").id("c1"), call("Rome").id("c2"), call("Bergen").id("c3")]);
    let store = Arc::new(headwater_store::Embedded::open(folder.path()).unwrap());
    async fn node(cx: Cx, _: String) -> NodeResult {
        let reply = cx.reason("writer").agent_tools(["weather"]).input("go").await?;
        Ok(Next::go().with_result(&result_of(&reply))?)
    }
    let tool = weather(&made).approval_if(|input| input.city == "Bergen");
    let world =
        World::on(store, Arc::default(), |agent| agent.workflow(one(node)).model("writer", model).tool(tool));

    let ran = world.run("go").await;
    assert_eq!((ran.status(), ran.count("tool-output")), (RunStatus::Waiting, 2));
    assert_eq!(cities(&made), ["Oslo", "Rome"]);
}
