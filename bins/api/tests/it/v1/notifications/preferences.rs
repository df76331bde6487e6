//! `/v1/notifications/preferences`.

use serde_json::{Value, json};

use crate::app::TestApp;

const PATH: &str = "/v1/notifications/preferences";

fn defaults() -> Value {
    json!({
        "mentions": true, "direct_messages": true, "runs": true, "tool_calls": true, "previews": true,
        "dnd": { "until": null, "hours": null },
    })
}

#[tokio::test]
async fn what_a_person_wants_is_theirs_and_taken_as_a_whole() {
    let app = TestApp::start().await;
    let (alex, sam) = (app.person("alex").await, app.person("sam").await);
    assert_eq!(app.get(PATH).by(&sam).expect(200).await.body, defaults());

    let given = json!({
        "mentions": false, "direct_messages": true, "runs": false, "tool_calls": true, "previews": false,
        "dnd": {
            "until": "2026-12-24T18:00:00+01:00",
            "hours": { "from": "22:00", "to": "07:00", "timezone": "europe/berlin", "days": ["fri", "sat"] },
        },
    });
    let mut stands = given.clone();
    stands["dnd"]["until"] = "2026-12-24T17:00:00.000000Z".into();
    stands["dnd"]["hours"]["timezone"] = "Europe/Berlin".into();
    assert_eq!(app.put(PATH).by(&sam).json(&given).expect(200).await.body, stands);
    assert_eq!(app.get(PATH).by(&sam).expect(200).await.body, stands);
    assert_eq!(app.get(PATH).by(&alex).expect(200).await.body, defaults());

    // What is left out goes back to what it is for everybody.
    let every_day = json!({ "dnd": { "hours": { "from": "00:00", "to": "00:00", "timezone": "UTC" } } });
    let answer = app.put(PATH).by(&sam).json(&every_day).expect(200).await.body;
    assert_eq!((&answer["mentions"], &answer["dnd"]["until"]), (&true.into(), &Value::Null));
    assert_eq!(answer["dnd"]["hours"], every_day["dnd"]["hours"]);
    assert_eq!(app.put(PATH).by(&sam).json(&json!({})).expect(200).await.body, defaults());
    app.stop().await;
}

#[tokio::test]
async fn each_field_that_is_wrong_is_named() {
    let app = TestApp::start().await;
    let sam = app.person("sam").await;
    let hours = |field: &str, value: Value| {
        let mut hours = json!({ "from": "22:00", "to": "07:00", "timezone": "Europe/Berlin" });
        hours[field] = value;
        json!({ "dnd": { "hours": hours } })
    };
    for (body, field, says) in [
        (json!({ "sounds": true }), "sounds", "is unknown"),
        (json!({ "mentions": "yes" }), "mentions", "expected a boolean"),
        (json!({ "dnd": true }), "dnd", "expected an object"),
        (json!({ "dnd": { "from": "22:00" } }), "dnd.from", "is unknown"),
        (json!({ "dnd": { "until": "tonight" } }), "dnd.until", "RFC 3339"),
        (json!({ "dnd": { "until": 5 } }), "dnd.until", "string"),
        (json!({ "dnd": { "hours": ["22:00", "07:00"] } }), "dnd.hours", "expected an object"),
        (json!({ "dnd": { "hours": { "from": "22:00" } } }), "dnd.hours.to", "is missing"),
        (hours("from", json!("22")), "dnd.hours.from", "22:00"),
        (hours("to", json!("24:00")), "dnd.hours.to", "22:00"),
        (hours("to", json!(7)), "dnd.hours.to", "expected a string"),
        (hours("timezone", json!("Europe/Nowhere")), "dnd.hours.timezone", "IANA"),
        (hours("zone", json!("UTC")), "dnd.hours.zone", "is unknown"),
        (hours("days", json!(["monday"])), "dnd.hours.days", "mon, tue"),
        (hours("days", json!("mon")), "dnd.hours.days", "sequence"),
        (hours("days", json!(vec!["mon"; 8])), "dnd.hours.days", "once"),
    ] {
        let refused = app.put(PATH).by(&sam).json(&body).refused(400, "invalid_field").await;
        assert_eq!(refused.body["field"], field, "{body}: {}", refused.raw);
        assert!(refused.text("detail").contains(says), "{body}: {}", refused.raw);
    }
    assert_eq!(app.get(PATH).by(&sam).expect(200).await.body, defaults());
    let agent = app.agent(&sam, "helper").await;
    app.put(PATH).bearer(&agent.token).json(&json!({})).refused(403, "forbidden").await;
    app.stop().await;
}
