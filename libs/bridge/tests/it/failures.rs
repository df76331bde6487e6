//! Models that fail, and people who stop them.

use bridge::BridgeSettings;
use serde_json::json;
use testkit::model::Answer;

use crate::fake::ROOM;
use crate::stage::{RUN, Stage};

async fn stage() -> Stage {
    Stage::bridge(BridgeSettings::default()).await
}

#[tokio::test]
async fn what_fails_before_anything_is_shown_is_tried_again() {
    for failure in [
        Answer::refusal(429, &[("retry-after", "0.05")], "slow down"),
        Answer::refusal(500, &[], "oh"),
        Answer::silence(),
        Answer::stream().cut(),
        Answer::stream().end(),
    ] {
        let mut stage = stage().await;
        stage.model.answer(failure.clone());
        stage.model.answer(failure);
        stage.model.answer(Answer::says("At noon."));
        stage.ask("soup?").await;
        let went = stage.ends().await;
        assert_eq!(went.status, "succeeded", "{went:?}");
        assert_eq!(went.items, json!([{ "id": "text-1", "type": "text", "text": "At noon." }]));
    }
}

#[tokio::test]
async fn it_is_tried_only_so_often() {
    let mut stage = stage().await;
    for _ in 0..3 {
        stage.model.answer(Answer::refusal(503, &[], "sk-secret is busy"));
    }
    stage.ask("soup?").await;
    let went = stage.ends().await;
    assert_eq!(went.status, "failed");
    assert_eq!(went.error.unwrap(), "the model's server is in trouble (503): (the key) is busy");
    for _ in 0..3 {
        stage.model.asked().await;
    }
    assert!(stage.model.is_idle().await);
}

#[tokio::test]
async fn what_is_hopeless_fails_at_once() {
    for (failure, words) in [
        (Answer::refusal(401, &[], "key sk-secret"), "the model's server does not accept the key (401)"),
        (Answer::refusal(403, &[], "no"), "the model's server does not allow this with this key (403)"),
        (
            Answer::refusal(404, &[], "no model m"),
            "knows no such model, or the base URL is wrong (404): no model m",
        ),
        (
            Answer::refusal(429, &[("retry-after", "3600")], "come back"),
            "the quota is used up (429): come back",
        ),
        (Answer::stream().data("{"), "the model's server said what can't be read"),
        (Answer::stream().finish("content_filter"), "the model's server stopped the answer (content_filter)"),
        (Answer::stream().done(), "the model gave no answer"),
    ] {
        let mut stage = stage().await;
        stage.model.answer(failure);
        stage.ask("soup?").await;
        let went = stage.ends().await;
        let error = went.error.unwrap_or_default();
        assert!(went.status == "failed" && error.contains(words), "{error}");
        stage.model.asked().await;
        assert!(stage.model.is_idle().await, "{words}");
    }
}

#[tokio::test]
async fn what_fails_after_something_was_shown_fails_with_that() {
    for (failure, words) in [
        (Answer::stream().text("At ").cut(), "the model's answer was cut off"),
        (Answer::stream().text("At ").end(), "the model's answer was cut off"),
        (Answer::stream().text("At ").stall(), "the model said nothing for 0.3 seconds"),
        (
            Answer::stream().text("At ").data(r#"{"error":{"message":"overloaded"}}"#).end(),
            "the model failed: overloaded",
        ),
    ] {
        let mut stage = stage().await;
        stage.model.answer(failure);
        stage.ask("soup?").await;
        let went = stage.ends().await;
        assert_eq!((went.status.as_str(), went.error.as_deref()), ("failed", Some(words)));
        assert_eq!(went.items, json!([{ "id": "text-1", "type": "text", "text": "At " }]));
        stage.model.asked().await;
        assert!(stage.model.is_idle().await);
    }
}

#[tokio::test]
async fn a_cancellation_closes_the_connection_to_the_model() {
    let mut stage = stage().await;
    stage.model.answer(Answer::stream().text("At ").stall());
    stage.ask("soup?").await;
    stage.until_shown("At ").await;
    stage.event("run.cancel_requested", &json!({ "run_id": RUN, "room_id": ROOM })).await;
    stage.model.until_gone(1).await;
    let went = stage.ends().await;
    assert_eq!((went.status.as_str(), went.error), ("cancelled", None));
}

#[tokio::test]
async fn a_room_that_can_not_be_read_is_tried_again_and_then_fails_the_run() {
    let mut stage = stage().await;
    stage.room.lock().trouble = 2;
    stage.model.answer(Answer::says("At noon."));
    stage.ask("soup?").await;
    assert_eq!(stage.ends().await.status, "succeeded");
    stage.room.lock().trouble = 3;
    stage.ask("soup?").await;
    let went = stage.ends().await;
    assert_eq!((went.status.as_str(), went.error.as_deref()), ("failed", Some("the room can't be read")));
}
