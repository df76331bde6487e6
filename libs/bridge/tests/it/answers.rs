//! What a model says, and how it is shown.

use bridge::BridgeSettings;
use serde_json::json;
use testkit::model::Answer;

use crate::stage::{ALEX, Stage};

#[tokio::test]
async fn an_answer_is_shown_as_it_comes() {
    let mut stage = Stage::bridge(BridgeSettings::default()).await;
    stage.room.lock().says(ALEX, "@helper soup?");
    stage.model.answer(Answer::stream().reasoning("Hm.").text("At ").hold().text("noon.").done());
    stage.ask("@helper soup?").await;
    stage.until_shown("Hm.").await;
    stage.model.release();
    let asked = stage.model.asked().await;
    assert_eq!(asked.body["messages"], json!([{ "role": "user", "content": "soup?" }]));
    // The rest comes to somebody who has the beginning.
    loop {
        match stage.peer.frame().await {
            protocol::ClientFrame::RunFinish(finish) => {
                assert_eq!(finish.status, "succeeded");
                break;
            }
            protocol::ClientFrame::RunPatch(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn reasoning_and_text_are_items_of_their_own() {
    let settings = BridgeSettings { system: Some("Be brief.".to_owned()), ..BridgeSettings::default() };
    let mut stage = Stage::bridge(settings).await;
    stage.model.answer(Answer::stream().reasoning("Hm").text("At ").reasoning(".").text("noon\u{0}.").done());
    stage.ask("soup?").await;
    let went = stage.ends().await;
    assert_eq!((went.status.as_str(), went.error), ("succeeded", None));
    let items = json!([
        { "id": "reasoning-1", "type": "reasoning", "text": "Hm." },
        { "id": "text-1", "type": "text", "text": "At noon\u{fffd}." },
    ]);
    assert_eq!(went.items, items);
    let messages =
        json!([{ "role": "system", "content": "Be brief." }, { "role": "user", "content": "soup?" }]);
    assert_eq!(stage.model.asked().await.body["messages"], messages);
}

#[tokio::test]
async fn an_answer_at_the_models_limit_says_so() {
    let mut stage = Stage::bridge(BridgeSettings::default()).await;
    stage.model.answer(Answer::stream().text("At ").finish("length"));
    stage.ask("soup?").await;
    let went = stage.ends().await;
    assert_eq!((went.status.as_str(), &went.items[1]["type"]), ("succeeded", &json!("status")));
}
