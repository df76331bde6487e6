//! An agent as a whole.

use std::sync::Arc;

use client::consumer::{Choice, Question, RunRequested, Work, serve};
use client::session::StopReason;
use domain::run::FinishStatus;
use protocol::CloseCode;
use protocol::frame::AutocompleteRequest;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::*;

/// Answers once it is allowed to.
struct Answers {
    allowed: Semaphore,
}

impl Work for Answers {
    async fn work(&self, asked: RunRequested, run: RunHandle) {
        run.push_item(text(asked.input.get())).unwrap();
        self.allowed.acquire().await.unwrap().forget();
        run.finish(FinishStatus::Succeeded, None).await.unwrap();
    }

    async fn complete(&self, question: Question) -> Vec<Choice> {
        vec![Choice { value: question.input + "up", label: None }]
    }
}

struct Served {
    peer: Peer<TcpStream>,
    work: Arc<Answers>,
    stop: CancellationToken,
    task: tokio::task::JoinHandle<StopReason>,
}

/// An agent that has begun a run.
async fn begun(gateway: &Gateway, grace: Duration) -> Served {
    let work = Arc::new(Answers { allowed: Semaphore::new(0) });
    let stop = CancellationToken::new();
    let task = tokio::spawn(serve(settings(&[gateway]), Arc::clone(&work), stop.clone(), grace));
    let (mut peer, _) = accept_live(gateway, FIRST).await;
    peer.send(&requested(31)).await;
    let mut seen = (false, false);
    while seen != (true, true) {
        match peer.frame().await {
            ClientFrame::RunStart(_) => peer.send(&ServerFrame::Run(run(1, "running", &empty()))).await,
            ClientFrame::Ack(ack) => seen.0 |= ack.seq == 31,
            ClientFrame::RunPatch(_) => seen.1 = true,
            other => panic!("{other:?}"),
        }
    }
    Served { peer, work, stop, task }
}

#[tokio::test]
async fn it_works_completes_and_acknowledges_until_it_ends_for_good() {
    let gateway = Gateway::start().await;
    let Served { mut peer, work, task, stop: _stop } = begun(&gateway, PATIENCE).await;
    work.allowed.add_permits(1);
    assert!(matches!(peer.frame().await, ClientFrame::RunFinish(_)));
    peer.send(&ServerFrame::Run(run(1, "succeeded", &empty()))).await;
    let (command, input) = ("lunch".to_owned(), "so".to_owned());
    let request = AutocompleteRequest { request_id: RUN.0, room_id: ROOM, user_id: ALEX, command, input };
    peer.send(&ServerFrame::Autocomplete(request)).await;
    let ClientFrame::AutocompleteReply(reply) = peer.frame().await else { panic!("a reply") };
    assert_eq!(reply.choices.get(), r#"[{"value":"soup"}]"#);
    peer.send(&event(32, "message.created", &json!({}))).await;
    assert!(matches!(peer.frame().await, ClientFrame::Ack(ack) if ack.seq == 32));
    peer.close(4014, "token expired or revoked").await;
    let why = task.await.unwrap();
    assert!(matches!(why, StopReason::Closed { code: CloseCode::SignInEnded, .. }), "{why}");
}

#[tokio::test]
async fn told_to_stop_it_finishes_what_it_began_and_begins_nothing() {
    let gateway = Gateway::start().await;
    let Served { mut peer, work, stop, task } = begun(&gateway, PATIENCE).await;
    stop.cancel();
    peer.send(&requested(32)).await;
    work.allowed.add_permits(1);
    assert!(matches!(peer.frame().await, ClientFrame::RunFinish(_)));
    peer.send(&ServerFrame::Run(run(1, "succeeded", &empty()))).await;
    assert_eq!(peer.closed().await, 1000);
    assert_eq!(task.await.unwrap(), StopReason::Asked);
}

#[tokio::test]
async fn what_is_not_done_in_time_is_given_back_and_not_failed() {
    let gateway = Gateway::start().await;
    let Served { mut peer, stop, task, work: _work } = begun(&gateway, Duration::from_millis(50)).await;
    stop.cancel();
    // The very next thing.
    assert_eq!(peer.raw().await.0, fastwebsockets::OpCode::Close);
    drop(peer);
    assert_eq!(task.await.unwrap(), StopReason::Asked);
}
