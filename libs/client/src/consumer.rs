//! The agent's side of a connection: a consumer that lives on, and the runs that it works on.
//!
//! ```text
//!   server                          Consumer                       application
//!     | -- run.requested --------------> | -- RunRequested ------------> |
//!     | <------------------- run_start --| <---------------- start(run) -|
//!     | -- run (epoch, document) ------> | -- RunHandle ---------------> |
//!     | <------------------- run_patch --| <--- append_text, push_item --|
//!     | <------------------------- ack --| <-------------- receipt.ack() |
//!     | <------------------ run_finish --| <-------------------- finish -|
//! ```
//!
//! - **Events** come at least once: until they are acknowledged they come again, on the next connection to the next process, in
//!   order. One consumer gives each of them once.
//! - **Runs.** The handle's copy of the document is the one that counts. It is compared with what the server has, and the
//!   difference is sent: after each change, and after a connection was lost, when the server shows each run that is still
//!   held before it says `live`. So what was shown is made right, and what was written is not lost. A run that is not
//!   shown then is lost: its handle says so, and if it is not over it comes again as requested.
//! - **One connection.** Whatever is sent was decided by what the same connection said before: frames are bound to its
//!   session ([`Session::frame`]). What had no answer is asked again on the next.
//! - **Ends** for good when the token is not good (4004), is revoked (4014), or another process takes the consumer (4015).
//!
//! ```no_run
//! # async fn example(settings: client::ConsumerSettings) -> Result<(), client::consumer::RunError> {
//! use client::consumer::{Consumer, Happening};
//! use domain::run::FinishStatus;
//!
//! let (consumer, mut happenings) = Consumer::open(settings);
//! while let Some(received) = happenings.next().await {
//!     if let Happening::RunRequested(asked) = &received.what {
//!         let run = consumer.start(asked.run_id).await?;
//!         run.push_item(serde_json::json!({ "id": "answer", "type": "text", "text": "" }))?;
//!         run.append_text("answer", "Good morning!")?;
//!         run.finish(FinishStatus::Succeeded, None).await?;
//!     }
//!     received.receipt.ack();
//! }
//! # Ok(())
//! # }
//! ```

mod calls;
mod difference;
mod driver;
mod happening;
mod held;
mod pace;
mod receipts;
mod run;
mod serve;
mod settings;

use std::sync::Arc;

use domain::RunId;
use protocol::frame::RawJson;
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio_util::sync::{CancellationToken, DropGuard};
use uuid::Uuid;

use crate::session::{Session, State, StopReason};
use driver::{Driver, Ends};
pub use happening::{Choice, Happening, Question, Received, RunRequested, ToolResolved};
use held::Held;
pub use receipts::Receipt;
pub use run::{NewToolCall, RunError, RunHandle, ToolError};
pub use serve::{Work, serve};
pub use settings::ConsumerSettings;

/// What an application and its runs ask of the driver.
enum Ask {
    Start(RunId, oneshot::Sender<Result<RunHandle, RunError>>),
    CallTool(Arc<Held>, NewToolCall, oneshot::Sender<Result<RawJson, ToolError>>),
    Complete(Uuid, RawJson),
}

/// Where runs leave what they want.
struct Desk {
    asks: mpsc::Sender<Ask>,
    /// Some document has changed.
    changed: Notify,
}

/// The application's hold of a consumer. When it is dropped, the connection closes and all runs are lost.
#[derive(Debug)]
pub struct Consumer {
    session: Arc<Session>,
    desk: Arc<Desk>,
    stop: CancellationToken,
    _dropped: DropGuard,
}

/// What happens, in order.
#[derive(Debug)]
pub struct Happenings(mpsc::Receiver<Received>);

impl Happenings {
    /// The next; none when the consumer has stopped ([`Consumer::stopped`] says why). Safe to cancel.
    pub async fn next(&mut self) -> Option<Received> {
        self.0.recv().await
    }
}

impl std::fmt::Debug for Desk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Desk").finish_non_exhaustive()
    }
}

impl Consumer {
    /// Starts a consumer in a task of its own.
    #[must_use]
    pub fn open(settings: ConsumerSettings) -> (Self, Happenings) {
        let (session, updates) = Session::open(settings.session());
        let session = Arc::new(session);
        let (asks, asked) = mpsc::channel(64);
        let (out, received) = mpsc::channel(1);
        let desk = Arc::new(Desk { asks, changed: Notify::new() });
        let stop = CancellationToken::new();
        let ends = Ends { desk: Arc::clone(&desk), asks: asked, out, stop: stop.clone() };
        tokio::spawn(Driver::new(settings, Arc::clone(&session), updates, ends).run());
        let _dropped = stop.clone().drop_guard();
        (Self { session, desk, stop, _dropped }, Happenings(received))
    }

    /// Starts a run, and waits for its turn, over as many connections as it takes.
    ///
    /// # Errors
    ///
    /// Another one has it, it is not offered any more, this consumer works on it already, or the consumer stopped.
    pub async fn start(&self, run: RunId) -> Result<RunHandle, RunError> {
        let (answer, answered) = oneshot::channel();
        let gone = || RunError::Lost("the consumer stopped".to_owned());
        self.desk.asks.send(Ask::Start(run, answer)).await.map_err(|_| gone())?;
        answered.await.unwrap_or_else(|_| Err(gone()))
    }

    /// Says how a command could go on. Forgotten when there is no connection: nobody waits that long.
    pub async fn complete(&self, question: Uuid, choices: &[Choice]) {
        let choices = serde_json::to_string(choices).and_then(RawJson::new);
        if let Ok(choices) = choices {
            // After the end nobody asks.
            let _ = self.desk.asks.send(Ask::Complete(question, choices)).await;
        }
    }

    /// The state of the connection, to be looked at or waited for.
    #[must_use]
    pub fn state(&self) -> watch::Receiver<State> {
        self.session.state()
    }

    /// Waits until the consumer is connected and up to date.
    ///
    /// # Errors
    ///
    /// It stopped instead; why.
    pub async fn live(&self) -> Result<(), StopReason> {
        self.session.live().await
    }

    /// Waits for the end, and says why.
    pub async fn stopped(&self) -> StopReason {
        let mut state = self.session.state();
        match state.wait_for(|state| matches!(state, State::Stopped { .. })).await.as_deref() {
            Ok(State::Stopped { why }) => why.clone(),
            _ => StopReason::Asked,
        }
    }

    /// Closes the connection. Runs that are not finished are lost; they are requested again.
    pub async fn stop(&self) {
        self.stop.cancel();
        self.session.stop().await;
        self.stopped().await;
    }
}
