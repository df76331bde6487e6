//! Runs on one connection.

use client::consumer::{Choice, RunError};
use domain::RunStatus;
use domain::run::FinishStatus;
use protocol::frame::{AutocompleteRequest, ErrorFrame, Slot};

use super::*;

#[tokio::test]
async fn a_run_is_requested_started_written_and_finished() {
    let gateway = Gateway::start().await;
    let (consumer, mut happenings) = Consumer::open(settings(&[&gateway]));
    let (mut peer, first) = accept_live(&gateway, FIRST).await;
    let ClientFrame::Identify(identify) = first else { panic!("{first:?}") };
    assert_eq!(identify.slot, Slot::Consumer("main".to_owned()));
    assert!(peer.request.contains("Bearer token"), "{}", peer.request);
    peer.send(&requested(31)).await;
    let received = next(&mut happenings).await;
    let Happening::RunRequested(asked) = received.what else { panic!("{:?}", received.what) };
    assert_eq!((asked.run_id, asked.room_id.0, asked.person().unwrap().0), (RUN, ROOM, ALEX));
    assert_eq!(asked.input.get(), r#"{"text":"hello"}"#);
    // All before it is done already.
    let ClientFrame::Ack(ack) = peer.frame().await else { panic!("ack") };
    assert_eq!(ack.seq, 30);

    let handle = start(&consumer, &mut peer).await;
    received.receipt.ack();
    let ClientFrame::Ack(ack) = peer.frame().await else { panic!("ack") };
    assert_eq!(ack.seq, 31);
    handle.push_item(text("")).unwrap();
    handle.append_text("a", "Good ").unwrap();
    let mut copy = Copy::new();
    copy.until(&mut peer, &json!({ "items": [text("Good ")] })).await;
    handle.append_text("a", "morning").unwrap();
    handle.set("a", "done", json!(true)).unwrap();
    let (finished, ()) = tokio::join!(handle.finish(FinishStatus::Succeeded, None), async {
        let finish = loop {
            match peer.frame().await {
                ClientFrame::RunPatch(patch) => copy.apply(&patch.ops),
                ClientFrame::RunFinish(finish) => break finish,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!((finish.epoch, finish.status.as_str(), finish.error), (1, "succeeded", None));
        finish.ops.iter().for_each(|ops| copy.apply(ops));
        assert_eq!(copy.0.value()["items"][0]["text"], "Good morning");
        assert_eq!(copy.0.value(), handle.document().value());
        peer.send(&ServerFrame::Run(run(1, "succeeded", copy.0.value()))).await;
    });
    assert_eq!(finished, Ok(RunStatus::Succeeded));
    assert_eq!(handle.append_text("a", "!"), Err(RunError::Over(RunStatus::Succeeded)));
}

#[tokio::test]
async fn many_small_changes_go_together() {
    let gateway = Gateway::start().await;
    let (consumer, _happenings) = Consumer::open(settings(&[&gateway]));
    let (mut peer, _) = accept_live(&gateway, FIRST).await;
    let handle = start(&consumer, &mut peer).await;
    handle.push_item(text("")).unwrap();
    let words: String = (0..1000).map(|word| format!("{word} ")).collect();
    for word in words.split_inclusive(' ') {
        handle.append_text("a", word).unwrap();
    }
    let (mut copy, mut frames) = (Copy::new(), 0);
    while *copy.0.value() != json!({ "items": [text(&words)] }) {
        let ClientFrame::RunPatch(patch) = peer.frame().await else { panic!("a patch") };
        copy.apply(&patch.ops);
        frames += 1;
    }
    assert!(frames < 20, "{frames}");
}

#[tokio::test]
async fn what_is_larger_than_a_frame_goes_in_parts() {
    let gateway = Gateway::start().await;
    let settings = ConsumerSettings { patch_bytes: 1000, ..settings(&[&gateway]) };
    let (consumer, _happenings) = Consumer::open(settings);
    let (mut peer, _) = accept_live(&gateway, FIRST).await;
    let handle = start(&consumer, &mut peer).await;
    let long = "ä\"\n".repeat(1000);
    handle.push_item(text(&long)).unwrap();
    let (finished, ()) = tokio::join!(handle.finish(FinishStatus::Succeeded, None), async {
        let mut copy = Copy::new();
        loop {
            match peer.frame().await {
                ClientFrame::RunPatch(patch) => {
                    assert!(patch.ops.get().len() <= 1001);
                    copy.apply(&patch.ops);
                }
                ClientFrame::RunFinish(finish) => {
                    finish.ops.iter().for_each(|ops| copy.apply(ops));
                    break;
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(*copy.0.value(), json!({ "items": [text(&long)] }));
        peer.send(&ServerFrame::Run(run(1, "succeeded", copy.0.value()))).await;
    });
    assert_eq!(finished, Ok(RunStatus::Succeeded));
}

#[tokio::test]
async fn a_start_that_is_refused_says_why() {
    let gateway = Gateway::start().await;
    let (consumer, _happenings) = Consumer::open(settings(&[&gateway]));
    let (mut peer, _) = accept_live(&gateway, FIRST).await;
    let (started, ()) = tokio::join!(consumer.start(RUN), async {
        assert!(matches!(peer.frame().await, ClientFrame::RunStart(_)));
        let error = ErrorFrame::new("conflict", "another one has it");
        peer.send(&ServerFrame::Error(ErrorFrame { run_id: Some(RUN.0), ..error })).await;
    });
    let refused = RunError::Refused { code: "conflict".into(), detail: "another one has it".into() };
    assert_eq!(started.unwrap_err(), refused);
    let _handle = start(&consumer, &mut peer).await;
    let Err(RunError::Refused { code, .. }) = consumer.start(RUN).await else { panic!("held already") };
    assert_eq!(code, "conflict");
}

#[tokio::test]
async fn a_cancellation_is_seen_at_the_handle() {
    let gateway = Gateway::start().await;
    let (consumer, mut happenings) = Consumer::open(settings(&[&gateway]));
    let (mut peer, _) = accept_live(&gateway, FIRST).await;
    let handle = start(&consumer, &mut peer).await;
    let data = json!({ "run_id": RUN, "room_id": ROOM });
    peer.send(&event(31, "run.cancel_requested", &data)).await;
    tokio::time::timeout(PATIENCE, handle.stop().cancelled()).await.expect("cancelled");
    let ClientFrame::Ack(ack) = peer.frame().await else { panic!("ack") };
    assert_eq!(ack.seq, 31, "nothing is left to do for the application");
    let (finished, ()) = tokio::join!(handle.finish(FinishStatus::Succeeded, None), async {
        assert!(matches!(peer.frame().await, ClientFrame::RunFinish(_)));
        peer.send(&ServerFrame::Run(run(1, "cancelled", &empty()))).await;
    });
    assert_eq!(finished, Ok(RunStatus::Cancelled));
    // One that is not held is the application's to hear of.
    peer.send(&event(32, "run.cancel_requested", &data)).await;
    assert_eq!(next(&mut happenings).await.what, Happening::CancelRequested(RUN));
}

#[tokio::test]
async fn a_run_that_is_cancelled_before_its_start_is_answered_says_so() {
    let gateway = Gateway::start().await;
    let (consumer, _happenings) = Consumer::open(settings(&[&gateway]));
    let (mut peer, _) = accept_live(&gateway, FIRST).await;
    let (handle, ()) = tokio::join!(consumer.start(RUN), async {
        assert!(matches!(peer.frame().await, ClientFrame::RunStart(_)));
        let frame = Run { cancel_requested: true, ..run(1, "running", &empty()) };
        peer.send(&ServerFrame::Run(frame)).await;
    });
    assert!(handle.unwrap().stop().is_cancelled());
}

#[tokio::test]
async fn a_handle_that_is_dropped_ends_its_run_as_failed() {
    let gateway = Gateway::start().await;
    let (consumer, _happenings) = Consumer::open(settings(&[&gateway]));
    let (mut peer, _) = accept_live(&gateway, FIRST).await;
    drop(start(&consumer, &mut peer).await);
    let ClientFrame::RunFinish(finish) = peer.frame().await else { panic!("finish") };
    assert_eq!(finish.status, "failed");
    assert_eq!(finish.error.as_deref(), Some("the agent left it unfinished"));
}

#[tokio::test]
async fn a_change_that_is_refused_fails_the_next_and_it_can_be_finished_without() {
    let gateway = Gateway::start().await;
    let (consumer, _happenings) = Consumer::open(settings(&[&gateway]));
    let (mut peer, _) = accept_live(&gateway, FIRST).await;
    let handle = start(&consumer, &mut peer).await;
    handle.push_item(text("too much")).unwrap();
    assert!(matches!(peer.frame().await, ClientFrame::RunPatch(_)));
    let error = ErrorFrame::new("invalid_field", "the document is too large");
    peer.send(&ServerFrame::Error(ErrorFrame { run_id: Some(RUN.0), ..error })).await;
    let refused = tokio::time::timeout(PATIENCE, async {
        loop {
            match handle.append_text("a", "x") {
                Ok(()) => tokio::task::yield_now().await,
                Err(refused) => break refused,
            }
        }
    });
    assert!(matches!(refused.await.unwrap(), RunError::Refused { code, .. } if code == "invalid_field"));
    let (finished, ()) = tokio::join!(handle.finish(FinishStatus::Failed, Some("too large")), async {
        let finish = loop {
            match peer.frame().await {
                ClientFrame::RunFinish(finish) => break finish,
                ClientFrame::RunPatch(_) => {}
                other => panic!("{other:?}"),
            }
        };
        assert_eq!((finish.ops, finish.error.as_deref()), (None, Some("too large")));
        peer.send(&ServerFrame::Run(run(1, "failed", &empty()))).await;
    });
    assert_eq!(finished, Ok(RunStatus::Failed));
}

#[tokio::test]
async fn a_run_that_another_one_has_by_now_is_lost() {
    let gateway = Gateway::start().await;
    let (consumer, _happenings) = Consumer::open(settings(&[&gateway]));
    let (mut peer, _) = accept_live(&gateway, FIRST).await;
    let handle = start(&consumer, &mut peer).await;
    handle.push_item(text("")).unwrap();
    assert!(matches!(peer.frame().await, ClientFrame::RunPatch(_)));
    let error = ErrorFrame::new("conflict", "not yours");
    peer.send(&ServerFrame::Error(ErrorFrame { run_id: Some(RUN.0), ..error })).await;
    tokio::time::timeout(PATIENCE, handle.stop().cancelled()).await.expect("told");
    assert_eq!(handle.finish(FinishStatus::Succeeded, None).await, Err(RunError::Lost("not yours".into())));
}

#[tokio::test]
async fn commands_are_completed() {
    let gateway = Gateway::start().await;
    let (consumer, mut happenings) = Consumer::open(settings(&[&gateway]));
    let (mut peer, _) = accept_live(&gateway, FIRST).await;
    let request = AutocompleteRequest {
        request_id: Uuid::from_u128(40),
        room_id: ROOM,
        user_id: ALEX,
        command: "lunch".into(),
        input: "so".into(),
    };
    peer.send(&ServerFrame::Autocomplete(request)).await;
    let Happening::Autocomplete(question) = next(&mut happenings).await.what else { panic!("a question") };
    assert_eq!((question.command.as_str(), question.input.as_str()), ("lunch", "so"));
    consumer.complete(question.request_id, &[Choice { value: "soup".into(), label: None }]).await;
    let ClientFrame::AutocompleteReply(reply) = peer.frame().await else { panic!("a reply") };
    assert_eq!((reply.request_id, reply.choices.get()), (Uuid::from_u128(40), r#"[{"value":"soup"}]"#));
}

#[tokio::test]
async fn mentions_come_and_what_is_not_known_is_passed_over() {
    let gateway = Gateway::start().await;
    let (_consumer, mut happenings) = Consumer::open(settings(&[&gateway]));
    let (mut peer, _) = accept_live(&gateway, FIRST).await;
    peer.send(&event(31, "agent.praised", &json!({}))).await;
    peer.send(&event(32, "run.requested", &json!({ "run_id": 7 }))).await;
    peer.send(&event(33, "message.created", &json!({ "body": "@helper?" }))).await;
    let received = next(&mut happenings).await;
    let Happening::Mentioned(mention) = &received.what else { panic!("{received:?}") };
    assert_eq!((mention.seq, mention.data.get()), (33, r#"{"body":"@helper?"}"#));
    received.receipt.ack();
    loop {
        let ClientFrame::Ack(ack) = peer.frame().await else { panic!("ack") };
        if ack.seq == 33 {
            break;
        }
    }
}

#[tokio::test]
async fn answers_are_heard_behind_many_events_that_nobody_takes() {
    let gateway = Gateway::start().await;
    let (consumer, _happenings) = Consumer::open(ConsumerSettings { backlog: 4, ..settings(&[&gateway]) });
    let (mut peer, _) = accept_live(&gateway, FIRST).await;
    for seq in 31..331 {
        peer.send(&event(seq, "message.created", &json!({ "body": "@helper" }))).await;
    }
    let (handle, ()) = tokio::join!(consumer.start(RUN), async {
        while !matches!(peer.frame().await, ClientFrame::RunStart(_)) {}
        peer.send(&ServerFrame::Run(run(1, "running", &empty()))).await;
    });
    assert_eq!(handle.unwrap().epoch(), 1);
}

#[tokio::test]
async fn a_burst_of_events_is_acknowledged_in_a_few_frames() {
    let gateway = Gateway::start().await;
    let (_consumer, mut happenings) = Consumer::open(settings(&[&gateway]));
    let (mut peer, _) = accept_live(&gateway, FIRST).await;
    let taking = tokio::spawn(async move {
        while let Some(received) = happenings.next().await {
            received.receipt.ack();
        }
    });
    for seq in 31..1031 {
        peer.send(&event(seq, "message.created", &json!({ "body": "@helper" }))).await;
    }
    let mut frames = 0;
    loop {
        let ClientFrame::Ack(ack) = peer.frame().await else { panic!("ack") };
        frames += 1;
        if ack.seq == 1030 {
            break;
        }
    }
    assert!(frames < 100, "{frames}");
    taking.abort();
}

#[tokio::test]
async fn events_of_a_restored_log_are_acknowledged_by_their_own_numbers() {
    let gateway = Gateway::start().await;
    let (_consumer, mut happenings) = Consumer::open(settings(&[&gateway]));
    let (mut peer, _) = accept_live(&gateway, FIRST).await;
    peer.send(&requested(31)).await;
    next(&mut happenings).await.receipt.ack();
    while !matches!(peer.frame().await, ClientFrame::Ack(ack) if ack.seq == 31) {}
    drop(peer);
    let mut peer = gateway.accept().await;
    peer.send(&hello()).await;
    peer.frame().await;
    let ServerFrame::Ready(mut ready) = agent_ready(SECOND, 7) else { unreachable!() };
    ready.log_epoch = Uuid::from_u128(99);
    peer.send(&ServerFrame::Ready(ready)).await;
    peer.send(&ServerFrame::Live).await;
    peer.send(&requested(8)).await;
    next(&mut happenings).await.receipt.ack();
    while !matches!(peer.frame().await, ClientFrame::Ack(ack) if ack.seq == 8) {}
}
