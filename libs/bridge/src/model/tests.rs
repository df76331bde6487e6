//! Tests against a server that says what the test wants.

use testkit::model::{Answer, FakeModel};

use super::*;

const KEY: &str = "sk-very-secret";

fn settings(base_url: &str) -> ModelSettings {
    ModelSettings {
        base_url: base_url.to_owned(),
        model: "m".to_owned(),
        key: Some(KEY.to_owned()),
        stall_timeout: Duration::from_millis(300),
        patience: Patience::default(),
    }
}

async fn ask(fake: &FakeModel, answer: Answer) -> Result<Vec<Piece>, ModelError> {
    fake.answer(answer);
    let model = Model::new(settings(fake.url())).expect("good");
    let question = [Message::User { content: "hi".to_owned() }];
    let mut reply = model.ask(&question, &[]).await?;
    let mut pieces = Vec::new();
    while let Some(piece) = reply.next().await? {
        pieces.push(piece);
    }
    Ok(pieces)
}

fn text(text: &str) -> Piece {
    Piece::Text(text.to_owned())
}

fn stop() -> Piece {
    Piece::Finished("stop".to_owned())
}

#[tokio::test]
async fn an_answer_comes_in_pieces_and_the_request_is_as_it_should_be() {
    let fake = FakeModel::start().await;
    let answer = Answer::stream()
        .raw(": keep alive\n\n")
        .reasoning("Hm. ")
        .text("Good ")
        .tool_call(0, "c1", "open_page")
        .arguments(0, "{}")
        .data(r#"{"choices":[],"usage":{"total_tokens":7}}"#)
        .done();
    let pieces = ask(&fake, answer).await.expect("an answer");
    let call = |id: Option<&str>, name: Option<&str>, arguments: &str| Piece::Call {
        index: 0,
        id: id.map(str::to_owned),
        name: name.map(str::to_owned),
        arguments: arguments.to_owned(),
    };
    let expected = [
        Piece::Reasoning("Hm. ".to_owned()),
        text("Good "),
        call(Some("c1"), Some("open_page"), ""),
        call(None, None, "{}"),
        stop(),
    ];
    assert_eq!(pieces, expected);
    let asked = fake.asked().await;
    assert_eq!(asked.target, "POST /v1/chat/completions");
    assert_eq!(asked.authorization, format!("Bearer {KEY}"));
    let body = serde_json::json!({
        "model": "m", "stream": true, "messages": [{ "role": "user", "content": "hi" }],
    });
    assert_eq!(asked.body, body);
}

#[tokio::test]
async fn an_answer_may_end_in_several_ways() {
    let fake = FakeModel::start().await;
    let finished = r#"{"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}"#;
    for (answer, expected) in [
        // Nothing but the end of the body, or not even that.
        (Answer::stream().data(finished).end(), vec![text("x"), stop()]),
        (Answer::stream().data(finished).cut(), vec![text("x"), stop()]),
        (Answer::stream().data(finished).stall(), vec![text("x"), stop()]),
        // Never a reason.
        (Answer::stream().text("x").data("[DONE]").end(), vec![text("x")]),
        // Not streamed.
        (Answer::whole(&serde_json::json!({ "role": "assistant", "content": "x" })), vec![text("x"), stop()]),
    ] {
        assert_eq!(ask(&fake, answer).await, Ok(expected));
    }
}

#[tokio::test]
async fn refusals_say_what_is_wrong_and_never_the_key() {
    let fake = FakeModel::start().await;
    let said = format!("wrong key {KEY}\u{7}");
    for (status, is_for_now, words) in [
        (400, false, "refuses the request (400): wrong key (the key) "),
        (401, false, "does not accept the key (401)"),
        (403, false, "does not allow this with this key (403)"),
        (404, false, "knows no such model, or the base URL is wrong (404): wrong key (the key) "),
        (429, true, "is asked too often, or the quota is used up (429): wrong key (the key) "),
        (500, true, "is in trouble (500): wrong key (the key) "),
        (301, false, "refuses the request (301): wrong key (the key) "),
    ] {
        let answer = Answer::refusal(status, &[("retry-after", "2"), ("location", "/")], &said);
        let refused = ask(&fake, answer).await.expect_err("a refusal");
        assert_eq!(refused.to_string(), format!("the model's server {words}"));
        assert_eq!(refused.is_for_now(), is_for_now, "{status}");
        assert_eq!(refused.retry_after(), Some(Duration::from_secs(2)));
    }
    let failed =
        Answer::stream().text("x").data(&format!(r#"{{"error":{{"message":"{KEY} is out"}}}}"#)).end();
    assert_eq!(ask(&fake, failed).await, Err(ModelError::Failed("(the key) is out".to_owned())));
}

#[tokio::test]
async fn silence_stalls_and_cuts_are_told_apart() {
    let fake = FakeModel::start().await;
    let stalled = Err(ModelError::Stalled(Duration::from_millis(300)));
    assert_eq!(ask(&fake, Answer::silence()).await, stalled);
    assert_eq!(ask(&fake, Answer::stream().text("x").stall()).await, stalled);
    fake.until_gone(2).await;
    assert_eq!(ask(&fake, Answer::stream().text("x").cut()).await, Err(ModelError::Cut));
    assert_eq!(
        ask(&fake, Answer::stream().text("x").end()).await,
        Err(ModelError::Cut),
        "no reason, no DONE"
    );
    let garbled = ask(&fake, Answer::stream().data("{").end()).await;
    assert!(matches!(garbled, Err(ModelError::Unreadable(_))), "{garbled:?}");
    let gone = fake.url().to_owned();
    drop(fake);
    let model = Model::new(settings(&gone)).expect("good");
    assert_eq!(model.ask(&[], &[]).await.err(), Some(ModelError::Unreachable));
}

#[tokio::test]
async fn a_reply_that_is_dropped_closes_the_connection() {
    let fake = FakeModel::start().await;
    fake.answer(Answer::stream().text("x").stall());
    let model = Model::new(settings(fake.url())).expect("good");
    let mut reply = model.ask(&[], &[]).await.expect("it answers");
    assert_eq!(reply.next().await, Ok(Some(text("x"))));
    drop(reply);
    fake.until_gone(1).await;
}

#[test]
fn retry_after_is_seconds_or_a_date() {
    assert_eq!(parse_retry_after("7"), Some(Duration::from_secs(7)));
    assert_eq!(parse_retry_after(" 0.5 "), Some(Duration::from_millis(500)));
    assert_eq!(parse_retry_after("Sun, 06 Nov 1994 08:49:37 GMT"), Some(Duration::ZERO));
    assert!(parse_retry_after("Tue, 06 Nov 2085 08:49:37 GMT") > Some(Duration::from_secs(1_000_000)));
    assert_eq!((parse_retry_after("soon"), parse_retry_after("-1")), (None, None));
}

#[test]
fn the_address_is_below_the_base() {
    for base in ["http://h.example.com/v1", "http://h.example.com/v1/"] {
        let model = Model::new(settings(base)).expect("good");
        assert_eq!(model.url.as_str(), "http://h.example.com/v1/chat/completions");
        assert!(!format!("{model:?}").contains(KEY));
    }
    for base in ["h.example.com/v1", "ftp://h.example.com"] {
        Model::new(settings(base)).expect_err(base);
    }
}
