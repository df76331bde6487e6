//! Tools of the model in the browser of whoever asks.

use bridge::{BridgeSettings, Tools};
use serde_json::{Value, json};
use testkit::model::Answer;

use crate::fake::ROOM;
use crate::stage::{ALEX, RUN, Stage};

const TOOLS: &str = r#"[{"type":"function","function":{"name":"open_page","parameters":{"type":"object"}}}]"#;

async fn stage() -> Stage {
    let settings =
        BridgeSettings { tools: Tools::parse(TOOLS).unwrap(), rounds: 3, ..BridgeSettings::default() };
    Stage::bridge(settings).await
}

fn calls_page() -> Answer {
    Answer::stream()
        .text("Let me look. ")
        .tool_call(0, "c1", "open_page")
        .arguments(0, r#"{"url":"#)
        .arguments(0, r#""x"}"#)
        .finish("tool_calls")
}

#[tokio::test]
async fn a_tool_is_called_and_the_model_goes_on_with_its_result() {
    let mut stage = stage().await;
    stage.model.answer(calls_page());
    stage.model.answer(Answer::says("Soup, at noon."));
    stage.ask("soup?").await;
    let went = stage
        .answering(|call| {
            assert_eq!((call.tool.as_str(), call.user_id), ("open_page", ALEX));
            assert_eq!(call.args.get(), r#"{"url":"x"}"#);
            json!({ "status": "answered", "result": { "title": "Menu" } })
        })
        .await;
    let items = json!([
        { "id": "text-1", "type": "text", "text": "Let me look. " },
        { "id": "call-1-0", "type": "tool", "tool": "open_page", "arguments": "{\"url\":\"x\"}", "state": "done",
          "result": "{\"title\":\"Menu\"}" },
        { "id": "text-2", "type": "text", "text": "Soup, at noon." },
    ]);
    assert_eq!((went.status.as_str(), went.items), ("succeeded", items));
    let first = stage.model.asked().await.body;
    assert_eq!(first["tools"], serde_json::from_str::<Value>(TOOLS).unwrap());
    let function = json!({ "name": "open_page", "arguments": "{\"url\":\"x\"}" });
    let messages = json!([
        { "role": "user", "content": "soup?" },
        { "role": "assistant", "content": "Let me look. ", "tool_calls": [{ "id": "c1", "type": "function", "function": function }] },
        { "role": "tool", "tool_call_id": "c1", "content": "{\"title\":\"Menu\"}" },
    ]);
    assert_eq!(stage.model.asked().await.body["messages"], messages);
}

#[tokio::test]
async fn what_goes_wrong_with_a_call_is_told_to_the_model() {
    let mut stage = stage().await;
    let answer = Answer::stream()
        .tool_call(0, "c1", "open_page")
        .tool_call(1, "c2", "close_page")
        .tool_call(2, "c3", "open_page")
        .arguments(2, "{");
    stage.model.answer(answer.finish("tool_calls"));
    stage.model.answer(Answer::says("I can't."));
    stage.ask("soup?").await;
    let went = stage.answering(|_| json!({ "status": "expired" })).await;
    assert_eq!(went.status, "succeeded");
    let states: Vec<_> = (0..3).map(|at| went.items[at]["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["failed"; 3]);
    stage.model.asked().await;
    let messages = stage.model.asked().await.body["messages"].clone();
    assert_eq!(messages[1]["content"], Value::Null);
    for (at, words) in
        [(2, "nobody answered in time"), (3, "there is no such tool"), (4, "the arguments are no JSON")]
    {
        assert!(messages[at]["content"].as_str().unwrap().contains(words), "{messages}");
    }
}

#[tokio::test]
async fn a_model_that_never_answers_is_stopped() {
    let mut stage = stage().await;
    for _ in 0..3 {
        stage.model.answer(calls_page());
    }
    stage.ask("soup?").await;
    let went = stage.answering(|_| json!({ "status": "answered", "result": null })).await;
    assert_eq!(went.error.as_deref(), Some("the model called tools 3 times in a row and did not answer"));
}

#[tokio::test]
async fn a_cancellation_during_a_call_ends_it() {
    let mut stage = stage().await;
    stage.model.answer(calls_page());
    stage.ask("soup?").await;
    while !matches!(stage.peer.frame().await, protocol::ClientFrame::ToolCall(_)) {}
    stage.event("run.cancel_requested", &json!({ "run_id": RUN, "room_id": ROOM })).await;
    loop {
        if let protocol::ClientFrame::RunFinish(finish) = stage.peer.frame().await {
            assert_eq!((finish.status.as_str(), finish.error), ("cancelled", None));
            break;
        }
    }
}
