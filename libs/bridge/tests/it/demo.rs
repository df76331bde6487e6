//! The demo agent.

use std::time::Duration;

use bridge::Demo;
use serde_json::json;
use testkit::model::FakeModel;

use crate::fake::ROOM;
use crate::stage::{ALEX, RUN, Stage};

async fn stage(number: Duration) -> Stage {
    let demo = Demo { word: Duration::from_millis(1), number };
    Stage::with(FakeModel::start().await, Default::default(), demo).await
}

#[tokio::test]
async fn it_repeats_and_counts() {
    let mut stage = stage(Duration::from_millis(1)).await;
    stage.ask("@demo good morning").await;
    let went = stage.ends().await;
    let text = went.items[0]["text"].as_str().unwrap();
    assert!(went.status == "succeeded" && text.starts_with("Hello! You said: good morning\n"), "{text}");
    stage.ask("@demo count to 5 slowly").await;
    assert_eq!(stage.ends().await.items[0]["text"], "1, 2, 3, 4, 5.");
}

#[tokio::test]
async fn it_can_be_stopped_while_it_counts() {
    let mut stage = stage(Duration::from_secs(3600)).await;
    stage.ask("count to 5 slowly").await;
    stage.until_shown("1, ").await;
    stage.event("run.cancel_requested", &json!({ "run_id": RUN, "room_id": ROOM })).await;
    assert_eq!(stage.ends().await.status, "cancelled");
}

#[tokio::test]
async fn it_tells_the_time_by_the_browser() {
    let mut stage = stage(Duration::from_millis(1)).await;
    for (resolved, words) in [
        (
            json!({ "status": "answered", "result": { "time_zone": "Europe/Berlin" } }),
            "where you are (Europe/Berlin).",
        ),
        (json!({ "status": "answered", "result": 7 }), "named no time zone that I know. In UTC it is "),
        (json!({ "status": "expired" }), "did not say where it is: nobody answered in time. In UTC"),
    ] {
        stage.ask("@demo What time is it?").await;
        let went = stage
            .answering(|call| {
                assert_eq!((call.tool.as_str(), call.user_id), ("time_zone", ALEX));
                resolved.clone()
            })
            .await;
        let text = went.items[1]["text"].as_str().unwrap();
        assert!(went.status == "succeeded" && text.contains(words), "{text}");
    }
}
