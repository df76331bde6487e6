//! `/v1/rooms/{id}/runs`.

use domain::{AgentId, RunId};
use serde_json::{Value, json};

use crate::app::TestApp;

#[tokio::test]
async fn a_run_is_made_once_for_each_nonce_and_shown_to_its_room() {
    let app = TestApp::start().await;
    let (alex, sam, robin) = (app.person("alex").await, app.person("sam").await, app.person("robin").await);
    let (room, agent) = app.group_with_agent(&alex, &[&sam]).await;
    let path = format!("/v1/rooms/{room}/runs");
    let body = json!({ "agent_id": agent.id, "input": { "ask": "lunch" }, "nonce": "n-1" });
    let ask = |person| app.post(&path).by(person).json(&body);
    let made = ask(&alex).expect(201).await;
    let mut expected = json!({
        "id": made.body["id"], "room_id": room, "agent_id": agent.id,
        "requested_by": { "kind": "user", "id": alex.id }, "input": { "ask": "lunch" },
        "status": "queued", "error": null, "epoch": 0, "version": 0, "doc": { "items": [] },
        "hops": 0, "attempts": 0, "cancel_requested": false, "started_at": null, "finished_at": null,
    });
    expected["reason"] = made.body["reason"].clone();
    expected["created_at"] = made.body["created_at"].clone();
    assert_eq!(made.body, expected);
    let at: jiff::Timestamp = made.text("created_at").parse().unwrap();
    assert!(jiff::Timestamp::now().duration_since(at).as_secs().abs() < 60);
    assert_eq!(ask(&alex).expect(200).await.body["id"], made.body["id"]);
    let by_header = json!({ "agent_id": agent.id, "input": 1 });
    let again = app.post(&path).by(&alex).header("idempotency-key", "n-1").json(&by_header).expect(200).await;
    assert_eq!((&again.body["id"], &again.body["input"]), (&made.body["id"], &made.body["input"]));
    assert_ne!(ask(&sam).expect(201).await.body["id"], made.body["id"], "nonces are the caller's");

    let run = format!("/v1/runs/{}", made.text("id"));
    assert_eq!(app.get(&run).by(&sam).expect(200).await.body["id"], made.body["id"]);
    assert_eq!(app.get(&run).bearer(&agent.token).expect(200).await.body["id"], made.body["id"]);
    app.get(&run).by(&robin).refused(404, "not_found").await;
    let log = app.get(&format!("/v1/rooms/{room}/events")).by(&sam).expect(200).await;
    let told: Vec<_> = log.items().iter().filter(|event| event["kind"] == "run.created").collect();
    assert_eq!(told.len(), 2, "{log:?}");
    assert_eq!(told[0]["data"]["run_id"], made.body["id"]);
    app.stop().await;
}

#[tokio::test]
async fn an_input_stays_as_it_was_written() {
    let app = TestApp::start().await;
    let alex = app.person("alex").await;
    let (room, agent) = app.group_with_agent(&alex, &[]).await;
    let path = format!("/v1/rooms/{room}/runs");
    for input in [r#"{"b": 1.50,  "a" :[ 1e3, "\u00e9" ]}"#, "null", "\"text\"", "12345678901234567890123"] {
        let body = format!(r#"{{"agent_id": "{}", "input": {input}}}"#, agent.id);
        let ask = app.post(&path).by(&alex).header("content-type", "application/json").text(body);
        let made = ask.expect(201).await;
        let shown = app.get(&format!("/v1/runs/{}", made.text("id"))).by(&alex).expect(200).await;
        for answer in [made, shown] {
            assert!(answer.raw.contains(&format!(r#""input":{input},"#)), "{input}: {}", answer.raw);
        }
    }
    app.stop().await;
}

#[tokio::test]
async fn asking_at_the_same_time_with_one_nonce_makes_one_run() {
    let app = TestApp::start().await;
    let alex = app.person("alex").await;
    let (room, agent) = app.group_with_agent(&alex, &[]).await;
    let path = format!("/v1/rooms/{room}/runs");
    let body = json!({ "agent_id": agent.id, "input": "once", "nonce": "n" });
    let calls = (0..16).map(|_| app.post(&path).by(&alex).json(&body).send());
    let answers = futures_util::future::join_all(calls).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 201).count(), 1, "{answers:?}");
    assert!(answers.iter().all(|answer| answer.body["id"] == answers[0].body["id"]), "{answers:?}");
    assert_eq!(app.get(&path).by(&alex).expect(200).await.items().len(), 1);
    app.stop().await;
}

#[tokio::test]
async fn agents_ask_agents() {
    let app = TestApp::start().await;
    let alex = app.person("alex").await;
    let (room, agent) = app.group_with_agent(&alex, &[]).await;
    let other = app.agent(&alex, "other").await;
    let stranger = app.agent(&alex, "stranger").await;
    app.invite(&alex, &room, &other).await;
    let path = format!("/v1/rooms/{room}/runs");
    let body = json!({ "agent_id": other.id, "input": "and you?" });
    let made = app.post(&path).bearer(&agent.token).json(&body).expect(201).await;
    assert_eq!(made.body["requested_by"], json!({ "kind": "agent", "id": agent.id }));
    assert!(made.body["hops"].as_u64().unwrap() >= 1, "{made:?}");
    app.post(&path).bearer(&stranger.token).json(&body).refused(404, "not_found").await;
    assert_eq!(app.get(&path).bearer(&other.token).expect(200).await.each("id"), [made.body["id"].clone()]);
    app.get(&path).bearer(&stranger.token).refused(404, "not_found").await;
    app.stop().await;
}

#[tokio::test]
async fn what_is_no_run_is_refused() {
    let app = TestApp::with(|settings| settings.runs.max_input_bytes = 200).await;
    let (alex, sam) = (app.person("alex").await, app.person("sam").await);
    let (room, agent) = app.group_with_agent(&alex, &[]).await;
    let path = format!("/v1/rooms/{room}/runs");
    let deep = (0..101).fold(Value::Null, |inner, _| json!([inner]));
    for (body, field) in [
        (json!({}), "agent_id"),
        (json!({ "agent_id": agent.id }), "input"),
        (json!({ "agent_id": "helper", "input": 1 }), "agent_id"),
        (json!({ "agent_id": agent.id, "input": "x".repeat(199) }), "input"),
        (json!({ "agent_id": agent.id, "input": ["a\u{0}b"] }), "input[0]"),
        (json!({ "agent_id": agent.id, "input": deep }), "input"),
        (json!({ "agent_id": agent.id, "input": 1, "nonce": "" }), "nonce"),
        (json!({ "agent_id": agent.id, "input": 1, "nonce": "a b" }), "nonce"),
        (json!({ "agent_id": agent.id, "input": 1, "nonce": "n".repeat(65) }), "nonce"),
        (json!({ "agent_id": agent.id, "input": 1, "doc": {} }), "doc"),
    ] {
        let refused = app.post(&path).by(&alex).json(&body).refused(400, "invalid_field").await;
        assert_eq!(refused.body["field"], field, "{body}");
    }
    let absent = app.agent(&alex, "absent").await;
    for nobody in [&absent.id, &AgentId::new().to_string(), &alex.id] {
        let body = json!({ "agent_id": nobody, "input": 1 });
        app.post(&path).by(&alex).json(&body).refused(404, "not_found").await;
    }
    let good = json!({ "agent_id": agent.id, "input": "x".repeat(198) });
    app.post(&path).by(&sam).json(&good).refused(404, "not_found").await;
    app.post(&path).by(&alex).json(&good).expect(201).await;
    app.stop().await;
}

#[tokio::test]
async fn the_runs_of_a_room_are_listed_from_the_newest_on() {
    let app = TestApp::start().await;
    let (alex, sam) = (app.person("alex").await, app.person("sam").await);
    let (room, agent) = app.group_with_agent(&alex, &[]).await;
    let mut made = Vec::new();
    for _ in 0..7 {
        made.push(Value::from(app.ask(&alex, &room, &agent).await));
    }
    made.reverse();
    let base = format!("/v1/rooms/{room}/runs");
    let whole = app.get(&base).by(&alex).expect(200).await;
    assert_eq!(whole.each("id"), made);
    assert_eq!(whole.body["next"], Value::Null);
    assert_eq!(whole.items()[0]["doc"], json!({ "items": [] }));

    let (mut paged, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = app.get(&format!("{base}?limit=3{cursor}")).by(&alex).expect(200).await;
        assert!(page.items().len() <= 3);
        paged.extend(page.each("id"));
        let Some(next) = page.body["next"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(paged, made);
    let third = made[2].as_str().unwrap();
    let before = app.get(&format!("{base}?before={third}&limit=2")).by(&alex).expect(200).await;
    assert_eq!(before.each("id"), made[3..5]);

    let other = app.group(&alex, &[]).await;
    assert!(app.get(&format!("/v1/rooms/{other}/runs")).by(&alex).expect(200).await.items().is_empty());
    app.get(&base).by(&sam).refused(404, "not_found").await;
    for (query, field) in [
        (format!("before={third}&cursor=AAAA"), "cursor"),
        ("cursor=junk".into(), "cursor"),
        ("before=junk".into(), "before"),
        ("limit=0".into(), "limit"),
        ("limit=51".into(), "limit"),
        (format!("after={}", RunId::new()), "after"),
    ] {
        let refused = app.get(&format!("{base}?{query}")).by(&alex).refused(400, "invalid_field").await;
        assert_eq!(refused.body["field"], field, "{query}");
    }
    app.stop().await;
}
