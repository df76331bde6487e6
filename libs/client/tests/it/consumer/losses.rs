//! Connections that are lost while runs are worked on.

use client::consumer::RunError;
use client::session::StopReason;
use domain::RunStatus;
use domain::run::FinishStatus;
use protocol::CloseCode;
use protocol::frame::ErrorFrame;

use super::*;

#[tokio::test]
async fn after_a_resume_the_server_is_sent_what_it_lacks() {
    let (gateway, other) = (Gateway::start().await, Gateway::start().await);
    let (consumer, _happenings) = Consumer::open(settings(&[&gateway, &other]));
    let (mut peer, _) = accept_live(&gateway, FIRST).await;
    let handle = start(&consumer, &mut peer).await;
    handle.push_item(text("one ")).unwrap();
    Copy::new().until(&mut peer, &json!({ "items": [text("one ")] })).await;
    handle.append_text("a", "two ").unwrap();
    let ClientFrame::RunPatch(_) = peer.frame().await else { panic!("a patch") };
    drop(peer);
    handle.append_text("a", "three ").unwrap();

    let (mut peer, first) = accept(&other, SECOND).await;
    let ClientFrame::Resume(resume) = first else { panic!("{first:?}") };
    assert_eq!(resume.session_id, FIRST);
    // What was sent last was lost with the node.
    let stored = json!({ "items": [text("one ")] });
    peer.send(&ServerFrame::Run(run(1, "running", &stored))).await;
    peer.send(&ServerFrame::Live).await;
    let ClientFrame::RunPatch(patch) = peer.frame().await else { panic!("a patch") };
    let missing = json!([{ "op": "append", "path": "/items/0/text", "value": "two three " }]);
    assert_eq!(serde_json::from_str::<Value>(patch.ops.get()).unwrap(), missing);
    assert!(!handle.stop().is_cancelled());
}

#[tokio::test]
async fn nothing_is_written_before_it_is_known_what_the_server_has() {
    let gateway = Gateway::start().await;
    let (consumer, _happenings) = Consumer::open(settings(&[&gateway]));
    let (mut peer, _) = accept_live(&gateway, FIRST).await;
    let handle = start(&consumer, &mut peer).await;
    drop(peer);
    let (mut peer, _) = accept(&gateway, SECOND).await;
    handle.push_item(text("one")).unwrap();
    let mut state = consumer.state();
    state.wait_for(|state| *state == State::Replaying).await.unwrap();
    handle.append_text("a", " two").unwrap();
    let quiet = tokio::time::timeout(Duration::from_millis(200), peer.frame()).await;
    assert!(quiet.is_err(), "{quiet:?}");
    peer.send(&ServerFrame::Run(run(1, "running", &empty()))).await;
    Copy::new().until(&mut peer, &json!({ "items": [text("one two")] })).await;
}

#[tokio::test]
async fn a_run_that_is_not_shown_after_the_resume_is_lost() {
    let gateway = Gateway::start().await;
    let (consumer, mut happenings) = Consumer::open(settings(&[&gateway]));
    let (mut peer, _) = accept_live(&gateway, FIRST).await;
    let handle = start(&consumer, &mut peer).await;
    drop(peer);
    // The session is not resumable: another identify handed the run back.
    let mut peer = gateway.accept().await;
    peer.send(&hello()).await;
    assert!(matches!(peer.frame().await, ClientFrame::Resume(_)));
    peer.close(CloseCode::ResumeRefused.code(), "identify again").await;
    let (mut peer, first) = accept_live(&gateway, SECOND).await;
    assert!(matches!(first, ClientFrame::Identify(_)), "{first:?}");
    peer.send(&requested(31)).await;
    tokio::time::timeout(PATIENCE, handle.stop().cancelled()).await.expect("told");
    assert!(matches!(handle.push_item(text("")), Err(RunError::Lost(_))));

    // It comes again, and is begun anew.
    let received = next(&mut happenings).await;
    assert!(matches!(received.what, Happening::RunRequested(_)));
    assert!(matches!(peer.frame().await, ClientFrame::Ack(_)));
    let (again, ()) = tokio::join!(consumer.start(RUN), async {
        assert!(matches!(peer.frame().await, ClientFrame::RunStart(_)));
        peer.send(&ServerFrame::Run(run(2, "running", &empty()))).await;
    });
    assert_eq!(again.unwrap().epoch(), 2);
}

#[tokio::test]
async fn an_end_without_an_answer_is_said_again() {
    let gateway = Gateway::start().await;
    let (consumer, _happenings) = Consumer::open(settings(&[&gateway]));
    let (mut peer, _) = accept_live(&gateway, FIRST).await;
    let handle = start(&consumer, &mut peer).await;
    handle.push_item(text("done")).unwrap();
    let (finished, ()) = tokio::join!(handle.finish(FinishStatus::Succeeded, None), async {
        let mut copy = Copy::new();
        while !matches!(peer.frame().await, ClientFrame::RunFinish(_)) {}
        drop(peer);
        let (mut peer, _) = accept(&gateway, SECOND).await;
        peer.send(&ServerFrame::Run(run(1, "running", &empty()))).await;
        let ClientFrame::RunFinish(finish) = peer.frame().await else { panic!("the end") };
        copy.apply(&finish.ops.unwrap());
        assert_eq!(copy.0.value(), handle.document().value());
        peer.send(&ServerFrame::Run(run(1, "succeeded", copy.0.value()))).await;
        peer.send(&ServerFrame::Live).await;
    });
    assert_eq!(finished, Ok(RunStatus::Succeeded));
}

#[tokio::test]
async fn a_start_without_an_answer_is_asked_again_or_answered_by_what_is_shown() {
    for is_shown in [false, true] {
        let gateway = Gateway::start().await;
        let (consumer, _happenings) = Consumer::open(settings(&[&gateway]));
        let (mut peer, _) = accept_live(&gateway, FIRST).await;
        let (started, ()) = tokio::join!(consumer.start(RUN), async {
            assert!(matches!(peer.frame().await, ClientFrame::RunStart(_)));
            drop(peer);
            let (mut peer, _) = accept(&gateway, SECOND).await;
            if is_shown {
                peer.send(&ServerFrame::Run(run(1, "running", &empty()))).await;
            }
            peer.send(&ServerFrame::Live).await;
            if !is_shown {
                assert!(matches!(peer.frame().await, ClientFrame::RunStart(_)));
                peer.send(&ServerFrame::Run(run(1, "running", &empty()))).await;
            }
        });
        assert_eq!(started.unwrap().epoch(), 1, "{is_shown}");
    }
}

#[tokio::test]
async fn a_change_that_is_refused_for_now_is_made_good_later() {
    let gateway = Gateway::start().await;
    let (consumer, _happenings) = Consumer::open(settings(&[&gateway]));
    let (mut peer, _) = accept_live(&gateway, FIRST).await;
    let handle = start(&consumer, &mut peer).await;
    handle.push_item(text("one")).unwrap();
    assert!(matches!(peer.frame().await, ClientFrame::RunPatch(_)));
    let error = ErrorFrame::new("unavailable", "the database does not answer");
    peer.send(&ServerFrame::Error(ErrorFrame { run_id: Some(RUN.0), ..error })).await;
    assert!(matches!(peer.frame().await, ClientFrame::RunStart(_)), "asks what the server has");
    peer.send(&ServerFrame::Run(run(1, "running", &empty()))).await;
    Copy::new().until(&mut peer, &json!({ "items": [text("one")] })).await;
}

#[tokio::test]
async fn what_is_not_acknowledged_is_given_once_and_acknowledged_on_the_next_connection() {
    let gateway = Gateway::start().await;
    let (_consumer, mut happenings) = Consumer::open(settings(&[&gateway]));
    let (mut peer, _) = accept_live(&gateway, FIRST).await;
    peer.send(&requested(29)).await;
    let received = next(&mut happenings).await;
    assert!(matches!(peer.frame().await, ClientFrame::Ack(_)));
    drop(peer);
    let (mut peer, _) = accept(&gateway, SECOND).await;
    peer.send(&requested(29)).await;
    peer.send(&event(30, "message.created", &json!({}))).await;
    peer.send(&ServerFrame::Live).await;
    let mention = next(&mut happenings).await;
    assert!(matches!(&mention.what, Happening::Mentioned(event) if event.seq == 30), "{mention:?}");
    mention.receipt.ack();
    received.receipt.ack();
    loop {
        let ClientFrame::Ack(ack) = peer.frame().await else { panic!("ack") };
        if ack.seq == 30 {
            break;
        }
    }
}

#[tokio::test]
async fn it_ends_for_good_when_another_one_takes_its_place() {
    for code in [CloseCode::SignInFailed, CloseCode::SignInEnded, CloseCode::ConsumerTakenOver] {
        let gateway = Gateway::start().await;
        let (consumer, mut happenings) = Consumer::open(settings(&[&gateway]));
        let (mut peer, _) = accept_live(&gateway, FIRST).await;
        let handle = start(&consumer, &mut peer).await;
        peer.close(code.code(), code.reason()).await;
        assert!(happenings.next().await.is_none());
        let why = StopReason::Closed { code, reason: code.reason().to_owned() };
        assert_eq!(consumer.stopped().await, why);
        assert!(handle.stop().is_cancelled());
        assert!(matches!(handle.push_item(text("")), Err(RunError::Lost(_))));
        assert!(matches!(consumer.start(RUN).await, Err(RunError::Lost(_))));
        assert!(gateway.is_left_alone().await, "{code:?}");
    }
}

#[tokio::test]
async fn stopping_closes_and_loses_the_runs() {
    let gateway = Gateway::start().await;
    let (consumer, mut happenings) = Consumer::open(settings(&[&gateway]));
    let (mut peer, _) = accept_live(&gateway, FIRST).await;
    let handle = start(&consumer, &mut peer).await;
    let ((), code) = tokio::join!(consumer.stop(), peer.closed());
    assert_eq!(code, 1000);
    assert!(happenings.next().await.is_none());
    tokio::time::timeout(PATIENCE, handle.stop().cancelled()).await.expect("told");

    // Dropping it does the same.
    let (consumer, _happenings) = Consumer::open(settings(&[&gateway]));
    let (mut peer, _) = accept_live(&gateway, FIRST).await;
    drop(consumer);
    assert_eq!(peer.closed().await, 1000);
}
