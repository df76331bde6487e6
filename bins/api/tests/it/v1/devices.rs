//! `/v1/devices`.

use serde_json::json;

use crate::app::TestApp;

#[tokio::test]
async fn devices_are_added_listed_and_removed() {
    let app = TestApp::start().await;
    let (alex, sam) = (app.person("alex").await, app.person("sam").await);
    let body = json!({ "kind": "mobile", "name": "Phone" });
    let device = app.post("/v1/devices").by(&alex).json(&body).expect(201).await;
    assert_eq!((&device.body["kind"], &device.body["name"]), (&"mobile".into(), &"Phone".into()));
    let at: jiff::Timestamp = device.text("created_at").parse().unwrap();
    assert!(jiff::Timestamp::now().duration_since(at).as_secs().abs() < 60);
    app.post("/v1/devices").by(&alex).json(&body).expect(201).await;
    assert_eq!(app.get("/v1/devices").by(&alex).expect(200).await.items().len(), 2);
    assert!(app.get("/v1/devices").by(&sam).expect(200).await.items().is_empty());

    let path = format!("/v1/devices/{}", device.text("id"));
    app.delete(&path).by(&sam).refused(404, "not_found").await;
    app.delete(&path).by(&alex).expect(204).await;
    app.delete(&path).by(&alex).refused(404, "not_found").await;
    app.stop().await;
}

#[tokio::test]
async fn a_key_makes_adding_safe_to_repeat() {
    let app = TestApp::start().await;
    let (alex, sam) = (app.person("alex").await, app.person("sam").await);
    let body = json!({ "kind": "web", "name": "Browser" });
    let add = |person| app.post("/v1/devices").by(person).header("idempotency-key", "k-1").json(&body);
    let first = add(&alex).expect(201).await;
    let again = add(&alex).expect(200).await;
    assert_eq!(first.body, again.body);
    let of_another = add(&sam).expect(201).await;
    assert_ne!(first.body["id"], of_another.body["id"]);
    let room = json!({ "kind": "group", "name": "Garden" });
    app.post("/v1/rooms")
        .by(&alex)
        .header("idempotency-key", "k-1")
        .json(&room)
        .refused(409, "nonce_reused")
        .await;
    let refused = app
        .post("/v1/devices")
        .by(&alex)
        .header("idempotency-key", "a b")
        .json(&body)
        .refused(400, "invalid_field");
    assert_eq!(refused.await.body["field"], "Idempotency-Key");
    app.stop().await;
}
