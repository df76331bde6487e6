//! `/v1/agents/{id}/autocomplete`.

use std::time::Duration;

use domain::{AgentId, RoomId};
use serde_json::json;

use crate::app::TestApp;

#[tokio::test]
async fn an_agent_says_how_a_command_could_go_on() {
    let app = TestApp::start().await;
    let alex = app.person("alex").await;
    let (room, agent) = app.group_with_agent(&alex, &[]).await;
    let mut consumer = app.consumer(&agent).await;
    let path = format!("/v1/agents/{}/autocomplete", agent.id);
    let body = json!({ "room_id": room, "command": "lunch", "input": "so" });
    let choices = r#"[{"value": "soup",  "label":"Soup of the day"}]"#;
    let asking = app.post(&path).by(&alex).json(&body).expect(200);
    let answering = async {
        let asked = consumer.question().await;
        consumer.answer(&asked, choices).await;
        asked
    };
    let (answered, asked) = tokio::join!(asking, answering);
    assert_eq!((asked.command.as_str(), asked.input.as_str()), ("lunch", "so"));
    assert_eq!((asked.room_id.to_string(), asked.user_id.to_string()), (room, alex.id));
    assert_eq!(answered.raw, format!(r#"{{"choices":{choices}}}"#));
    app.stop().await;
}

#[tokio::test]
async fn an_agent_that_does_not_answer_is_waited_for_only_so_long() {
    let app = TestApp::with(|settings| {
        settings.commands.autocomplete_timeout = Duration::from_millis(300);
    })
    .await;
    let alex = app.person("alex").await;
    let (room, agent) = app.group_with_agent(&alex, &[]).await;
    let path = format!("/v1/agents/{}/autocomplete", agent.id);
    let ask = || app.post(&path).by(&alex).json(&json!({ "room_id": room, "command": "lunch", "input": "" }));
    ask().refused(504, "timeout").await;
    // Neither does it when one is connected and says nothing; its late answer harms nobody.
    let mut consumer = app.consumer(&agent).await;
    let (_, asked) = tokio::join!(ask().refused(504, "timeout"), consumer.question());
    consumer.answer(&asked, "[]").await;
    app.stop().await;
}

#[tokio::test]
async fn who_is_not_there_is_not_asked() {
    let app = TestApp::with(|settings| settings.commands.max_bytes = 100).await;
    let (alex, sam) = (app.person("alex").await, app.person("sam").await);
    let (room, agent) = app.group_with_agent(&alex, &[]).await;
    let absent = app.agent(&alex, "absent").await;
    let path = format!("/v1/agents/{}/autocomplete", agent.id);
    let body = json!({ "room_id": room, "command": "lunch", "input": "so" });
    app.post(&path).by(&sam).json(&body).refused(404, "not_found").await;
    app.post(&path).bearer(&agent.token).json(&body).refused(403, "forbidden").await;
    for nobody in [absent.id, AgentId::new().to_string()] {
        let path = format!("/v1/agents/{nobody}/autocomplete");
        app.post(&path).by(&alex).json(&body).refused(404, "not_found").await;
    }
    let elsewhere = json!({ "room_id": RoomId::new(), "command": "lunch", "input": "so" });
    app.post(&path).by(&alex).json(&elsewhere).refused(404, "not_found").await;
    for (body, field) in [
        (json!({ "command": "lunch", "input": "" }), "room_id"),
        (json!({ "room_id": room, "input": "" }), "command"),
        (json!({ "room_id": room, "command": "lunch" }), "input"),
        (json!({ "room_id": room, "command": "x".repeat(201), "input": "" }), "command"),
        (json!({ "room_id": room, "command": "lunch", "input": "x".repeat(101) }), "input"),
        (json!({ "room_id": room, "command": "a\u{0}", "input": "" }), "command"),
        (json!({ "room_id": room, "command": "lunch", "input": "", "at": 1 }), "at"),
    ] {
        let refused = app.post(&path).by(&alex).json(&body).refused(400, "invalid_field").await;
        assert_eq!(refused.body["field"], field, "{body}");
    }
    app.stop().await;
}
