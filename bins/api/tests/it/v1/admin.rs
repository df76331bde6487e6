//! `/v1/admin`.

mod keys;

use serde_json::json;

use crate::app::{PASSWORD, TestApp};

#[tokio::test]
async fn an_administrator_disables_and_enables_an_account() {
    let app = TestApp::start().await;
    let (admin, alex, sam) = (app.admin().await, app.person("alex").await, app.person("sam").await);
    let path = |what: &str| format!("/v1/admin/users/{}/{what}", sam.id);
    app.post(&path("disable")).refused(401, "unauthenticated").await;
    app.post(&path("disable")).by(&alex).refused(403, "forbidden").await;
    app.post(&path("disable")).by(&admin).expect(204).await;

    app.get("/v1/users/me").by(&sam).refused(401, "session_revoked").await;
    let login = json!({ "handle": sam.handle, "password": PASSWORD });
    app.post("/v1/auth/login").json(&login).refused(403, "disabled").await;
    // Only who knows the password is told that it is disabled.
    let wrong = json!({ "handle": sam.handle, "password": "wrong horse battery" });
    app.post("/v1/auth/login").json(&wrong).refused(401, "bad_credentials").await;
    let refresh = json!({ "refresh_token": sam.refresh });
    app.post("/v1/auth/refresh").json(&refresh).refused(401, "unauthenticated").await;
    let found = app.get(&format!("/v1/users?query={}", sam.handle)).by(&alex).expect(200).await;
    assert!(found.items().is_empty());

    app.post(&path("enable")).by(&admin).expect(204).await;
    app.post("/v1/auth/login").json(&login).expect(200).await;
    app.get("/v1/users/me").by(&sam).refused(401, "session_revoked").await;

    app.post(&format!("/v1/admin/users/{}/disable", admin.id)).by(&admin).refused(409, "conflict").await;
    let nobody = domain::UserId::new();
    app.post(&format!("/v1/admin/users/{nobody}/disable")).by(&admin).refused(404, "not_found").await;
    app.stop().await;
}

#[tokio::test]
async fn the_cluster_lists_its_nodes() {
    let app = TestApp::start().await;
    let (admin, alex) = (app.admin().await, app.person("alex").await);
    app.get("/v1/admin/cluster").by(&alex).refused(403, "forbidden").await;
    let listed = async {
        loop {
            let cluster = app.get("/v1/admin/cluster").by(&admin).expect(200).await;
            if cluster.body["nodes"].as_array().is_some_and(|nodes| !nodes.is_empty()) {
                return cluster;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    let cluster = tokio::time::timeout(std::time::Duration::from_secs(5), listed).await.expect("a heartbeat");
    let node = &cluster.body["nodes"][0];
    assert_eq!((&node["role"], &node["id"]), (&"api".into(), &cluster.body["node"]));
    assert!(node["silent_for"].as_f64().unwrap() < 60.0 && cluster.body["log_epoch"].is_string());
    app.stop().await;
}

#[tokio::test]
async fn an_administrator_switches_the_scheduler() {
    let app = TestApp::start().await;
    let other = app.shared.start(&app.shared.settings()).await;
    let (admin, alex) = (app.admin().await, app.person("alex").await);
    let path = "/v1/admin/scheduler";
    app.get(path).refused(401, "unauthenticated").await;
    app.get(path).by(&alex).refused(403, "forbidden").await;
    app.put(path).by(&alex).json(&json!({ "enabled": false })).refused(403, "forbidden").await;
    assert_eq!(app.get(path).by(&admin).expect(200).await.body, json!({ "enabled": true }));
    for enabled in [false, false, true] {
        let switch = json!({ "enabled": enabled });
        assert_eq!(app.put(path).by(&admin).json(&switch).expect(200).await.body, switch);
        assert_eq!(other.get(path).by(&admin).expect(200).await.body, switch, "on every node");
    }
    for bad in [json!({}), json!({ "enabled": 1 }), json!({ "enabled": true, "node": "a" })] {
        app.put(path).by(&admin).json(&bad).refused(400, "invalid_field").await;
    }
    for node in [app, other] {
        node.stop().await;
    }
}
