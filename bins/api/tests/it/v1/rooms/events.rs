//! `/v1/rooms/{id}/events`.

use serde_json::Value;

use crate::app::TestApp;

fn seqs(items: &[Value]) -> Vec<u64> {
    items.iter().map(|item| item["seq"].as_u64().unwrap()).collect()
}

#[tokio::test]
async fn the_log_is_read_forwards_and_backwards_without_holes() {
    let app = TestApp::start().await;
    let alex = app.person("alex").await;
    let room = app.group(&alex, &[]).await;
    let mut head = 0;
    for number in 0..9 {
        head = app.say(&alex, &room, &format!("message {number}")).await["seq"].as_u64().unwrap();
    }
    let base = format!("/v1/rooms/{room}/events");
    let all: Vec<u64> = (1..=head).collect();
    let whole = app.get(&base).by(&alex).expect(200).await;
    assert_eq!(seqs(whole.items()), all);
    assert_eq!(
        (&whole.body["head"], &whole.body["floor"], &whole.body["next"]),
        (&head.into(), &0.into(), &Value::Null)
    );

    let mut forwards = Vec::new();
    let mut path = format!("{base}?after=0&limit=4");
    loop {
        let page = app.get(&path).by(&alex).expect(200).await;
        forwards.extend(seqs(page.items()));
        let Some(next) = page.body["next"].as_str() else { break };
        path = format!("{base}?limit=4&cursor={next}");
    }
    assert_eq!(forwards, all);

    let mut backwards = Vec::new();
    let mut path = format!("{base}?limit=4");
    loop {
        let page = app.get(&path).by(&alex).expect(200).await;
        backwards.splice(0..0, seqs(page.items()));
        let Some(next) = page.body["next"].as_str() else { break };
        path = format!("{base}?limit=4&cursor={next}");
    }
    assert_eq!(backwards, all);

    let between = app.get(&format!("{base}?before=5&limit=2")).by(&alex).expect(200).await;
    assert_eq!(seqs(between.items()), [3, 4]);
    let beyond = app.get(&format!("{base}?after={}", u64::MAX)).by(&alex).expect(200).await;
    assert!(beyond.items().is_empty() && beyond.body["next"].is_null());
    app.stop().await;
}

#[tokio::test]
async fn a_range_is_read_strictly() {
    let app = TestApp::start().await;
    let (alex, sam) = (app.person("alex").await, app.person("sam").await);
    let room = app.group(&alex, &[]).await;
    for (query, field) in [
        ("after=1&before=2", "before"),
        ("after=1&cursor=YTE", "cursor"),
        ("cursor=junk", "cursor"),
        ("after=-1", "after"),
        ("limit=1001", "limit"),
        ("since=1", "since"),
    ] {
        let path = format!("/v1/rooms/{room}/events?{query}");
        let refused = app.get(&path).by(&alex).refused(400, "invalid_field").await;
        assert_eq!(refused.body["field"], field, "{query}");
    }
    app.get(&format!("/v1/rooms/{room}/events")).by(&sam).refused(404, "not_found").await;
    app.stop().await;
}
