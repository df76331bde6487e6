//! One task between the session, the application and its runs.

mod heard;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use domain::{ErrorCode, RunId};
use protocol::ClientFrame;
use protocol::frame::{Ack, AutocompleteReply, RunStart};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::calls::Calls;
use super::held::Held;
use super::pace::Pace;
use super::receipts::Receipts;
use super::{Ask, ConsumerSettings, Desk, Received, RunError, RunHandle};
use crate::session::{Session, State, Update, Updates};

/// More than this is never kept for the application, whatever waits for an answer behind it.
const MOST_BACKLOG: usize = 64 * 1024;
/// The pause before what was refused for now is said again.
const PAUSE: Duration = Duration::from_secs(1);

/// The pause between two acknowledgements.
const ACK_PAUSE: Duration = Duration::from_millis(50);

/// A run that is being started.
struct Start {
    answer: oneshot::Sender<Result<RunHandle, RunError>>,
    /// The session under which it was asked for last.
    sent_on: Option<Uuid>,
}

/// A consumer, from the inside.
pub(super) struct Driver {
    settings: ConsumerSettings,
    session: Arc<Session>,
    updates: Updates,
    desk: Arc<Desk>,
    asks: mpsc::Receiver<Ask>,
    done: mpsc::UnboundedReceiver<u64>,
    stop: CancellationToken,
    out: mpsc::Sender<Received>,
    /// What the application has no room for yet.
    backlog: VecDeque<Received>,
    receipts: Receipts,
    /// The session of the connection; none while there is none.
    connected: Option<Uuid>,
    /// The life of the log that the numbers of events belong to.
    log_epoch: Option<Uuid>,
    starts: HashMap<RunId, Start>,
    runs: HashMap<RunId, Arc<Held>>,
    /// Whose turn it is to send what changed.
    turns: VecDeque<RunId>,
    calls: Calls,
    next_flush: Option<Instant>,
    last_flush: Instant,
    next_ack: Option<Instant>,
    last_ack: Option<Instant>,
    pace: Pace,
    /// When what was refused for now is said again.
    again: Option<Instant>,
}

/// What happens next.
enum Step {
    Update(Option<Update>),
    Ask(Ask),
    Done(u64),
    Changed,
    Flush,
    Ack,
    Again,
    HandedOver,
    Stop,
}

/// What the application holds of a driver.
pub(super) struct Ends {
    pub(super) desk: Arc<Desk>,
    pub(super) asks: mpsc::Receiver<Ask>,
    pub(super) out: mpsc::Sender<Received>,
    pub(super) stop: CancellationToken,
}

impl Driver {
    pub(super) fn new(
        settings: ConsumerSettings,
        session: Arc<Session>,
        updates: Updates,
        ends: Ends,
    ) -> Self {
        let Ends { desk, asks, out, stop } = ends;
        let (acknowledge, done) = mpsc::unbounded_channel();
        Self {
            session,
            updates,
            desk,
            asks,
            done,
            stop,
            out,
            backlog: VecDeque::new(),
            receipts: Receipts::new(acknowledge),
            connected: None,
            log_epoch: None,
            starts: HashMap::new(),
            runs: HashMap::new(),
            turns: VecDeque::new(),
            calls: Calls::default(),
            next_flush: None,
            last_flush: Instant::now(),
            next_ack: None,
            last_ack: None,
            pace: Pace::new(settings.frame_rate),
            again: None,
            settings,
        }
    }

    pub(super) async fn run(mut self) {
        let desk = Arc::clone(&self.desk);
        loop {
            let step = tokio::select! {
                () = self.stop.cancelled() => Step::Stop,
                update = self.updates.next(), if self.reads() => Step::Update(update),
                Some(ask) = self.asks.recv() => Step::Ask(ask),
                Some(seq) = self.done.recv() => Step::Done(seq),
                () = desk.changed.notified() => Step::Changed,
                () = at(self.next_flush) => Step::Flush,
                () = at(self.next_ack) => Step::Ack,
                () = at(self.again) => Step::Again,
                () = hand_over(&self.out, &mut self.backlog), if !self.backlog.is_empty() => Step::HandedOver,
            };
            match step {
                Step::Update(None) => break,
                Step::Stop => {
                    self.session.stop().await;
                    break;
                }
                Step::Update(Some(update)) => self.update(update).await,
                Step::Ask(ask) => self.ask(ask).await,
                Step::Done(seq) => {
                    self.receipts.done(seq);
                    self.wants_ack();
                }
                Step::Ack => self.acknowledge().await,
                Step::Changed => self.next_flush = Some(self.last_flush + self.settings.pace),
                Step::Flush => self.flush().await,
                Step::Again => self.say_again().await,
                Step::HandedOver => {}
            }
        }
        self.end();
    }

    /// Whether the server is read. While somebody waits for an answer it is, or events before it would keep it away.
    fn reads(&self) -> bool {
        let waits = !self.starts.is_empty() || !self.runs.is_empty() || !self.calls.is_empty();
        self.backlog.len() < if waits { MOST_BACKLOG } else { self.settings.backlog }
    }

    fn end(mut self) {
        let why = match &*self.session.state().borrow() {
            State::Stopped { why } => why.to_string(),
            _ => "the consumer stopped".to_owned(),
        };
        self.asks.close();
        for run in self.runs.values() {
            run.lose(&why);
        }
        self.calls.forget_ended();
        for (_, start) in self.starts.drain() {
            let _ = start.answer.send(Err(RunError::Lost(why.clone())));
        }
    }

    async fn ask(&mut self, ask: Ask) {
        match ask {
            Ask::Start(run, answer) => {
                self.forget_ended();
                if self.starts.contains_key(&run) || self.runs.contains_key(&run) {
                    let _ = answer.send(Err(RunError::Refused {
                        code: ErrorCode::Conflict.as_str().to_owned(),
                        detail: "this consumer works on it already".to_owned(),
                    }));
                    return;
                }
                self.starts.insert(run, Start { answer, sent_on: None });
            }
            Ask::CallTool(run, call, answer) => self.calls.add(run, call, answer),
            Ask::Complete(request_id, choices) => {
                let reply = AutocompleteReply { request_id, choices };
                return self.say(ClientFrame::AutocompleteReply(reply)).await;
            }
        }
        self.send_unsent().await;
    }

    /// Sends what waits for a connection, or for another one.
    async fn send_unsent(&mut self) {
        let Some(session) = self.connected else { return };
        let unsent = self.starts.iter_mut().filter(|(_, start)| start.sent_on != Some(session));
        let starts: Vec<RunId> = unsent
            .map(|(run, start)| {
                start.sent_on = Some(session);
                *run
            })
            .collect();
        for run in starts {
            self.say(ClientFrame::RunStart(RunStart { run_id: run.0 })).await;
        }
        for call in self.calls.unsent(session) {
            self.say(ClientFrame::ToolCall(call)).await;
        }
    }

    async fn say_again(&mut self) {
        self.again = None;
        self.send_unsent().await;
        // Asked again by its holder, the server shows the run as it stands.
        let unsure: Vec<RunId> =
            self.runs.iter().filter(|(_, run)| run.is_unsure()).map(|(id, _)| *id).collect();
        for run in unsure {
            self.say(ClientFrame::RunStart(RunStart { run_id: run.0 })).await;
        }
    }

    /// What is done is said at once, or together with what is done soon.
    fn wants_ack(&mut self) {
        let now = Instant::now();
        let due = self.last_ack.map_or(now, |last| now.max(last + ACK_PAUSE));
        self.next_ack.get_or_insert(due);
    }

    async fn acknowledge(&mut self) {
        self.next_ack = None;
        if self.connected.is_some()
            && let Some(seq) = self.receipts.say()
        {
            self.last_ack = Some(Instant::now());
            self.say(ClientFrame::Ack(Ack { seq })).await;
        }
    }

    /// Sends what changed of one run; the others have their turn `pace` later.
    async fn flush(&mut self) {
        self.next_flush = None;
        for _ in 0..self.turns.len() {
            let Some(id) = self.turns.pop_front() else { break };
            let Some(run) = self.runs.get(&id) else { continue };
            let frame = run.flush(self.settings.patch_bytes);
            self.turns.push_back(id);
            if let Some(frame) = frame {
                self.last_flush = Instant::now();
                self.next_flush = Some(self.last_flush + self.settings.pace);
                return self.say(frame).await;
            }
        }
    }

    async fn say(&mut self, frame: ClientFrame) {
        if let Some(session) = self.connected {
            self.pace.turn().await;
            self.session.frame(session, frame).await;
        }
    }

    fn forget_ended(&mut self) {
        self.runs.retain(|_, run| !run.is_over());
        self.turns.retain(|id| self.runs.contains_key(id));
        self.calls.forget_ended();
    }
}

/// Gives the application the next once it has room. Safe to cancel.
async fn hand_over(out: &mpsc::Sender<Received>, backlog: &mut VecDeque<Received>) {
    match out.reserve().await {
        Ok(permit) => {
            if let Some(received) = backlog.pop_front() {
                permit.send(received);
            }
        }
        // Nobody wants them; they are not acknowledged.
        Err(_) => backlog.clear(),
    }
}

async fn at(instant: Option<Instant>) {
    match instant {
        Some(instant) => sleep_until(instant).await,
        None => std::future::pending().await,
    }
}
