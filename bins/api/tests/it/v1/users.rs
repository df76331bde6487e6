//! `/v1/users`.

use serde_json::json;

use crate::app::{PASSWORD, TestApp};

#[tokio::test]
async fn people_are_found_by_the_beginning_of_a_name_page_by_page() {
    let app = TestApp::start().await;
    let alex = app.person("alex").await;
    for number in 0..5 {
        let body =
            json!({ "handle": format!("robin{number}"), "password": PASSWORD, "display_name": "100%_Robin" });
        app.post("/v1/auth/register").json(&body).expect(201).await;
    }
    let mut found = Vec::new();
    let mut path = "/v1/users?query=ROB&limit=2".to_owned();
    loop {
        let page = app.get(&path).by(&alex).expect(200).await;
        assert!(page.items().len() <= 2);
        found.extend(page.each("handle"));
        match page.body["next"].as_str() {
            Some(next) => path = format!("/v1/users?query=ROB&limit=2&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(found, ["robin0", "robin1", "robin2", "robin3", "robin4"]);
    let by_name = app.get("/v1/users?query=100%25_").by(&alex).expect(200).await;
    assert_eq!(by_name.items().len(), 5);
    assert!(app.get("/v1/users?query=%25").by(&alex).expect(200).await.items().is_empty(), "no wildcard");
    app.stop().await;
}

#[tokio::test]
async fn a_person_is_shown_without_what_is_secret() {
    let app = TestApp::start().await;
    let (alex, sam) = (app.person("alex").await, app.person("sam").await);
    let answer = app.get(&format!("/v1/users/{}", sam.id)).by(&alex).expect(200).await;
    let fields: Vec<_> = answer.body.as_object().unwrap().keys().cloned().collect();
    assert_eq!(fields, ["display_name", "handle", "id", "role"]);
    app.get(&format!("/v1/users/{}", domain::UserId::new())).by(&alex).refused(404, "not_found").await;
    app.stop().await;
}

#[tokio::test]
async fn a_query_is_read_strictly() {
    let app = TestApp::start().await;
    let alex = app.person("alex").await;
    for (query, field) in [
        ("limit=0", "limit"),
        ("limit=201", "limit"),
        ("limit=ten", "limit"),
        ("limit=1&limit=2", "limit"),
        ("cursor=junk", "cursor"),
        ("page=2", "page"),
        ("query=a%00b", "query"),
        (&format!("query={}", "x".repeat(81)), "query"),
    ] {
        let refused = app.get(&format!("/v1/users?{query}")).by(&alex).refused(400, "invalid_field").await;
        assert_eq!(refused.body["field"], field, "{query}");
    }
    let refused = app.get("/v1/users/alex").by(&alex).refused(400, "invalid_field").await;
    assert_eq!(refused.body["field"], "id");
    app.stop().await;
}
