//! A connection that lives on.
//!
//! ```text
//!            ticket, upgrade, hello        ready            live
//! Connecting ----------------------> ... -------> Replaying -----> Live
//!   ^   |  failure                                    |              |
//!   |   v                                             v loss, drain  v
//!   +-- Waiting <------------------------------------------------------
//!                    any of them -- terminal close, sign-in over, stop() --> Stopped
//! ```
//!
//! - Each attempt goes to the next gateway of the list, with a fresh ticket.
//! - With a session id it resumes, without one it identifies; both say the cursors and the log epoch.
//!   4012 forgets the session id, never the cursors.
//! - The wait after a failure is random up to a bound that doubles with each failure and falls back
//!   only when a connection is live. After a loss it is at least spread over what `hello` said. After
//!   `drain` it is what the node said.
//! - A message is sent again, with the same nonce, until it is acknowledged or refused.
//! - An event is given to the user once. A hole in the numbers is reported, and the connection resumed
//!   from before the hole; if the hole is still there then, it is reported again and passed.
//! - The socket is read only when the user has room for what comes, so a slow user slows the server,
//!   which knows what to do. Heartbeats go on meanwhile.
//! - Nobody who waits for the answer to a message waits for the user to take updates: until it is there the socket is read all the
//!   same. What comes before it waits, up to a limit; beyond that it is left out, and once the user has taken what waited, the
//!   connection is resumed from there, so that events come then. What is not of the log (typing, presence, `Sent`) does not.

mod backoff;
mod cursors;
mod driver;
mod link;
mod outbox;
mod sends;
mod settings;
mod state;

use domain::{EventId, RoomId};
use protocol::ClientFrame;
use protocol::frame::{Focus, Read, Send, Sent, Typing};
use tokio::sync::{Mutex, mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use uuid::Uuid;

use driver::Driver;
pub use sends::SendError;
pub use settings::{Backoff, Position, SessionSettings, SignIn};
pub use state::{Fault, State, StopReason, Update};

/// What a user of a session asks of it.
enum Command {
    Send(Send, oneshot::Sender<Result<Sent, SendError>>),
    Typing(Typing),
    Focus(Focus),
    Read(Read),
    /// A frame that belongs to the connection of this session; on another one it is worth nothing.
    Frame(Uuid, ClientFrame),
}

/// The user's hold of a session. When it is dropped, the session closes its connection and ends.
#[derive(Debug)]
pub struct Session {
    commands: mpsc::Sender<Command>,
    stop: watch::Sender<bool>,
    state: watch::Receiver<State>,
    task: Mutex<Option<JoinHandle<()>>>,
}

/// What a session gives to its user, in order.
#[derive(Debug)]
pub struct Updates(mpsc::Receiver<Update>);

impl Updates {
    /// The next update; none when the session has stopped. Safe to cancel.
    pub async fn next(&mut self) -> Option<Update> {
        self.0.recv().await
    }
}

impl Session {
    /// Starts a session in a task of its own. Updates that nobody wants may be dropped; those that are kept should be taken, or the
    /// server is not read while nobody waits for an answer, and each [`send`](Self::send) reads over what there is no room for.
    #[must_use]
    pub fn open(settings: SessionSettings) -> (Self, Updates) {
        let (updates, received) = mpsc::channel(settings.updates.max(1));
        let (commands, asked) = mpsc::channel(16);
        let (told, state) = watch::channel(State::Connecting { url: String::new() });
        let (stop, wanted) = watch::channel(false);
        let task = tokio::spawn(Driver::new(settings, asked, wanted, updates, told).run());
        (Self { commands, stop, state, task: Mutex::new(Some(task)) }, Updates(received))
    }

    /// The state, to be looked at or waited for.
    #[must_use]
    pub fn state(&self) -> watch::Receiver<State> {
        self.state.clone()
    }

    /// Waits until the session is live.
    ///
    /// # Errors
    ///
    /// It stopped instead; why.
    pub async fn live(&self) -> Result<(), StopReason> {
        let mut state = self.state.clone();
        let settled = state.wait_for(|state| matches!(state, State::Live | State::Stopped { .. })).await;
        match settled.as_deref() {
            Ok(State::Stopped { why }) => Err(why.clone()),
            Ok(_) => Ok(()),
            Err(_) => Err(StopReason::Asked),
        }
    }

    /// Sends a message and waits for its number, over as many connections as it takes, whether or not updates are taken.
    ///
    /// # Errors
    ///
    /// The server refuses it, or the session stopped first.
    pub async fn send(&self, room: RoomId, body: impl Into<String>) -> Result<Sent, SendError> {
        self.send_as(room, body, Uuid::now_v7().simple().to_string(), None).await
    }

    /// As [`send`](Self::send), with a nonce of the caller's and perhaps as an answer to a message. The
    /// same nonce again is the same message.
    ///
    /// # Errors
    ///
    /// The server refuses it, or the session stopped first.
    pub async fn send_as(
        &self,
        room: RoomId,
        body: impl Into<String>,
        nonce: String,
        reply_to: Option<EventId>,
    ) -> Result<Sent, SendError> {
        let (answer, answered) = oneshot::channel();
        let send = Send { room_id: room.0, body: body.into(), nonce, reply_to: reply_to.map(Uuid::from) };
        self.ask(Command::Send(send, answer)).await;
        answered.await.unwrap_or(Err(SendError::Stopped))
    }

    /// Says that one is typing; forgotten when there is no connection.
    pub async fn typing(&self, room: RoomId) {
        self.ask(Command::Typing(Typing { room_id: room.0 })).await;
    }

    /// Says what one looks at; said again on each new connection.
    pub async fn focus(&self, room: Option<RoomId>, idle: bool) {
        self.ask(Command::Focus(Focus { room_id: room.map(Uuid::from), idle })).await;
    }

    /// Says what was read; without a connection it is said on the next one.
    pub async fn read(&self, room: RoomId, seq: u64) {
        self.ask(Command::Read(Read { room_id: room.0, seq })).await;
    }

    /// Sends a frame as it is, but only on the connection that has this session id, which each `ready` gives anew: what was
    /// decided by what one connection said is not said on the next. Otherwise it is dropped.
    pub async fn frame(&self, session_id: Uuid, frame: ClientFrame) {
        self.ask(Command::Frame(session_id, frame)).await;
    }

    /// Closes the connection and waits until the session has ended. Updates not taken yet stay to be taken.
    pub async fn stop(&self) {
        self.stop.send_replace(true);
        if let Some(task) = self.task.lock().await.take() {
            // It ends by itself; a panic of it shows in the updates that end.
            let _ = task.await;
        }
    }

    async fn ask(&self, command: Command) {
        // After the end nobody listens; the state says why.
        let _ = self.commands.send(command).await;
    }
}
