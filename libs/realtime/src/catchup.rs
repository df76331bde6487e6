//! Reading the log at a connection's own pace: replay after a resume, and catching up after being behind.
//!
//! Both are the same. A writer takes frames from its [`Feed`]; when the outbox is empty and streams
//! lag, the feed gives a page of one of them, from the hub's memory where that reaches far enough,
//! else from the log, and looks again. Pages are read no faster than the socket takes them, and only so
//! many connections of a node read at one time.

use std::sync::Arc;
use std::time::Duration;

use domain::{RunId, StreamRef, UserId};
use protocol::frame::{self, Gap, RawJson};
use protocol::{CloseCode, ServerFrame};
use store::log::Range;
use store::runs::Known;
use store::tools::ToolCall;
use store::{Store, StoreError};
use tokio::sync::Semaphore;

use crate::connection::Connection;
use crate::encoded::{Encoded, Path};
use crate::hub::Hub;
use crate::hub::effects::tool_call;
use crate::hub::stream::Pulled;
use crate::livebox;
use crate::outbox::Next;
use crate::presence;
use crate::session::Opened;

/// Most frames of one batch: a write that is stuck holds no more than this.
const BATCH: usize = 64;

/// What catching up has come to.
#[derive(Debug)]
pub enum Progress {
    /// Frames of a stream that lagged; there may be more.
    Frames(Vec<Arc<Encoded>>),
    /// The connection has all that this node has seen.
    Level,
}

/// What comes of wanting a run.
#[derive(Debug)]
pub enum Watched {
    /// Its document is queued, or will be once it is loaded, and what follows on.
    Follows,
    /// It is over: this is its document, and all there will be.
    Over(Arc<Encoded>),
    /// There is none, or it is one of a room that the connection does not follow.
    Unknown,
}

/// Reads the log for connections that lag; shared by all of a node.
pub struct CatchUp {
    hub: Arc<Hub>,
    store: Arc<dyn Store>,
    permits: Semaphore,
    page: u32,
    max_room_members: u32,
}

impl CatchUp {
    /// Reads pages of `page` events, for `at_once` connections at one time. People of rooms of at most `max_room_members` are told of each other.
    #[must_use]
    pub fn new(
        hub: Arc<Hub>,
        store: Arc<dyn Store>,
        at_once: usize,
        page: u32,
        max_room_members: u32,
    ) -> Arc<Self> {
        let permits = Semaphore::new(at_once.max(1));
        Arc::new(Self { hub, store, permits, page: page.max(1), max_room_members })
    }

    /// The next frames that a connection lacks.
    ///
    /// # Errors
    ///
    /// When the log can't be read now; nothing was skipped, ask again.
    pub async fn step(&self, connection: &Connection) -> Result<Progress, StoreError> {
        for stream in connection.streams() {
            match self.hub.pull(connection, stream) {
                Pulled::Level => {}
                Pulled::Recent(frames) => return Ok(Progress::Frames(frames)),
                Pulled::Read { after } => {
                    let frames = self.read(connection, stream, after).await?;
                    if !frames.is_empty() {
                        return Ok(Progress::Frames(frames));
                    }
                }
            }
        }
        Ok(Progress::Level)
    }

    /// What is no part of the log and is around a connection that is level with it: when it begins or sees more than before,
    /// open runs, how agents and people are seen and tool calls that wait; later the runs and people whose frames did not fit. How somebody is
    /// seen is put into the outbox, where it is in order with what is told later; the rest is given back.
    ///
    /// # Errors
    ///
    /// When it can't be read now; nothing was skipped, ask again.
    pub async fn look_around(&self, connection: &Connection) -> Result<Vec<Arc<Encoded>>, StoreError> {
        let mut frames = Vec::new();
        if let Some(user) = connection.meta.user()
            && connection.takes_look()
        {
            let found = self.around(connection, user).await;
            frames = found.inspect_err(|_| connection.look_around())?;
        }
        let missed = connection.take_missed_people();
        if let Err(error) = self.tell_missed(connection, &missed).await {
            missed.into_iter().for_each(|user| connection.missed_person(user));
            return if frames.is_empty() { Err(error) } else { Ok(frames) };
        }
        let mut stale = connection.take_stale_runs();
        while let Some(run) = stale.first() {
            match self.stale_run(connection, run).await {
                Ok(whole) => frames.extend(whole),
                // What was found counts as given, so it is given; the rest stays stale.
                Err(error) => return if frames.is_empty() { Err(error) } else { Ok(frames) },
            }
            stale.settle();
        }
        Ok(frames)
    }

    async fn around(&self, connection: &Connection, user: UserId) -> Result<Vec<Arc<Encoded>>, StoreError> {
        let _permit = self.permits.acquire().await;
        let (runs, calls) = tokio::try_join!(self.store.open_runs(user), self.store.pending_tools(user))?;
        self.tell_around(connection, user).await?;
        let mut frames = Vec::new();
        for run in runs.into_iter().filter(|run| connection.follows(run.room.into())) {
            self.hub.boxes().track(run.run, run.room);
            frames.extend(self.hub.boxes().first_look(run.run, connection));
        }
        frames.extend(calls.iter().filter_map(pending_call));
        Ok(frames)
    }

    /// Puts into the outbox how those around are seen, while nobody tells anything else of them.
    async fn tell_around(&self, connection: &Connection, user: UserId) -> Result<(), StoreError> {
        let (agents, people) = (self.hub.agents(), self.hub.people());
        let _still = (agents.telling.read().await, people.telling.read().await);
        let (agents_seen, people_seen) = tokio::try_join!(
            self.store.presence_around(user),
            self.store.people_around(user, self.max_room_members)
        )?;
        agents_seen.iter().for_each(|seen| agents.see(seen.agent));
        people_seen.iter().for_each(|seen| people.see(seen.user));
        let frames: Vec<_> = agents_seen
            .iter()
            .map(presence::agent_frame)
            .chain(people_seen.iter().map(presence::person_frame))
            .collect();
        connection.outbox.push_found(&frames);
        Ok(())
    }

    /// Puts into the outbox how people are seen of whom the connection could not be told.
    async fn tell_missed(&self, connection: &Connection, missed: &[UserId]) -> Result<(), StoreError> {
        if missed.is_empty() {
            return Ok(());
        }
        let _permit = self.permits.acquire().await;
        let _still = self.hub.people().telling.read().await;
        let seen = self.store.people_presence(missed).await?;
        let frames: Vec<_> = seen.iter().map(presence::person_frame).collect();
        connection.outbox.push_found(&frames);
        Ok(())
    }

    /// The whole document of a run whose frames did not fit; none when it was given meanwhile, or comes with the next load.
    async fn stale_run(
        &self,
        connection: &Connection,
        run: RunId,
    ) -> Result<Option<Arc<Encoded>>, StoreError> {
        if self.hub.boxes().room_of(run).is_some() {
            return Ok(self.hub.boxes().first_look(run, connection));
        }
        Ok(match self.find_run(connection, run).await? {
            Watched::Over(whole) => Some(whole),
            Watched::Follows | Watched::Unknown => None,
        })
    }

    /// A run that is not followed here.
    async fn find_run(&self, connection: &Connection, run: RunId) -> Result<Watched, StoreError> {
        let updates = self.store.run_updates(&[Known { run, epoch: 0, version: 0 }]).await?;
        let Some(update) = updates.first().filter(|update| connection.follows(update.room.into())) else {
            return Ok(Watched::Unknown);
        };
        if !update.status.is_final() {
            // Given with the load, in order with what follows.
            self.hub.boxes().track(run, update.room);
            return Ok(Watched::Follows);
        }
        Ok(livebox::snapshot(update).map_or(Watched::Unknown, Watched::Over))
    }

    /// A connection wants a run, now and as it goes on.
    ///
    /// # Errors
    ///
    /// When the store does not answer.
    pub async fn watch(&self, connection: &Connection, run: RunId) -> Result<Watched, StoreError> {
        match self.hub.boxes().room_of(run) {
            Some(room) if !connection.follows(room.into()) => Ok(Watched::Unknown),
            Some(_) if self.hub.boxes().watch(run, connection) => Ok(Watched::Follows),
            _ => self.find_run(connection, run).await,
        }
    }

    /// A connection wants nothing more of a run.
    pub fn unwatch(&self, connection: &Connection, run: RunId) {
        self.hub.boxes().unwatch(run, connection);
    }

    async fn read(
        &self,
        connection: &Connection,
        stream: StreamRef,
        after: u64,
    ) -> Result<Vec<Arc<Encoded>>, StoreError> {
        let page = {
            let _permit = self.permits.acquire().await;
            self.store.page(connection.meta.principal, stream, Range::After(after), self.page).await?
        };
        let Some(page) = page else {
            // No member any more. The person's own stream says so in its turn.
            self.hub.unsubscribe(connection, stream);
            return Ok(Vec::new());
        };
        let (to, frames) = if page.floor > after {
            (page.head, vec![gap(stream, page.floor, page.head)])
        } else {
            // With no events the hub has seen more than the log has: the sweep finds out that the log is another one.
            let to = page.events.last().map_or(u64::MAX, |last| last.seq);
            (to, page.events.into_iter().map(|event| Encoded::event(event, Path::Replay)).collect())
        };
        Ok(if self.hub.advance(connection, stream, after, to) { frames } else { Vec::new() })
    }
}

/// The frame that says that events between a cursor and `floor` are gone; delivery goes on after `head`.
#[must_use]
pub fn gap(stream: StreamRef, floor: u64, head: u64) -> Arc<Encoded> {
    Encoded::frame(ServerFrame::Gap(Gap { stream: stream.to_string(), floor, head }))
}

/// What a writer is given.
#[derive(Debug)]
pub enum Fed {
    /// The batch has frames.
    Frames,
    /// Close with this code.
    Close(CloseCode),
}

/// Everything that goes to one connection, in order: what its single writer reads from.
pub struct Feed {
    connection: Arc<Connection>,
    catchup: Arc<CatchUp>,
    /// `ready` and what belongs to it: goes first.
    greeting: Vec<Arc<Encoded>>,
    live: bool,
    trouble: u32,
}

impl Feed {
    /// The feed of a connection.
    #[must_use]
    pub fn new(opened: Opened, catchup: Arc<CatchUp>) -> Self {
        let Opened { connection, greeting } = opened;
        Self { connection, catchup, greeting, live: false, trouble: 0 }
    }

    /// Waits for frames and adds them to `batch`, which the writer has emptied.
    pub async fn next(&mut self, batch: &mut Vec<Arc<Encoded>>) -> Fed {
        if !self.greeting.is_empty() {
            batch.append(&mut self.greeting);
            return Fed::Frames;
        }
        loop {
            match self.connection.outbox.next(batch, BATCH).await {
                Next::Batch => return Fed::Frames,
                Next::Close(code) => return Fed::Close(code),
                Next::CatchUp => {
                    // On the heap: a connection that is level does not carry it.
                    if Box::pin(self.catch_up(batch)).await {
                        return Fed::Frames;
                    }
                }
            }
        }
    }

    /// True when there is something to write.
    async fn catch_up(&mut self, batch: &mut Vec<Arc<Encoded>>) -> bool {
        match self.catchup.step(&self.connection).await {
            Ok(Progress::Frames(frames)) => {
                self.trouble = 0;
                // Those that were called before this connection began are told of when it is level.
                for frame in frames {
                    let call = called(&frame).filter(|_| self.live);
                    batch.push(frame);
                    batch.extend(call);
                }
                self.connection.outbox.lag();
                true
            }
            Ok(Progress::Level) => match self.catchup.look_around(&self.connection).await {
                Ok(frames) => self.level(frames, batch),
                Err(error) => self.try_again(&error).await,
            },
            Err(error) => self.try_again(&error).await,
        }
    }

    /// The connection has the log and what is around it.
    fn level(&mut self, around: Vec<Arc<Encoded>>, batch: &mut Vec<Arc<Encoded>>) -> bool {
        self.trouble = 0;
        self.connection.outbox.caught_up();
        batch.extend(around);
        if !self.live {
            self.live = true;
            self.connection.set_live();
            // After what was found around it.
            self.connection.outbox.push_found(&[Encoded::frame(ServerFrame::Live)]);
        }
        !batch.is_empty()
    }

    async fn try_again(&mut self, error: &StoreError) -> bool {
        self.trouble = (self.trouble + 1).min(6);
        tracing::warn!(%error, "can't read the log for a connection; trying again");
        let longest = 50_u64 << self.trouble;
        tokio::time::sleep(Duration::from_millis(rand::random_range(longest / 2..=longest))).await;
        self.connection.outbox.lag();
        false
    }
}

/// The frame beside an event that says that a tool is called.
fn called(frame: &Encoded) -> Option<Arc<Encoded>> {
    let call = frame.as_event().and_then(tool_call)?;
    Some(Encoded::frame(ServerFrame::ToolCall(call)))
}

/// The frame of a call that waits.
fn pending_call(call: &ToolCall) -> Option<Arc<Encoded>> {
    let frame = frame::ToolCall {
        call_id: call.id.0,
        run_id: call.run.0,
        room_id: call.room.0,
        tool: call.tool.clone(),
        args: RawJson::new(&*call.args).ok()?,
        deadline: format!("{:.6}", call.deadline),
    };
    Some(Encoded::frame(ServerFrame::ToolCall(frame)))
}
