//! Attempts, one after the other, until there is no use in another.

use std::collections::BTreeMap;
use std::pin::pin;
use std::time::Duration;

use domain::ErrorKind;
use protocol::CloseCode;
use protocol::close::AfterClose;
use protocol::frame::Focus;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until, timeout};
use uuid::Uuid;

use super::backoff::Waits;
use super::cursors::Followed;
use super::outbox::Outbox;
use super::sends::Sends;
use super::{Command, SessionSettings, SignIn, State, StopReason, Update};
use crate::api::ApiError;
use crate::socket::{Credential, Socket, SocketError};

/// So many upgrades in a row may be refused for the ticket, which may have grown old on the way.
const MOST_REFUSALS: u32 = 3;

/// How an attempt ended.
pub(super) enum End {
    /// For good.
    Stop(StopReason),
    /// The node drains, and said when to come back elsewhere.
    Drained(Instant),
    /// The user has taken what there was, and wants what was left out.
    CaughtUp,
    /// It failed, or was lost.
    Failed {
        why: String,
        /// Not sooner than this, as the server said.
        after: Duration,
    },
}

impl End {
    pub(super) fn failed(why: &(impl ToString + ?Sized)) -> Self {
        Self::Failed { why: why.to_string(), after: Duration::ZERO }
    }
}

/// A session, from the inside.
pub(super) struct Driver {
    pub(super) settings: SessionSettings,
    pub(super) commands: mpsc::Receiver<Command>,
    /// Becomes true, or loses its sender, when the user wants the end.
    pub(super) stop: watch::Receiver<bool>,
    pub(super) outbox: Outbox,
    pub(super) followed: Followed,
    pub(super) sends: Sends,
    pub(super) waits: Waits,
    pub(super) session_id: Option<Uuid>,
    /// What was said last, to be said again on the next connection.
    pub(super) focus: Option<Focus>,
    /// What was read while there was no connection.
    pub(super) reads: BTreeMap<Uuid, u64>,
    state: watch::Sender<State>,
    next_gateway: usize,
    next_api: usize,
    refusals: u32,
}

impl Driver {
    pub(super) fn new(
        mut settings: SessionSettings,
        commands: mpsc::Receiver<Command>,
        stop: watch::Receiver<bool>,
        updates: mpsc::Sender<Update>,
        state: watch::Sender<State>,
    ) -> Self {
        Self {
            commands,
            stop,
            outbox: Outbox::new(updates, settings.updates),
            followed: Followed::new(std::mem::take(&mut settings.from)),
            sends: Sends::new(settings.in_flight, settings.resend),
            waits: Waits::new(settings.backoff),
            session_id: None,
            focus: None,
            reads: BTreeMap::new(),
            state,
            next_gateway: 0,
            next_api: 0,
            refusals: 0,
            settings,
        }
    }

    pub(super) async fn run(mut self) {
        let why = Box::pin(self.attempts()).await;
        tracing::debug!(%why, "the session stopped");
        // Who waits for an answer learns it by this; the state goes last.
        self.sends.clear();
        self.commands.close();
        self.set_state(State::Stopped { why });
        tokio::select! {
            biased;
            () = self.outbox.finish() => {}
            () = wanted(&mut self.stop) => {}
        }
    }

    pub(super) fn set_state(&mut self, state: State) {
        self.state.send_replace(state.clone());
        self.outbox.push(Update::State(state));
    }

    async fn attempts(&mut self) -> StopReason {
        if self.settings.gateways.is_empty() {
            return StopReason::Settings("no gateway is named".to_owned());
        }
        loop {
            let gateways = &self.settings.gateways;
            let url = gateways[self.next_gateway % gateways.len()].clone();
            self.next_gateway = self.next_gateway.wrapping_add(1);
            self.set_state(State::Connecting { url: url.clone() });
            let (until, why) = match self.attempt(&url).await {
                End::Stop(why) => return why,
                End::Drained(until) => (until, "the node drains".to_owned()),
                End::CaughtUp => (Instant::now(), "the user has room again for what was left out".to_owned()),
                End::Failed { why, after } => (Instant::now() + self.waits.failed().max(after), why),
            };
            tracing::debug!(%why, url, "no connection");
            self.set_state(State::Waiting { until, why });
            if let Err(why) = self.meanwhile(sleep_until(until)).await {
                return why;
            }
        }
    }

    async fn attempt(&mut self, url: &str) -> End {
        match self.connect(url).await {
            Ok(socket) => self.ride(socket).await,
            Err(end) => end,
        }
    }

    async fn connect(&mut self, url: &str) -> Result<Socket, End> {
        let credential = self.credential().await?;
        let connector = self.settings.connector.clone().with_deadline(self.settings.deadline);
        let encoding = self.settings.encoding;
        let connecting = connector.connect(url, &credential, encoding);
        let connected = self.meanwhile(connecting).await.map_err(End::Stop)?;
        connected.map_err(|error| self.end_of(&error))
    }

    async fn credential(&mut self) -> Result<Credential, End> {
        let apis = match &self.settings.sign_in {
            SignIn::Token(token) => return Ok(Credential::Bearer(token.clone())),
            SignIn::Tickets(apis) => apis,
        };
        let settings = || End::Stop(StopReason::Settings("no api is named".to_owned()));
        let at = self.next_api.checked_rem(apis.len()).ok_or_else(settings)?;
        let (api, deadline) = (apis[at].clone(), self.settings.deadline);
        let asking = async move { timeout(deadline, api.ticket()).await };
        let ticket = match self.meanwhile(asking).await.map_err(End::Stop)? {
            Ok(Ok(ticket)) => return Ok(Credential::Ticket(ticket.ticket)),
            Ok(Err(error)) => error,
            Err(_) => ApiError::Transport("no ticket in time".to_owned()),
        };
        self.next_api = self.next_api.wrapping_add(1);
        let after = match &ticket {
            ApiError::Refused { retry_after, .. } => retry_after.unwrap_or_default(),
            _ => Duration::ZERO,
        };
        Err(match ticket.kind() {
            ErrorKind::Unauthenticated | ErrorKind::Forbidden => {
                End::Stop(StopReason::SignIn(ticket.to_string()))
            }
            _ => End::Failed { why: format!("ticket: {ticket}"), after },
        })
    }

    /// What the end of a connection, or of the try to make one, means.
    pub(super) fn end_of(&mut self, error: &SocketError) -> End {
        if let (Some(code), SocketError::Closed { reason, .. }) = (error.close_code(), error) {
            return self.end_of_close(code, reason);
        }
        match error {
            SocketError::Refused { status: 401, .. } => {
                self.refusals += 1;
                if self.refusals >= MOST_REFUSALS || matches!(self.settings.sign_in, SignIn::Token(_)) {
                    return End::Stop(StopReason::SignIn(error.to_string()));
                }
                End::failed(error)
            }
            SocketError::Refused { status: 403, .. } => End::Stop(StopReason::SignIn(error.to_string())),
            SocketError::Address(_) => End::Stop(StopReason::Settings(error.to_string())),
            _ => End::failed(error),
        }
    }

    fn end_of_close(&mut self, code: CloseCode, reason: &str) -> End {
        match code.then() {
            AfterClose::Stop => End::Stop(StopReason::Closed { code, reason: reason.to_owned() }),
            AfterClose::Identify => {
                self.session_id = None;
                End::failed(reason)
            }
            AfterClose::Resume => End::failed(&format!("closed with {}: {reason}", code.code())),
        }
    }

    /// The node took us in: refusals of tickets before are forgotten.
    pub(super) fn taken_in(&mut self) {
        self.refusals = 0;
    }

    /// Does `work`, and meanwhile serves the user: takes commands, hands over updates, hears the wish to stop.
    async fn meanwhile<W: Future>(&mut self, work: W) -> Result<W::Output, StopReason> {
        let mut work = pin!(work);
        loop {
            tokio::select! {
                output = &mut work => return Ok(output),
                () = wanted(&mut self.stop) => return Err(StopReason::Asked),
                () = self.outbox.hand_over(), if self.outbox.is_waiting() => {}
                command = self.commands.recv(), if self.sends.has_room() => {
                    self.keep(command.ok_or(StopReason::Asked)?);
                }
            }
        }
    }

    /// Keeps what can be kept of a command until there is a connection.
    pub(super) fn keep(&mut self, command: Command) {
        match command {
            Command::Send(send, answer) => self.sends.add(send, answer),
            Command::Focus(focus) => self.focus = Some(focus),
            Command::Read(read) => {
                let seq = self.reads.entry(read.room_id).or_default();
                *seq = read.seq.max(*seq);
            }
            Command::Typing(_) | Command::Frame(..) => {}
        }
    }
}

/// Waits until the user wants the end, or is gone.
pub(super) async fn wanted(stop: &mut watch::Receiver<bool>) {
    // Without a sender there is no user: the end is wanted too.
    let _ = stop.wait_for(|wanted| *wanted).await;
}
