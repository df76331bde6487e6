//! Tool calls.

use client::consumer::{NewToolCall, RunError, ToolError};
use domain::UserId;
use protocol::frame::{CallTool, ErrorFrame, ToolCalled};

use super::*;

const CALL: Uuid = Uuid::from_u128(30);

fn call() -> NewToolCall {
    NewToolCall {
        tool: "open_page".into(),
        args: json!({ "url": "https://example.com" }),
        user: UserId(ALEX),
        timeout: Some(Duration::from_secs(90)),
    }
}

fn resolved(seq: u64, status: &str, result: &Value, error: &Value) -> ServerFrame {
    let data = json!({ "call_id": CALL, "run_id": RUN, "status": status, "result": result, "error": error });
    event(seq, "tool.resolved", &data)
}

async fn asked(peer: &mut Peer<TcpStream>) -> CallTool {
    loop {
        match peer.frame().await {
            ClientFrame::ToolCall(call) => return call,
            ClientFrame::Ack(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

fn called(asked: CallTool) -> ServerFrame {
    ServerFrame::ToolCalled(ToolCalled { call_id: CALL, nonce: asked.nonce })
}

#[tokio::test]
async fn a_tool_is_called_and_its_result_comes_back() {
    let gateway = Gateway::start().await;
    let (consumer, _happenings) = Consumer::open(settings(&[&gateway]));
    let (mut peer, _) = accept_live(&gateway, FIRST).await;
    let handle = start(&consumer, &mut peer).await;
    let outcomes = [
        ("answered", json!({ "title": "Menu" }), Value::Null, Ok(r#"{"title":"Menu"}"#)),
        ("answered", Value::Null, Value::Null, Ok("null")),
        ("answered", Value::Null, json!("no page"), Err(ToolError::Failed("no page".into()))),
        ("expired", Value::Null, Value::Null, Err(ToolError::Expired)),
        ("cancelled", Value::Null, Value::Null, Err(ToolError::Cancelled)),
    ];
    for (seq, (status, result, error, expected)) in (31..).zip(outcomes) {
        let (outcome, ()) = tokio::join!(handle.call_tool(call()), async {
            let asked = asked(&mut peer).await;
            assert_eq!((asked.run_id, asked.epoch, asked.user_id), (RUN.0, 1, ALEX));
            assert_eq!(asked.args.get(), r#"{"url":"https://example.com"}"#);
            assert_eq!(asked.timeout.as_ref().unwrap().0, "90000ms");
            // Events and answers go different ways: either may be first.
            if seq % 2 == 0 {
                peer.send(&called(asked)).await;
                peer.send(&resolved(seq, status, &result, &error)).await;
            } else {
                peer.send(&resolved(seq, status, &result, &error)).await;
                peer.send(&called(asked)).await;
            }
        });
        assert_eq!(outcome.as_ref().map(RawJson::get), expected.as_ref().map(|text| *text), "{seq}");
    }
}

#[tokio::test]
async fn a_call_without_an_answer_is_made_again_with_the_same_nonce() {
    let gateway = Gateway::start().await;
    let (consumer, _happenings) = Consumer::open(settings(&[&gateway]));
    let (mut peer, _) = accept_live(&gateway, FIRST).await;
    let handle = start(&consumer, &mut peer).await;
    let (outcome, ()) = tokio::join!(handle.call_tool(call()), async {
        let first = asked(&mut peer).await;
        drop(peer);
        let (mut peer, _) = accept(&gateway, SECOND).await;
        peer.send(&ServerFrame::Run(run(1, "running", &empty()))).await;
        let second = asked(&mut peer).await;
        assert_eq!(first.nonce, second.nonce);
        peer.send(&called(second)).await;
        peer.send(&ServerFrame::Live).await;
        peer.send(&resolved(31, "answered", &json!(1), &Value::Null)).await;
    });
    assert_eq!(outcome.unwrap().get(), "1");
}

#[tokio::test]
async fn a_refused_call_says_why_and_one_refused_for_now_is_made_again() {
    let gateway = Gateway::start().await;
    let (consumer, _happenings) = Consumer::open(settings(&[&gateway]));
    let (mut peer, _) = accept_live(&gateway, FIRST).await;
    let handle = start(&consumer, &mut peer).await;
    let (outcome, ()) = tokio::join!(handle.call_tool(call()), async {
        for (code, detail) in [("unavailable", "later"), ("not_found", "no such member")] {
            let asked = asked(&mut peer).await;
            let error = ErrorFrame::new(code, detail);
            let error = ErrorFrame { nonce: asked.nonce, run_id: Some(RUN.0), ..error };
            peer.send(&ServerFrame::Error(error)).await;
        }
    });
    let refused = RunError::Refused { code: "not_found".into(), detail: "no such member".into() };
    assert_eq!(outcome, Err(ToolError::Run(refused)));
    assert!(!handle.stop().is_cancelled(), "the run goes on");
}

#[tokio::test]
async fn calls_of_a_run_that_is_lost_end_with_it() {
    let gateway = Gateway::start().await;
    let (consumer, mut happenings) = Consumer::open(settings(&[&gateway]));
    let (mut peer, _) = accept_live(&gateway, FIRST).await;
    let handle = start(&consumer, &mut peer).await;
    let (outcome, mut peer) = tokio::join!(handle.call_tool(call()), async {
        asked(&mut peer).await;
        drop(peer);
        accept_live(&gateway, SECOND).await.0
    });
    assert!(matches!(outcome, Err(ToolError::Run(RunError::Lost(_)))), "{outcome:?}");
    // What comes of it is nobody's business but the application's.
    peer.send(&resolved(31, "answered", &json!(1), &Value::Null)).await;
    let received = next(&mut happenings).await;
    assert!(matches!(received.what, Happening::ToolResolved(_)), "{received:?}");
}
