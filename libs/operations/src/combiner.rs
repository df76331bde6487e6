//! The write combiner: sends that arrive while a commit is under way go together in the next one.
//!
//! One task, one commit at a time. A send that finds the combiner idle is committed at once, alone; under load
//! batches grow by themselves until the commit rate fits, and wait a moment for those who came together
//! lately (`gather`). The cost of a commit (the flush of the database's log) is shared by all that waited for it.
//!
//! Each caller gets its own outcome. When a whole batch fails although the database answers, its sends
//! are tried one by one, so that one bad send does not take others with it. When the database does
//! not answer, nobody knows whether the commit happened: everyone is told so, and the nonce makes
//! repeating safe.
//!
//! What was committed is announced here, in the order of commit and before the callers are answered, so that
//! this node's hub sees each stream without holes.
//!
//! A caller that goes away changes nothing: its send is committed all the same.
//!
//! A commit is part of the traces of all its sends: a span of the first that is recorded, with links to the others.

use std::sync::Arc;

use domain::Event;
use store::messages::{Appended, NewMessage};
use store::{Refusal, Store, StoreError};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, Span};

use crate::announcer::Announcer;
use crate::error::Error;
use crate::metrics::OperationsMetrics;
use crate::settings::AppendSettings;

mod gather;

use gather::Gathering;

/// How many traces a commit is linked to at most.
const LINKS: usize = 32;

type Outcome = Result<Appended, Error>;

struct Pending {
    message: NewMessage,
    answer: oneshot::Sender<Outcome>,
}

/// Hands sends to the combiner.
#[derive(Clone)]
pub struct Combiner {
    queue: mpsc::Sender<Pending>,
}

impl Combiner {
    /// Appends a message, together with others that come at the same time.
    ///
    /// # Errors
    ///
    /// The message's own refusal; the store's failure; `Stopping` when the node stops.
    pub async fn append(&self, message: NewMessage) -> Outcome {
        let (answer, outcome) = oneshot::channel();
        self.queue.send(Pending { message, answer }).await.map_err(|_| Error::Stopping)?;
        outcome.await.map_err(|_| Error::Stopping)?
    }
}

/// The task that commits; a role supervises it.
pub struct CombinerTask {
    store: Arc<dyn Store>,
    announcer: Announcer,
    metrics: OperationsMetrics,
    queue: mpsc::Receiver<Pending>,
    max_batch: usize,
    gathering: Gathering,
}

/// A combiner and its task.
#[must_use]
pub fn new(
    store: Arc<dyn Store>,
    announcer: Announcer,
    settings: &AppendSettings,
    metrics: OperationsMetrics,
) -> (Combiner, CombinerTask) {
    let (sender, queue) = mpsc::channel(settings.queue.max(1));
    let (max_batch, gathering) = (settings.max_batch.max(1), Gathering::new(settings.max_wait));
    let task = CombinerTask { store, announcer, metrics, queue, max_batch, gathering };
    (Combiner { queue: sender }, task)
}

impl CombinerTask {
    /// Commits until the token is cancelled, then takes no more and commits what waits.
    pub async fn run(mut self, stop: CancellationToken) {
        let mut batch = Vec::new();
        loop {
            let taken = tokio::select! {
                taken = self.queue.recv_many(&mut batch, self.max_batch) => taken,
                () = stop.cancelled(), if !self.queue.is_closed() => {
                    self.queue.close();
                    continue;
                }
            };
            if taken == 0 {
                return;
            }
            self.gathering.fill(&mut batch, &mut self.queue, self.max_batch).await;
            self.gathering.begun(batch.len());
            let span = span(&batch);
            self.commit(&mut batch).instrument(span).await;
        }
    }

    async fn commit(&self, batch: &mut Vec<Pending>) {
        let (messages, answers): (Vec<_>, Vec<_>) =
            batch.drain(..).map(|pending| (pending.message, pending.answer)).unzip();
        self.metrics.batch_size.observe(f64::from(u32::try_from(messages.len()).unwrap_or(u32::MAX)));
        let outcomes = self.append(&messages).await;
        self.announcer.events(fresh(&outcomes));
        for (answer, outcome) in answers.into_iter().zip(outcomes) {
            // Whoever went away does not need it.
            drop(answer.send(outcome));
        }
    }

    async fn append(&self, messages: &[NewMessage]) -> Vec<Outcome> {
        let timer = self.metrics.append_seconds.start_timer();
        let appended = self.store.append_messages(messages).await;
        timer.observe_duration();
        match appended {
            Ok(outcomes) => outcomes.into_iter().map(own).collect(),
            Err(StoreError::Internal(reason)) if messages.len() > 1 => {
                tracing::error!(
                    reason,
                    sends = messages.len(),
                    "a batch of sends failed; trying them one by one"
                );
                self.append_singly(messages).await
            }
            Err(error) => messages.iter().map(|_| Err(error.clone().into())).collect(),
        }
    }

    async fn append_singly(&self, messages: &[NewMessage]) -> Vec<Outcome> {
        let mut outcomes = Vec::with_capacity(messages.len());
        for message in messages {
            outcomes.push(match self.store.append_messages(std::slice::from_ref(message)).await {
                Ok(one) => one.into_iter().next().map_or_else(|| Err(unanswered()), own),
                Err(error) => Err(error.into()),
            });
        }
        outcomes
    }
}

fn span(batch: &[Pending]) -> Span {
    let mut traces = batch.iter().filter_map(|pending| pending.message.trace.as_deref());
    let Some(first) = traces.next() else { return Span::none() };
    trace::below(
        first,
        traces.take(LINKS),
        || tracing::debug_span!(target: trace::INTERNAL, "append", sends = batch.len()),
    )
}

fn own(outcome: Result<Appended, Refusal>) -> Outcome {
    outcome.map_err(Error::from)
}

fn unanswered() -> Error {
    StoreError::Internal("a send without an outcome".into()).into()
}

/// What was written: of each send its message, then what people are told of it.
fn fresh(outcomes: &[Outcome]) -> impl Iterator<Item = Event> + '_ {
    let written = outcomes.iter().flatten().filter(|appended| appended.fresh);
    written.flat_map(|appended| [&appended.event].into_iter().chain(&appended.notified).cloned())
}
