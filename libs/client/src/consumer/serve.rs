//! An agent as a whole: takes what it is asked for, until told to stop.

use std::future::{Future, ready};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::{
    Choice, Consumer, ConsumerSettings, Happening, Question, Received, RunError, RunHandle, RunRequested,
};
use crate::session::{State, StopReason};

/// What an agent does.
pub trait Work: Send + Sync + 'static {
    /// Works on a run until it is finished. Returning without having finished it, or panicking, fails it.
    fn work(&self, asked: RunRequested, run: RunHandle) -> impl Future<Output = ()> + Send;

    /// Says how a command could go on.
    fn complete(&self, question: Question) -> impl Future<Output = Vec<Choice>> + Send {
        drop(question);
        ready(Vec::new())
    }
}

/// Serves until `stop` is cancelled or the consumer ends for good; says why it ended.
///
/// Each run has a task of its own; the server gives an agent no more than `max_runs` of them. A request is acknowledged once its
/// run is started. Told to stop, it takes nothing new and lets runs go on for at most `grace`. Those that are
/// not finished then are lost to it, and requested again.
pub async fn serve<W: Work>(
    settings: ConsumerSettings,
    work: Arc<W>,
    stop: CancellationToken,
    grace: Duration,
) -> StopReason {
    let (consumer, mut happenings) = Consumer::open(settings);
    let consumer = Arc::new(consumer);
    let mut state = consumer.state();
    let mut tasks = JoinSet::new();
    let end = loop {
        tokio::select! {
            () = stop.cancelled() => break None,
            received = happenings.next() => match received {
                Some(received) => take(&consumer, &work, &mut tasks, received),
                None => break Some(consumer.stopped().await),
            },
            Some(ended) = tasks.join_next() => {
                if let Err(error) = ended {
                    tracing::error!(%error, "work on a run ended badly");
                }
            }
            Ok(()) = state.changed() => tell(&state.borrow_and_update()),
        }
    };
    if let Some(why) = end {
        return why;
    }
    let working = async { while tasks.join_next().await.is_some() {} };
    let in_time = timeout(grace, working).await.is_ok();
    tracing::info!(in_time, "stopping");
    // The connection goes first, so that runs are given back and not failed.
    consumer.stop().await;
    drop(tasks);
    StopReason::Asked
}

fn take<W: Work>(consumer: &Arc<Consumer>, work: &Arc<W>, tasks: &mut JoinSet<()>, received: Received) {
    let (consumer, work) = (Arc::clone(consumer), Arc::clone(work));
    let Received { what, receipt } = received;
    match what {
        Happening::RunRequested(asked) => {
            tasks.spawn(async move {
                match consumer.start(asked.run_id).await {
                    Ok(run) => {
                        receipt.ack();
                        work.work(asked, run).await;
                    }
                    // The consumer stopped: the next one is asked.
                    Err(RunError::Lost(_)) => {}
                    Err(why) => {
                        tracing::debug!(%why, run = %asked.run_id, "a run is not taken");
                        receipt.ack();
                    }
                }
            });
        }
        Happening::Autocomplete(question) => {
            tasks.spawn(async move {
                let id = question.request_id;
                let choices = work.complete(question).await;
                consumer.complete(id, &choices).await;
            });
        }
        // What mentions it asks for a run as well; what is about runs of others is nothing to it.
        Happening::Mentioned(_) | Happening::CancelRequested(_) | Happening::ToolResolved(_) => receipt.ack(),
    }
}

fn tell(state: &State) {
    match state {
        State::Live => tracing::info!("connected"),
        State::Waiting { why, .. } => tracing::warn!(why, "no connection; trying again"),
        State::Connecting { .. } | State::Replaying | State::Stopped { .. } => {}
    }
}
