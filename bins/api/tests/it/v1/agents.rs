//! `/v1/agents`.

mod autocomplete;

use std::collections::BTreeSet;

use axum::http::Method;
use domain::AgentId;
use serde_json::{Value, json};

use crate::app::{Agent, PASSWORD, TestApp};

fn path(agent: &Agent) -> String {
    format!("/v1/agents/{}", agent.id)
}

#[tokio::test]
async fn an_agent_is_made_once_for_each_key_and_its_token_shown_once() {
    let app = TestApp::start().await;
    let (alex, sam) = (app.person("alex").await, app.person("sam").await);
    let body = json!({ "handle": "builder", "display_name": "Builder", "max_runs": 7 });
    let make = || app.post("/v1/agents").by(&alex).header("idempotency-key", "k").json(&body);
    let made = make().expect(201).await;
    let token = made.text("token");
    assert!(token.starts_with("swa_") && token.len() == 47, "{}", token.len());
    let mut agent = made.body.clone();
    agent.as_object_mut().unwrap().remove("token");
    let fields: BTreeSet<&str> = agent.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = ["id", "handle", "display_name", "owner_id", "max_runs", "revoked", "created_at"];
    assert_eq!(fields, BTreeSet::from(expected));
    assert_eq!((&agent["handle"], &agent["display_name"]), (&"builder".into(), &"Builder".into()));
    assert_eq!((&agent["owner_id"], &agent["max_runs"]), (&alex.id.as_str().into(), &7.into()));
    assert_eq!(make().expect(200).await.body, agent, "without the token");

    // Everybody sees agents, as they see people; nobody sees a token again.
    let shown = app.get(&format!("/v1/agents/{}", made.text("id"))).by(&sam).expect(200).await;
    assert_eq!(shown.body, agent);
    assert_eq!(app.get("/v1/agents").by(&sam).expect(200).await.items(), [agent.clone()]);
    assert_eq!(app.get("/v1/agents/me").bearer(&token).expect(200).await.body, agent);
    app.get(&format!("/v1/agents/{}", AgentId::new())).by(&sam).refused(404, "not_found").await;
    let plain = app.post("/v1/agents").by(&sam).json(&json!({ "handle": "painter" })).expect(201).await;
    assert_eq!((&plain.body["display_name"], &plain.body["max_runs"]), (&"painter".into(), &4.into()));
    app.stop().await;
}

#[tokio::test]
async fn agents_are_listed_page_by_page() {
    let app = TestApp::start().await;
    let alex = app.person("alex").await;
    let mut made = Vec::new();
    for _ in 0..5 {
        made.push(Value::from(app.agent(&alex, "builder").await.id));
    }
    let (mut listed, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = app.get(&format!("/v1/agents?limit=2{cursor}")).by(&alex).expect(200).await;
        listed.extend(page.each("id"));
        let Some(next) = page.body["next"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(listed, made, "ids are in the order of making");
    app.stop().await;
}

#[tokio::test]
async fn what_is_no_agent_is_refused() {
    let app = TestApp::with(|settings| settings.agents.max_runs = 9).await;
    let alex = app.person("alex").await;
    for (body, field) in [
        (json!({}), "handle"),
        (json!({ "handle": "Builder" }), "handle"),
        (json!({ "handle": "builder", "display_name": "" }), "display_name"),
        (json!({ "handle": "builder", "max_runs": 0 }), "max_runs"),
        (json!({ "handle": "builder", "max_runs": 101 }), "max_runs"),
        (json!({ "handle": "builder", "owner_id": alex.id }), "owner_id"),
    ] {
        let refused = app.post("/v1/agents").by(&alex).json(&body).refused(400, "invalid_field").await;
        assert_eq!(refused.body["field"], field, "{body}");
    }
    let builder = app.agent(&alex, "builder").await;
    assert_eq!(app.get(&path(&builder)).by(&alex).expect(200).await.body["max_runs"], 9);
    for taken in [&alex.handle, &builder.handle] {
        let body = json!({ "handle": taken });
        app.post("/v1/agents").by(&alex).json(&body).refused(409, "handle_taken").await;
        let body = json!({ "handle": taken, "password": PASSWORD });
        app.post("/v1/auth/register").json(&body).refused(409, "handle_taken").await;
    }
    app.stop().await;
}

/// Of a person and an agent that are made with one handle at once, on whatever nodes, one is made.
#[tokio::test]
async fn a_handle_asked_for_by_many_is_given_once() {
    let app = TestApp::start().await;
    let other = app.shared.start(&app.shared.settings()).await;
    let alex = app.person("alex").await;
    let calls = (0..12).map(|at| {
        let node = if at % 4 < 2 { &app } else { &other };
        if at % 2 == 0 {
            let body = json!({ "handle": "wanted", "password": PASSWORD });
            node.post("/v1/auth/register").json(&body).send()
        } else {
            node.post("/v1/agents").by(&alex).json(&json!({ "handle": "wanted" })).send()
        }
    });
    let answers = futures_util::future::join_all(calls).await;
    let made = answers.iter().filter(|answer| answer.status == 201).count();
    assert_eq!(made, 1, "{answers:?}");
    let refused = answers.iter().filter(|answer| answer.body["code"] == "handle_taken").count();
    assert_eq!(refused, 11, "{answers:?}");
    for node in [app, other] {
        node.stop().await;
    }
}

#[tokio::test]
async fn a_rotated_token_lets_nobody_in() {
    let app = TestApp::start().await;
    let (alex, sam, admin) = (app.person("alex").await, app.person("sam").await, app.admin().await);
    let agent = app.agent(&alex, "builder").await;
    let rotate = format!("{}/token", path(&agent));
    app.post(&rotate).by(&sam).refused(403, "forbidden").await;
    app.post(&format!("/v1/agents/{}/token", AgentId::new())).by(&alex).refused(404, "not_found").await;
    let mut former = agent.token.clone();
    for person in [&alex, &admin] {
        let token = app.post(&rotate).by(person).expect(200).await.text("token");
        app.get("/v1/agents/me").bearer(&former).refused(401, "unauthenticated").await;
        assert_eq!(app.get("/v1/agents/me").bearer(&token).expect(200).await.body["id"], agent.id);
        former = token;
    }
    app.stop().await;
}

#[tokio::test]
async fn a_revoked_agent_is_shown_and_not_let_in() {
    let app = TestApp::start().await;
    let (alex, sam) = (app.person("alex").await, app.person("sam").await);
    let agent = app.agent(&alex, "builder").await;
    app.delete(&path(&agent)).by(&sam).refused(403, "forbidden").await;
    for _ in 0..2 {
        app.delete(&path(&agent)).by(&alex).expect(204).await;
    }
    app.get("/v1/agents/me").bearer(&agent.token).refused(401, "session_revoked").await;
    assert!(app.get("/v1/agents").by(&sam).expect(200).await.items().is_empty());
    assert_eq!(app.get(&path(&agent)).by(&sam).expect(200).await.body["revoked"], true);
    app.post(&format!("{}/token", path(&agent))).by(&alex).refused(409, "conflict").await;
    let body = json!({ "handle": agent.handle });
    app.post("/v1/agents").by(&alex).json(&body).refused(409, "handle_taken").await;
    app.stop().await;
}

#[tokio::test]
async fn the_owner_changes_what_is_given() {
    let app = TestApp::start().await;
    let (alex, sam) = (app.person("alex").await, app.person("sam").await);
    let agent = app.agent(&alex, "builder").await;
    let change = |person, body: Value| app.patch(&path(&agent)).by(person).json(&body);
    let named = change(&alex, json!({ "display_name": "Builder" })).expect(200).await;
    assert_eq!((&named.body["display_name"], &named.body["max_runs"]), (&"Builder".into(), &4.into()));
    let wider = change(&alex, json!({ "max_runs": 100 })).expect(200).await;
    assert_eq!((&wider.body["display_name"], &wider.body["max_runs"]), (&"Builder".into(), &100.into()));
    assert_eq!(app.get(&path(&agent)).by(&sam).expect(200).await.body, wider.body);
    for (body, field) in [
        (json!({ "max_runs": 0 }), "max_runs"),
        (json!({ "max_runs": 101 }), "max_runs"),
        (json!({ "display_name": " " }), "display_name"),
        (json!({ "handle": "other" }), "handle"),
    ] {
        let refused = change(&alex, body.clone()).refused(400, "invalid_field").await;
        assert_eq!(refused.body["field"], field, "{body}");
    }
    change(&sam, json!({ "max_runs": 1 })).refused(403, "forbidden").await;
    app.stop().await;
}

#[tokio::test]
async fn agents_of_somebody_disabled_are_not_let_in_meanwhile() {
    let app = TestApp::start().await;
    let (alex, admin) = (app.person("alex").await, app.admin().await);
    let agent = app.agent(&alex, "builder").await;
    let account = |what: &str| app.post(&format!("/v1/admin/users/{}/{what}", alex.id)).by(&admin);
    account("disable").expect(204).await;
    app.get("/v1/agents/me").bearer(&agent.token).refused(401, "session_revoked").await;
    account("enable").expect(204).await;
    app.get("/v1/agents/me").bearer(&agent.token).expect(200).await;
    app.stop().await;
}

/// Every route that the document has: an agent calls those it may, and is refused all others before anything is looked at.
#[tokio::test]
async fn agents_are_refused_what_is_for_people() {
    let app = TestApp::start().await;
    let alex = app.person("alex").await;
    let agent = app.agent(&alex, "builder").await;
    let for_agents = BTreeSet::from([
        "addReaction",
        "callTool",
        "cancelRun",
        "createRun",
        "deleteMessage",
        "editMessage",
        "getAgent",
        "getOwnAgent",
        "getRoom",
        "getRun",
        "getToolCall",
        "getUser",
        "listAgents",
        "listEvents",
        "listRooms",
        "listRuns",
        "removeReaction",
        "sendMessage",
    ]);
    let document = app.get("/v1/openapi.json").expect(200).await.body;
    let mut allowed = BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            // Signing in needs no token, and leaving refuses this one.
            let id = operation["operationId"].as_str().unwrap();
            if !operation["security"].is_null() && id != "logout" {
                continue;
            }
            let concrete = path.replace("{emoji}", "x").replace("{id}", &AgentId::new().to_string());
            let concrete = concrete.replace("{event_id}", &AgentId::new().to_string());
            let concrete = concrete.replace("{member_id}", &AgentId::new().to_string());
            let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
            let answer = app.call(method, &concrete).bearer(&agent.token).send().await;
            if answer.status == 403 {
                assert_eq!(answer.body["code"], "forbidden", "{id}");
            } else {
                allowed.insert(id);
            }
        }
    }
    assert_eq!(allowed, for_agents);
    app.get("/v1/agents/me").by(&alex).refused(403, "forbidden").await;
    for bad in ["swa_", "swa_junk", &agent.token.replace("swa_", "swb_"), &format!("{}x", agent.token)] {
        app.get("/v1/agents/me").bearer(bad).refused(401, "unauthenticated").await;
    }
    app.stop().await;
}
