//! `/v1/admin/keys`.

use std::time::Duration;

use serde_json::{Value, json};

use crate::app::TestApp;

const PATH: &str = "/v1/admin/keys";

fn kid_of(token: &str) -> Value {
    let engine = base64::engine::general_purpose::URL_SAFE_NO_PAD;
    let header = base64::Engine::decode(&engine, token.split('.').next().unwrap()).unwrap();
    serde_json::from_slice::<Value>(&header).unwrap()["kid"].clone()
}

#[tokio::test]
async fn administrators_alone_see_and_change_the_keys() {
    let app = TestApp::start().await;
    let (admin, alex) = (app.admin().await, app.person("alex").await);
    let first = kid_of(&alex.token);
    let retire = format!("{PATH}/{}/retire", first.as_str().unwrap());
    for path in [&format!("{PATH}/rotate"), &retire] {
        app.post(path).refused(401, "unauthenticated").await;
        app.post(path).by(&alex).refused(403, "forbidden").await;
    }
    app.get(PATH).by(&alex).refused(403, "forbidden").await;
    let listed = app.get(PATH).by(&admin).expect(200).await.body;
    assert_eq!((&listed["items"][0]["kid"], &listed["next"]), (&first, &Value::Null));
    let fields: Vec<&String> = listed["items"][0].as_object().unwrap().keys().collect();
    let shown =
        ["created_at", "deleted_from", "kid", "made_by", "retires_at", "signs_from", "state", "unreadable"];
    assert_eq!(fields, shown, "and nothing of the private part");
    app.stop().await;
}

#[tokio::test]
async fn a_rotation_is_told_and_a_second_one_is_refused() {
    let app = TestApp::with(|settings| settings.signing_key.cache_ttl = Duration::from_secs(1)).await;
    let other = app.shared.start(&app.shared.settings()).await;
    let (admin, alex) = (app.admin().await, app.person("alex").await);
    let made = app.post(&format!("{PATH}/rotate")).by(&admin).expect(200).await.body;
    assert_eq!(made["state"], "published");
    assert!(made["made_by"].as_str().unwrap().starts_with(&admin.handle), "{made}");
    let refused = other.post(&format!("{PATH}/rotate")).by(&admin).refused(409, "conflict").await;
    for part in [&made["kid"], &made["made_by"], &made["signs_from"]] {
        let text = part.as_str().unwrap().trim_end_matches('Z').trim_end_matches('0').to_owned();
        assert!(refused.body["detail"].as_str().unwrap().contains(&text), "{refused:?} lacks {text}");
    }
    let jwks = app.get("/.well-known/jwks.json").expect(200).await.body;
    assert_eq!(jwks["keys"].as_array().unwrap().len(), 2, "published before it signs: {jwks}");
    // After a while it signs, and what the one before it signed is good as before.
    let signed = async {
        loop {
            let late = app.person("sam").await;
            if kid_of(&late.token) == made["kid"] {
                break late;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let sam = tokio::time::timeout(Duration::from_secs(30), signed).await.expect("it signs");
    for node in [&app, &other] {
        for person in [&alex, &sam] {
            node.get("/v1/users/me").by(person).expect(200).await;
        }
    }
    let states = app.get(PATH).by(&admin).expect(200).await;
    let states: Vec<_> = states.items().iter().map(|key| key["state"].clone()).collect();
    assert_eq!(states, ["retired", "active"]);
    for node in [app, other] {
        node.stop().await;
    }
}

#[tokio::test]
async fn a_key_that_got_out_is_refused_at_once() {
    let app = TestApp::start().await;
    let (admin, alex) = (app.admin().await, app.person("alex").await);
    let first = kid_of(&alex.token).as_str().unwrap().to_owned();
    let retire = format!("{PATH}/{first}/retire");
    for body in [json!({}), json!({ "at_once": true })] {
        let refused = app.post(&retire).by(&admin).json(&body).refused(409, "conflict").await;
        assert!(refused.body["detail"].as_str().unwrap().contains("rotate first"), "{refused:?}");
    }
    app.post(&retire).by(&admin).json(&json!({ "at_once": 1 })).refused(400, "invalid_field").await;
    app.post(&format!("{PATH}/nothing/retire")).by(&admin).refused(404, "not_found").await;
    let made = app.post(&format!("{PATH}/rotate")).by(&admin).expect(200).await.body;
    let refused = app.post(&retire).by(&admin).refused(409, "conflict").await;
    assert!(refused.body["detail"].as_str().unwrap().contains("by itself"), "{refused:?}");
    let signs = app.post(&retire).by(&admin).json(&json!({ "at_once": true })).expect(200).await.body;
    assert_eq!((&signs["kid"], &signs["state"]), (&made["kid"], &"active".into()));
    let refused = async {
        loop {
            let answer = app.get("/v1/users/me").by(&alex).send().await;
            if answer.status == 401 {
                break answer;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), refused).await.expect("refused");
    let login = json!({ "handle": alex.handle, "password": crate::app::PASSWORD });
    let token = app.post("/v1/auth/login").json(&login).expect(200).await.body["access_token"].clone();
    assert_eq!(kid_of(token.as_str().unwrap()), made["kid"], "it signs without a wait");
    app.stop().await;
}
