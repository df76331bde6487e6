//! What a model is told of the room.

use bridge::BridgeSettings;
use serde_json::{Value, json};
use testkit::model::Answer;
use uuid::Uuid;

use crate::fake::ME;
use crate::stage::{ALEX, SAM, Stage};

const OTHER: Uuid = Uuid::from_u128(50);

async fn told(history: usize, fill: impl FnOnce(&mut crate::stage::Room)) -> Value {
    let mut stage = Stage::bridge(BridgeSettings { history, ..BridgeSettings::default() }).await;
    fill(&mut stage.room.lock());
    stage.model.answer(Answer::says("yes"));
    stage.ask("@helper and now?").await;
    stage.ends().await;
    stage.model.asked().await.body["messages"].clone()
}

#[tokio::test]
async fn a_conversation_of_two_takes_turns() {
    let messages = told(20, |room| {
        room.says(ALEX, "@helper soup?");
        room.ran(1, ME, "succeeded", &["At noon.", "", "I think."]);
        room.says(ALEX, "hm");
        room.says(ALEX, "@helper and now?");
        // What came later is of no interest to this run.
        room.says(ALEX, "never mind");
        room.ran(2, ME, "running", &["half"]);
    })
    .await;
    let expected = json!([
        { "role": "user", "content": "soup?" },
        { "role": "assistant", "content": "At noon.\n\nI think." },
        { "role": "user", "content": "hm\nand now?" },
    ]);
    assert_eq!(messages, expected);
}

#[tokio::test]
async fn who_speaks_is_said_where_there_are_several() {
    let messages = told(20, |room| {
        room.says(ALEX, "lunch?");
        room.says(SAM, "soup!");
        room.ran(1, OTHER, "failed", &["I know of stew"]);
        room.ran(2, ME, "cancelled", &["At"]);
        room.ran(3, ME, "failed", &[]);
        room.says(ALEX, "@helper and now?");
    })
    .await;
    let expected = json!([
        { "role": "user", "content": "Alex: lunch?\nSam: soup!\nOther: I know of stew" },
        { "role": "assistant", "content": "At" },
        { "role": "user", "content": "Alex: and now?" },
    ]);
    assert_eq!(messages, expected);
}

#[tokio::test]
async fn only_the_newest_are_told_and_it_begins_with_a_question() {
    let messages = told(3, |room| {
        for number in 0..300 {
            room.says(ALEX, &format!("question {number}"));
            room.ran(number, ME, "succeeded", &[&format!("answer {number}")]);
            for _ in 0..2 {
                room.add(("user", SAM), "reaction.added", &json!({}));
            }
        }
        let edited = room.says(ALEX, "tpyo");
        room.add(("user", ALEX), "message.edited", &json!({ "event_id": edited, "body": "typo" }));
        room.says(ALEX, "@helper and now?");
    })
    .await;
    assert_eq!(messages, json!([{ "role": "user", "content": "typo\nand now?" }]));
}

#[tokio::test]
async fn a_room_full_of_other_things_is_read_page_by_page() {
    let messages = told(20, |room| {
        room.says(ALEX, "soup?");
        for _ in 0..250 {
            room.add(("user", SAM), "reaction.added", &json!({}));
        }
    })
    .await;
    // The question is asked over REST: no message says it.
    assert_eq!(messages, json!([{ "role": "user", "content": "soup?\nand now?" }]));
}
