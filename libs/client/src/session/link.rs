//! One connection, from `hello` to its end.

use std::time::Duration;

use protocol::frame::{Drain, Event, Hello, Identify, Read, Ready, Refresh, Resume};
use protocol::{ClientFrame, ServerFrame};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use super::cursors::Verdict;
use super::driver::{Driver, End, wanted};
use super::{Command, Position, SignIn, State, StopReason, Update};
use crate::socket::{Incoming, Outgoing, Socket, SocketError};

/// How long a server may take to answer our close.
const CLOSE_DEADLINE: Duration = Duration::from_secs(2);
/// Beats without any frame of the server, after which the connection is dead.
const SILENT_BEATS: u32 = 2;
/// Beats without a pong, after which the server is deaf, whatever it sends.
const UNANSWERED_BEATS: u32 = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Connected,
    Identified,
    Replaying,
    Live,
}

struct Link {
    outgoing: Outgoing,
    phase: Phase,
    /// Until when the phase must be over.
    deadline: Option<Instant>,
    interval: Duration,
    next_beat: Option<Instant>,
    silent: u32,
    unanswered: u32,
    /// When the node wants us to leave.
    drain: Option<Instant>,
    /// A newer access token on its way, to be presented.
    refreshing: JoinSet<Option<String>>,
}

/// What happens next on a connection.
enum Step {
    Frame(Result<ServerFrame, SocketError>),
    Command(Option<Command>),
    Beat,
    Send,
    HandedOver,
    TooLate,
    Leave,
    Renewed(Option<String>),
    Stop,
}

impl Driver {
    /// Lives on one connection until its end.
    pub(super) async fn ride(&mut self, socket: Socket) -> End {
        let (outgoing, mut incoming) = socket.split();
        let mut link = Link {
            outgoing,
            phase: Phase::Connected,
            deadline: Some(Instant::now() + self.settings.deadline),
            interval: Duration::MAX,
            next_beat: None,
            silent: 0,
            unanswered: 0,
            drain: None,
            refreshing: JoinSet::new(),
        };
        loop {
            let due = if link.is_ready() { self.sends.next_due() } else { None };
            let reads = self.reads(&link);
            let step = tokio::select! {
                () = wanted(&mut self.stop) => Step::Stop,
                () = self.outbox.hand_over(), if self.outbox.is_waiting() => Step::HandedOver,
                frame = incoming.receive(), if reads => Step::Frame(frame),
                command = self.commands.recv(), if self.sends.has_room() => Step::Command(command),
                () = at(due) => Step::Send,
                () = at(link.next_beat) => Step::Beat,
                () = at(link.deadline) => Step::TooLate,
                () = at(link.drain) => Step::Leave,
                Some(token) = link.refreshing.join_next() => Step::Renewed(token.ok().flatten()),
            };
            if let Err(end) = self.step(&mut link, &mut incoming, step).await {
                // Whatever ends a connection to a node that drains: come back when the node said. To drain those who
                // only just come is a failure from the second time on, or one node alone would be asked without end.
                return match (end, link.drain) {
                    (End::Failed { .. }, Some(until))
                        if link.phase == Phase::Live || self.waits.drained_early() =>
                    {
                        End::Drained(until)
                    }
                    (End::Failed { why, after }, Some(until)) => {
                        End::Failed { why, after: after.max(until.saturating_duration_since(Instant::now())) }
                    }
                    (end, _) => end,
                };
            }
        }
    }

    /// Whether the server is read: while the user has room, and as far as `ready`; and while somebody waits for an answer, or
    /// events before it would keep it away.
    fn reads(&self, link: &Link) -> bool {
        !self.outbox.is_waiting() || !link.is_ready() || self.sends.is_waited_for()
    }

    async fn step(&mut self, link: &mut Link, incoming: &mut Incoming, step: Step) -> Result<(), End> {
        match step {
            Step::HandedOver if self.outbox.wants_what_was_left_out() => {
                // A courtesy.
                let _ = timeout(CLOSE_DEADLINE, link.outgoing.close(1001, "resumes")).await;
                Err(End::CaughtUp)
            }
            Step::HandedOver => Ok(()),
            Step::Frame(Ok(frame)) => self.frame(link, frame).await,
            Step::Frame(Err(error)) => Err(self.end_of(&error)),
            Step::Command(None) | Step::Stop => {
                bye(link, incoming).await;
                Err(End::Stop(StopReason::Asked))
            }
            Step::Command(Some(command)) => self.command(link, command).await,
            Step::Send => match self.sends.take_due() {
                Some(send) => self.write(link, ClientFrame::Send(send)).await,
                None => Ok(()),
            },
            Step::Beat => self.beat(link).await,
            Step::Renewed(Some(access_token)) => {
                self.write(link, ClientFrame::Refresh(Refresh { access_token })).await
            }
            // The node closes when its patience is over, and says why.
            Step::Renewed(None) => Ok(()),
            Step::TooLate if link.phase == Phase::Connected => Err(End::failed("no hello in time")),
            Step::TooLate => Err(End::failed("no ready in time")),
            Step::Leave => {
                // A courtesy; what is on its way to us comes again after the resume.
                let _ = timeout(CLOSE_DEADLINE, link.outgoing.close(1001, "drain")).await;
                Err(End::failed("the node drains"))
            }
        }
    }

    async fn frame(&mut self, link: &mut Link, frame: ServerFrame) -> Result<(), End> {
        link.silent = 0;
        match frame {
            ServerFrame::Hello(hello) if link.phase == Phase::Connected => self.hello(link, &hello).await?,
            ServerFrame::Ready(ready) if link.phase == Phase::Identified => self.ready(link, ready).await?,
            ServerFrame::Live if link.phase == Phase::Replaying => {
                link.phase = Phase::Live;
                self.waits.live();
                self.set_state(State::Live);
            }
            frame @ (ServerFrame::Hello(_) | ServerFrame::Ready(_) | ServerFrame::Live) => {
                return Err(End::failed(&format!("{} out of turn", frame.op())));
            }
            ServerFrame::Event(event) => self.event(event)?,
            ServerFrame::Gap(gap) => {
                // One that is left out moves no cursor: the next connection tells it again.
                if self.outbox.has_room_for(1) {
                    self.followed.gap(&gap);
                }
                self.outbox.push(Update::Gap(gap));
            }
            ServerFrame::Typing(typing) => self.outbox.push(Update::Typing(typing)),
            ServerFrame::Presence(presence) => self.outbox.push(Update::Presence(presence)),
            ServerFrame::Run(run) => self.outbox.push(Update::Run(run)),
            ServerFrame::Hint(hint) => self.outbox.push(Update::Hint(hint)),
            ServerFrame::ToolCall(call) => self.outbox.push(Update::ToolCall(call)),
            ServerFrame::ToolCalled(called) => self.outbox.push(Update::ToolCalled(called)),
            ServerFrame::Autocomplete(question) => self.outbox.push(Update::Autocomplete(question)),
            ServerFrame::Choices(choices) => self.outbox.push(Update::Choices(choices)),
            ServerFrame::Acked(acked) => self.outbox.push(Update::Acked(acked)),
            ServerFrame::Sent(sent) => {
                self.sends.sent(&sent);
                self.outbox.push(Update::Sent(sent));
            }
            ServerFrame::Error(error) => {
                self.sends.refused(&error);
                self.outbox.push(Update::Error(error));
            }
            ServerFrame::Pong => link.unanswered = 0,
            ServerFrame::Refresh(_) => self.buy_token(link),
            ServerFrame::Refreshed(_) => {}
            ServerFrame::Drain(Drain { after_ms }) => {
                let leave = Instant::now() + Duration::from_millis(after_ms);
                link.drain = Some(link.drain.map_or(leave, |earlier| earlier.min(leave)));
            }
        }
        Ok(())
    }

    async fn hello(&mut self, link: &mut Link, hello: &Hello) -> Result<(), End> {
        self.waits.hello(Duration::from_millis(hello.reconnect_jitter_ms));
        link.phase = Phase::Identified;
        link.deadline = Some(Instant::now() + self.settings.deadline);
        link.interval = Duration::from_millis(hello.heartbeat_interval_ms.max(10));
        link.next_beat = Some(Instant::now() + link.interval);
        let Position { cursors, log_epoch } = self.followed.position();
        self.outbox.begin_again();
        let frame = match self.session_id {
            Some(session_id) => ClientFrame::Resume(Resume { session_id, cursors, log_epoch }),
            None => ClientFrame::Identify(Identify { slot: self.settings.slot.clone(), cursors, log_epoch }),
        };
        self.write(link, frame).await
    }

    async fn ready(&mut self, link: &mut Link, ready: Box<Ready>) -> Result<(), End> {
        link.phase = Phase::Replaying;
        link.deadline = None;
        self.taken_in();
        self.session_id = Some(ready.session_id);
        self.followed.ready(&ready);
        self.sends.connected();
        self.set_state(State::Replaying);
        self.outbox.push(Update::Ready(ready));
        if let Some(focus) = self.focus.clone() {
            self.write(link, ClientFrame::Focus(focus)).await?;
        }
        while let Some((room_id, seq)) = self.reads.pop_first() {
            self.write(link, ClientFrame::Read(Read { room_id, seq })).await?;
        }
        Ok(())
    }

    fn event(&mut self, event: Event) -> Result<(), End> {
        // It may bring a fault with it. One that is left out moves no cursor.
        if !self.outbox.has_room_for(2) {
            self.outbox.leave_out();
            return Ok(());
        }
        match self.followed.event(&event) {
            Verdict::Deliver => self.outbox.push(Update::Event(event)),
            Verdict::DeliverWith(fault) => {
                self.outbox.push(Update::Fault(fault));
                self.outbox.push(Update::Event(event));
            }
            Verdict::Known => {}
            Verdict::Drop(fault) => self.outbox.push(Update::Fault(fault)),
            Verdict::Refetch(fault) => {
                let why = fault.to_string();
                self.outbox.push(Update::Fault(fault));
                return Err(End::failed(&why));
            }
        }
        Ok(())
    }

    async fn command(&mut self, link: &Link, command: Command) -> Result<(), End> {
        if !link.is_ready() {
            self.keep(command);
            return Ok(());
        }
        match command {
            // It is due at once.
            Command::Send(..) => {
                self.keep(command);
                Ok(())
            }
            Command::Focus(focus) => {
                self.focus = Some(focus.clone());
                self.write(link, ClientFrame::Focus(focus)).await
            }
            Command::Typing(typing) => self.write(link, ClientFrame::Typing(typing)).await,
            Command::Read(read) => self.write(link, ClientFrame::Read(read)).await,
            Command::Frame(session, frame) if self.session_id == Some(session) => {
                self.write(link, frame).await
            }
            Command::Frame(..) => Ok(()),
        }
    }

    /// Buys a newer access token, where this session has what that takes.
    fn buy_token(&self, link: &mut Link) {
        let SignIn::Tickets(apis) = &self.settings.sign_in else { return };
        let (apis, deadline) = (apis.clone(), self.settings.deadline);
        link.refreshing.spawn(async move {
            for api in apis {
                // What fails at one node may go well at the next.
                if let Ok(Ok(signed_in)) = timeout(deadline, api.refresh()).await {
                    return Some(signed_in.access_token);
                }
            }
            None
        });
    }

    async fn beat(&mut self, link: &mut Link) -> Result<(), End> {
        link.next_beat = Some(Instant::now() + link.interval);
        // While nothing is read, silence says nothing of the server.
        if !self.reads(link) {
            (link.silent, link.unanswered) = (0, 0);
        }
        if link.silent >= SILENT_BEATS || link.unanswered >= UNANSWERED_BEATS {
            return Err(End::failed("heartbeat missed"));
        }
        link.silent += 1;
        link.unanswered += 1;
        self.write(link, ClientFrame::Ping).await
    }

    async fn write(&self, link: &Link, frame: ClientFrame) -> Result<(), End> {
        match timeout(self.settings.deadline, link.outgoing.send(&frame)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(End::failed(&error)),
            Err(_) => Err(End::failed("the server does not read")),
        }
    }
}

impl Link {
    fn is_ready(&self) -> bool {
        matches!(self.phase, Phase::Replaying | Phase::Live)
    }
}

/// Closes for the user, and lets the server answer.
async fn bye(link: &Link, incoming: &mut Incoming) {
    let closing = async {
        if link.outgoing.close(1000, "").await.is_ok() {
            while incoming.receive().await.is_ok() {}
        }
    };
    // Late or not, the connection is dropped now.
    let _ = timeout(CLOSE_DEADLINE, closing).await;
}

async fn at(instant: Option<Instant>) {
    match instant {
        Some(instant) => sleep_until(instant).await,
        None => std::future::pending().await,
    }
}
