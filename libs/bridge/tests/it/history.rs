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
        room.ran(1, ME, "succeeded", "@helper soup?", &["At noon.", "", "I think."]);
        room.ran(7, ME, "succeeded", "pie?", &["No."]);
        room.says(ALEX, "hm");
        room.says(ALEX, "@helper and now?");
        // What came later is of no interest to this run.
        room.says(ALEX, "never mind");
        room.ran(2, ME, "running", "never mind", &["half"]);
    })
    .await;
    let expected = json!([
        { "role": "user", "content": "soup?" },
        { "role": "assistant", "content": "At noon.\n\nI think." },
        { "role": "user", "content": "pie?" },
        { "role": "assistant", "content": "No." },
        { "role": "user", "content": "hm\nand now?" },
    ]);
    assert_eq!(messages, expected);
}

#[tokio::test]
async fn who_speaks_is_said_where_there_are_several() {
    let messages = told(20, |room| {
        room.says(ALEX, "lunch?");
        room.says(SAM, "soup!");
        room.ran(1, OTHER, "failed", "stew?", &["I know of stew"]);
        room.ran(2, ME, "cancelled", "when?", &["At"]);
        room.ran(3, ME, "failed", "when?", &[]);
        room.says(ALEX, "@helper and now?");
    })
    .await;
    let expected = json!([
        { "role": "user", "content": "Alex: lunch?\nSam: soup!\nAlex: stew?\nOther: I know of stew\nAlex: when?" },
        { "role": "assistant", "content": "At" },
        { "role": "user", "content": "Alex: and now?" },
    ]);
    assert_eq!(messages, expected);
}

#[tokio::test]
async fn only_the_newest_are_told_and_each_answer_with_its_question() {
    let messages = told(3, |room| {
        for number in 0..300 {
            room.says(ALEX, &format!("question {number}"));
            room.ran(number, ME, "succeeded", &format!("question {number}"), &[&format!("answer {number}")]);
            for _ in 0..2 {
                room.add(("user", SAM), "reaction.added", &json!({}));
            }
        }
        let edited = room.says(ALEX, "tpyo");
        room.add(("user", ALEX), "message.edited", &json!({ "event_id": edited, "body": "typo" }));
        room.says(ALEX, "@helper and now?");
    })
    .await;
    // The run, the edited message and the question: a run brings what it was asked.
    let expected = json!([
        { "role": "user", "content": "question 299" },
        { "role": "assistant", "content": "answer 299" },
        { "role": "user", "content": "typo\nand now?" },
    ]);
    assert_eq!(messages, expected);
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
