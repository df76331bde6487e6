//! The rows of this node in the table of live connections.
//!
//! One flush an interval: rows are refreshed; those that are new, changed or missing are written; those of connections that are gone are cleared. In
//! batches, each a commit.
//!
//! | what | then |
//! |---|---|
//! | a flush fails | logged once an outage, counted, tried again at the next interval; connections notice nothing |
//! | its answer is lost | what it wrote is written again, and its people are told of although the second write changes nothing |
//! | the table was emptied | the refresh finds rows missing; they are written in the same flush |
//! | this node stood still for longer than rows live | its rows are missing, and written anew, but for those of devices that connected elsewhere |
//! | a connection ends | its row is cleared |
//! | it ends because the node drains | its row stays, and counts for `sync.resume_window` or until the device is back |
//! | the node stops | the last flush clears what is left |
//! | the node dies | its rows live for `cluster.presence_ttl` |

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use domain::{ConnectionId, NodeId, UserId};
use protocol::CloseCode;
use realtime::view;
use realtime::{Connection, Focus};
use store::presence::{PresenceBatch, PresenceRow};
use store::{Store, StoreError};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::announcer::Announcer;
use crate::presence::untold::Untold;
use crate::presence::{BATCH, PresenceMetrics, PresenceRules};

/// Writes the connections of one node.
pub struct PresenceWriter {
    store: Arc<dyn Store>,
    announcer: Announcer,
    node: NodeId,
    rules: PresenceRules,
    metrics: PresenceMetrics,
    rows: HashMap<ConnectionId, Row>,
    /// People of batches whose answer was lost.
    doubtful: HashSet<UserId>,
    untold: Untold,
    failing: bool,
}

/// A connection, and what the table is known to have of it.
struct Row {
    connection: Arc<Connection>,
    user: UserId,
    written: Written,
    gone_since: Option<Instant>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Written {
    /// Nothing was ever tried.
    Never,
    /// It was tried, or was there: nobody knows.
    Perhaps,
    /// This stands there.
    So(Focus),
}

/// What is to be done about a row.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Due {
    Nothing,
    Refresh,
    Write,
    Clear,
}

impl Row {
    fn due(&self) -> Due {
        match (self.gone_since, self.written) {
            (None, Written::So(focus)) if focus == self.connection.focus() => Due::Refresh,
            (None, _) => Due::Write,
            (Some(_), Written::Never) => Due::Nothing,
            // It counts until its client is back.
            (Some(_), _) if self.is_sent_away() => Due::Write,
            (Some(_), _) => Due::Clear,
        }
    }

    fn is_sent_away(&self) -> bool {
        self.connection.outbox.closing() == Some(CloseCode::NodeDrains)
    }
}

impl PresenceWriter {
    pub(super) fn new(
        store: Arc<dyn Store>,
        announcer: Announcer,
        node: NodeId,
        rules: PresenceRules,
        metrics: PresenceMetrics,
    ) -> Self {
        Self {
            store,
            announcer,
            node,
            rules,
            metrics,
            rows: HashMap::new(),
            doubtful: HashSet::new(),
            untold: Untold::default(),
            failing: false,
        }
    }

    /// Flushes at each interval, and once more when the token is cancelled.
    pub async fn run(mut self, stop: CancellationToken) {
        // Nodes that are started together do not write together.
        let mut pause = rand::random_range(std::time::Duration::ZERO..=self.rules.flush_interval);
        while stop.run_until_cancelled(sleep(pause)).await.is_some() {
            let began = Instant::now();
            self.flush().await;
            pause = self.rules.flush_interval.saturating_sub(began.elapsed());
        }
        self.end().await;
    }

    /// One flush.
    pub async fn flush(&mut self) {
        self.take_stock();
        self.write_down().await;
    }

    /// The last flush: no connection is here any more.
    pub async fn end(&mut self) {
        self.take_stock();
        for row in self.rows.values_mut() {
            row.gone_since.get_or_insert_with(Instant::now);
        }
        self.write_down().await;
        self.untold.tell(usize::MAX, &self.announcer, &self.metrics);
    }

    async fn write_down(&mut self) {
        match self.try_flush().await {
            Ok(()) => {
                if self.failing {
                    tracing::info!("presence can be written again");
                }
                self.failing = false;
                self.doubtful.drain().for_each(|user| self.untold.add_doubtful(user));
            }
            Err(error) => {
                self.metrics.write_errors.inc();
                if self.failing {
                    tracing::debug!(%error, "presence still can't be written");
                } else {
                    tracing::warn!(%error, "presence can't be written; trying again");
                }
                self.failing = true;
            }
        }
        self.untold.tell(self.rules.max_changes as usize, &self.announcer, &self.metrics);
    }

    /// Compares what is known with the connections that are here.
    fn take_stock(&mut self) {
        let mut here = HashSet::new();
        for connection in self.announcer.hub().connections() {
            let (id, Some(user)) = (connection.meta.id, connection.meta.user()) else { continue };
            if view::presence(&connection).is_some() {
                here.insert(id);
                self.rows.entry(id).or_insert_with(|| Row {
                    connection,
                    user,
                    written: Written::Never,
                    gone_since: None,
                });
            }
        }
        let (now, ttl) = (Instant::now(), self.rules.ttl);
        self.rows.retain(|id, row| {
            if !here.contains(id) {
                row.gone_since.get_or_insert(now);
            }
            // A row that could not be cleared for so long is live no more: a worker removes it.
            row.due() != Due::Nothing && row.gone_since.is_none_or(|gone| now.duration_since(gone) <= ttl)
        });
    }

    async fn try_flush(&mut self) -> Result<(), StoreError> {
        self.store.watch_presence(self.rules.ttl).await?;
        for part in self.due(Due::Refresh).chunks(BATCH) {
            let found: HashSet<_> = self.store.refresh_presence(part).await?.into_iter().collect();
            self.metrics.rows_written.inc_by(found.len() as u64);
            for missing in part.iter().filter(|connection| !found.contains(connection)) {
                if let Some(row) = self.rows.get_mut(missing) {
                    row.written = Written::Perhaps;
                }
            }
        }
        let changed = [self.due(Due::Clear), self.due(Due::Write)].concat();
        for part in changed.chunks(BATCH) {
            self.write(part).await?;
        }
        Ok(())
    }

    fn due(&self, due: Due) -> Vec<ConnectionId> {
        self.rows.iter().filter(|(_, row)| row.due() == due).map(|(id, _)| *id).collect()
    }

    async fn write(&mut self, part: &[ConnectionId]) -> Result<(), StoreError> {
        let mut batch = PresenceBatch { node: self.node, rows: Vec::new(), gone: Vec::new() };
        for id in part {
            let Some(row) = self.rows.get_mut(id) else { continue };
            match row.due() {
                Due::Write => batch.rows.push(self.rules.row(row)),
                Due::Clear => batch.gone.push((*id, row.user)),
                Due::Refresh | Due::Nothing => continue,
            }
            row.written = Written::Perhaps;
        }
        let people = batch.rows.iter().map(|row| row.user).chain(batch.gone.iter().map(|(_, user)| *user));
        let people: Vec<UserId> = people.collect();
        match self.store.write_presence(&batch, self.rules.ttl).await {
            Ok(changes) => self.untold.add(&changes),
            Err(error) => {
                self.doubtful.extend(people);
                return Err(error);
            }
        }
        self.metrics.rows_written.inc_by(batch.rows.len() as u64);
        for written in batch.rows {
            match self.rows.get_mut(&written.connection) {
                Some(row) if row.gone_since.is_none() => {
                    row.written = Written::So(Focus { room: written.focus, idle: written.idle });
                }
                _ => drop(self.rows.remove(&written.connection)),
            }
        }
        for (gone, _) in batch.gone {
            self.rows.remove(&gone);
        }
        Ok(())
    }
}

impl PresenceRules {
    fn row(&self, row: &Row) -> PresenceRow {
        let (connection, focus) = (&row.connection, row.connection.focus());
        PresenceRow {
            connection: connection.meta.id,
            user: row.user,
            device: view::device(connection),
            kind: view::kind(connection),
            idle: focus.idle,
            focus: focus.room,
            age: connection.began.elapsed(),
            resumable_for: row.gone_since.map(|gone| self.resume_window.saturating_sub(gone.elapsed())),
        }
    }
}
