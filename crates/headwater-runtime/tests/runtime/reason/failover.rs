//! Models that fail: attempts, fallbacks, and what readers see of them.

use super::*;

fn overloaded() -> Fault {
    Fault::error(ModelError::new(ModelErrorKind::Overloaded, "busy"))
}

#[tokio::test(start_paused = true)]
async fn failed_model_is_retried_and_its_partial_text_retracted() {
    async fn node(cx: Cx, _: ()) -> NodeResult {
        let reply = cx.reason("writer").input("Hi").await?;
        Ok(Next::data(&json!({ "text": reply.text }))?)
    }
    let model = scripted([
        Rule::when(When::attempt(0)).text("Let me thi").fault(Fault::cut()),
        Rule::always().text("Hello."),
    ]);
    let ran = world(node, &model).run("").await;
    assert_eq!(ran.text(), "Hello.");
    assert_eq!((ran.count("attempt-started"), ran.count("attempt-retracted")), (2, 1));
    assert_eq!(ran.count("attempt-finished"), 1);
}

#[tokio::test(start_paused = true)]
async fn fallback_restarts_or_continues_the_text() {
    async fn node(cx: Cx, input: String) -> NodeResult {
        let failover = if input == "continue" { Failover::Continue } else { Failover::Restart };
        let ask = cx.reason("writer").fallback("second").attempts(1).failover(failover).input("Hi");
        Ok(Next::data(&json!({ "text": ask.await?.text }))?)
    }
    let first = scripted([Rule::always().text("One two").fault(overloaded())]);
    let second = scripted([Rule::when(When::pass(1)).text(" three."), Rule::always().text("Anew.")]);
    let world =
        World::with(one(node), |agent| agent.model("writer", first.clone()).model("second", second.clone()));
    let ran = world.run("anew").await;
    assert_eq!((&*ran.text(), ran.count("attempt-retracted")), ("Anew.", 1));
    let ran = world.run("continue").await;
    assert_eq!((&*ran.text(), ran.count("attempt-retracted")), ("One two three.", 0));
    let last = second.calls()[1].messages.last().cloned();
    assert!(matches!(last, Some(ModelMessage::Assistant { .. })), "it gets the earlier output: {last:?}");
}

#[tokio::test(start_paused = true)]
async fn object_is_never_continued_by_a_fallback() {
    let model = scripted([
        Rule::when(When::attempt(0)).text("{\"sub").fault(Fault::cut()),
        Rule::when(When::attempt(1)).text("{\"subject\": \"Old\", \"body\": \"Hal").fault(Fault::cut()),
        Rule::always().json(draft()),
    ]);
    let world = World::with(
        one(|cx: Cx, _: ()| async move {
            let ask = cx.reason("writer").attempts(3).failover(Failover::Continue).input("Hi");
            let reply = ask.output::<Draft>().structured(shown().stream("e")).await?;
            Ok(Next::data(&reply.output)?)
        }),
        |agent| agent.model("writer", model),
    );
    let ran = world.run("").await;
    let stream = ran.outcome.structured().get("e").unwrap();
    assert_eq!((stream.data(), stream.status()), (Some(&draft()), StructuredStatus::Done));
    assert!(updates(&ran).contains(&("invalidated", "")));
}

#[tokio::test(start_paused = true)]
async fn rate_limit_waits_as_long_as_the_provider_asks() {
    async fn node(cx: Cx, _: ()) -> NodeResult {
        cx.reason("writer").input("Hi").await?;
        Ok(Next::go())
    }
    let limit = ModelError::new(ModelErrorKind::RateLimit, "slow down").retry_after(Duration::from_secs(7));
    let model =
        scripted([Rule::when(When::attempt(0)).fault(Fault::error(limit)), Rule::always().text("Hello.")]);
    let began = tokio::time::Instant::now();
    assert_eq!(world(node, &model).run("").await.text(), "Hello.");
    assert_eq!(began.elapsed().as_secs(), 7);
}

#[tokio::test(start_paused = true)]
async fn failed_model_fails_the_run_with_its_code() {
    async fn node(cx: Cx, input: String) -> NodeResult {
        let ask = cx.reason("writer").input("Hi");
        match &*input {
            "slow" => ask.timeout(Duration::from_secs(5)).await?,
            _ => ask.await?,
        };
        Ok(Next::go())
    }
    let refused = ModelError::new(ModelErrorKind::Auth, "no such key");
    let model = scripted([Rule::always().fault(Fault::error(refused))]);
    let ran = world(node, &model).run("").await;
    assert_eq!(ran.code(), ModelErrorKind::Auth.code());
    assert!(ran.error().contains("no such key"));
    assert_eq!(model.asked(), 1, "what cannot pass is not tried again");
    assert_eq!(ran.count("step-started"), ran.count("step-finished"));

    let stalls = scripted([Rule::always().text("Hm").fault(Fault::stall())]);
    let ran = world(node, &stalls).run("slow").await;
    assert_eq!(ran.code(), ModelErrorKind::Timeout.code());
    assert_eq!(stalls.asked(), 2);

    async fn unknown(cx: Cx, _: ()) -> NodeResult {
        cx.reason("nobody").input("Hi").await?;
        Ok(Next::go())
    }
    assert_eq!(world(unknown, &model).run("").await.code(), "model.unknown");
}
