//! `/v1/rooms/{id}/members`.

use serde_json::{Value, json};

use crate::app::TestApp;

#[tokio::test]
async fn owners_add_people_one_or_several() {
    let app = TestApp::start().await;
    let (alex, sam) = (app.person("alex").await, app.person("sam").await);
    let (robin, kim) = (app.person("robin").await, app.person("kim").await);
    let room = app.group(&alex, &[]).await;
    let path = format!("/v1/rooms/{room}/members");
    let add = |person, body: Value| app.post(&path).by(person).json(&body);
    let one = add(&alex, json!({ "user_id": sam.id })).expect(201).await;
    assert_eq!(one.body["members"].as_array().unwrap().len(), 2);
    add(&alex, json!({ "user_id": sam.id })).expect(200).await;
    add(&sam, json!({ "user_id": robin.id })).refused(403, "forbidden").await;
    add(&robin, json!({ "user_id": robin.id })).refused(404, "not_found").await;
    let both = add(&alex, json!({ "members": [robin.id, kim.id] })).expect(201).await;
    assert_eq!(both.body["members"].as_array().unwrap().len(), 4);
    assert_eq!(add(&alex, json!({})).refused(400, "invalid_field").await.body["field"], "user_id");
    add(&alex, json!({ "user_id": domain::UserId::new() })).refused(404, "not_found").await;
    app.get(&format!("/v1/rooms/{room}/events")).by(&kim).expect(200).await;
    app.stop().await;
}

#[tokio::test]
async fn who_is_removed_no_longer_reads() {
    let app = TestApp::start().await;
    let (alex, sam, robin) = (app.person("alex").await, app.person("sam").await, app.person("robin").await);
    let room = app.group(&alex, &[&sam, &robin]).await;
    let path = format!("/v1/rooms/{room}/members");
    app.delete(&path).by(&alex).refused(400, "invalid_field").await;
    app.delete(&format!("{path}?user_id={}", robin.id)).by(&sam).refused(403, "forbidden").await;
    app.delete(&format!("{path}?user_id={}", sam.id)).by(&alex).expect(204).await;
    app.get(&format!("/v1/rooms/{room}/events")).by(&sam).refused(404, "not_found").await;
    let body = json!({ "body": "still here?" });
    app.post(&format!("/v1/rooms/{room}/messages")).by(&sam).json(&body).refused(404, "not_found").await;
    // Three ways to say who; a body that says nothing is none.
    let null = app.delete(&path).by(&alex).json(&Value::Null).refused(400, "invalid_field").await;
    assert_eq!(null.body["field"], "user_id");
    app.delete(&path).by(&alex).json(&json!({ "user_id": robin.id })).expect(204).await;
    app.delete(&path).by(&alex).json(&json!({ "user_id": robin.id })).expect(204).await;
    app.delete(&format!("{path}/{}", alex.id)).by(&alex).expect(204).await;
    app.get(&format!("/v1/rooms/{room}")).by(&alex).refused(404, "not_found").await;
    app.stop().await;
}

#[tokio::test]
async fn the_members_of_a_dm_are_fixed() {
    let app = TestApp::start().await;
    let (alex, sam, robin) = (app.person("alex").await, app.person("sam").await, app.person("robin").await);
    let body = json!({ "kind": "dm", "members": [sam.id] });
    let room = app.post("/v1/rooms").by(&alex).json(&body).expect(201).await.text("id");
    let path = format!("/v1/rooms/{room}/members");
    app.post(&path).by(&alex).json(&json!({ "user_id": robin.id })).refused(409, "conflict").await;
    app.delete(&format!("{path}/{}", sam.id)).by(&alex).refused(409, "conflict").await;
    app.stop().await;
}
