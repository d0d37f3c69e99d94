//! What people do reaches a run from any node: answers, approvals, stops, and the next message.

use headwater_protocol::RunStatus;
use serde_json::{Value, json};

use crate::{
    agent,
    cluster::{Cluster, Setup, at_once},
    engine::Kind,
    on_each_engine,
    reader::{Reader, Until},
    report::held,
};

on_each_engine!(questions_and_stops_are_answered_on_another_node, session_continues_at_another_node);

fn questions_and_stops_are_answered_on_another_node(kind: Kind) {
    let Some(cluster) = Cluster::start(kind, Setup::default()) else { return };
    let [first, second, third] = [0, 1, 2].map(|node| cluster.address(node));
    at_once(async {
        for (workflow, answer) in
            [("approving", json!({ "approved": true })), ("asking", json!({ "answer": "yes" }))]
        {
            let input = format!("waits-{workflow}");
            let run = cluster.start_run(first, &input, json!({ "workflow": workflow })).await;
            let mut reader = cluster.read(&run, Until::Wait).await;
            assert_eq!(reader.status(), RunStatus::Waiting, "{workflow}");
            assert_eq!(cluster.ledger.calls(&input), 0, "the tool was called before it was approved");
            let path = format!("/v1/runs/{run}/answer");
            let (status, body) = cluster.post(second, &path, None, &answer).await;
            assert_eq!(status, 202, "{workflow}: {body}");
            // The same answer on yet another node is the same answer; another one is refused.
            assert_eq!(cluster.post(third, &path, None, &answer).await.0, 202, "{workflow}");
            reader.follow(&cluster.http, third, &run, Until::End).await;
            assert_eq!(reader.status(), RunStatus::Finished, "{workflow}");
            assert!(reader.shown(&input).to_string().contains(agent::ANSWER), "{workflow}");
            cluster.ledger.assert_once(&input);
        }

        let run = cluster.start_run(first, "endless", json!({})).await;
        let mut reader = cluster.read(&run, Until::Records(5)).await;
        let (status, body) = cluster.post(second, &format!("/v1/runs/{run}/stop"), None, &Value::Null).await;
        assert_eq!((status, &body["stopped"]), (200, &json!(true)), "{body}");
        reader.follow(&cluster.http, third, &run, Until::End).await;
        assert_eq!(reader.status(), RunStatus::Cancelled);
    });
    held(
        "approval, answer and stop on a node that does not drive the run",
        3,
        3,
        "each counts once, and reaches the driver",
    );
}

fn session_continues_at_another_node(kind: Kind) {
    let Some(cluster) = Cluster::start(kind, Setup { nodes: 2, ..Setup::default() }) else { return };
    let [first, second] = [0, 1].map(|node| cluster.address(node));
    at_once(async {
        let session = json!({ "session": "shared" });
        let one = cluster.start_run(first, "turn-one", session.clone()).await;
        let mut reader = cluster.read(&one, Until::Records(3)).await;
        // The first message is still being answered: the second waits for its turn.
        let two = cluster.start_run(second, "quick-two", session).await;
        reader.follow(&cluster.http, second, &one, Until::End).await;
        assert_eq!(reader.status(), RunStatus::Finished);
        assert!(reader.shown("turn-one").to_string().contains(agent::ANSWER));
        let mut reader = Reader::of_queued();
        reader.follow(&cluster.http, cluster.front(), &two, Until::End).await;
        assert_eq!(reader.status(), RunStatus::Finished);
        for node in [first, second] {
            let url = format!("http://{node}/v1/sessions/shared/messages");
            let text = cluster.http.get(url).send().await.unwrap().text().await.unwrap();
            let places = ["turn-one", "quick-two", "quick-two: one"].map(|words| text.find(words));
            assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?} in {text}");
        }
    });
    held(
        "second message of a session on another node while the first is answered",
        1,
        1,
        "both are answered, in order, and both nodes show the same conversation",
    );
}
