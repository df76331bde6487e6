//! The [`Runs`] of SQLite.
//!
//! Whoever makes, moves or ends a run counts the places of its agent and offers the next ones in the same job, so they are counted exactly
//! and offered in their order. Where a run may go from where it stands is said by `domain::run`.

use std::time::Duration;

use async_trait::async_trait;
use domain::{Event, Principal, RoomId, RunId, SlotSessionId, UserId};
use uuid::Uuid;

use super::Sqlite;
use super::row::Columns;
use super::statement::statements;
use crate::error::StoreError;
use crate::messages::NewMessage;
use crate::runs::rules::finish_status;
use crate::runs::{
    FinishRun, Known, NewRun, OpenRun, Patch, PatchOutcome, Requested, RescueRules, Rescued, Run, RunCreated,
    RunUpdate, Runs, Started,
};

mod cancel;
mod create;
mod finish;
pub(super) mod moves;
mod patches;
pub(super) mod read;
mod rescue;
mod start;
mod updates;

pub(super) use cancel::{cancel, end_runs};
pub(super) use create::{append_request, create_run};
pub(super) use moves::offer;

statements! {
    STAND = "runs/stand";
    MOVE = "runs/move";
    PLACES = "runs/places";
    NEXT = "runs/next";
    OFFER = "runs/offer";
    REQUEST = "runs/request";
    TRANSFER = "runs/transfer";
    LEASE = "runs/lease";
    EMPTIED = "runs/emptied";
    MEMBER = "runs/member";
    HOPS = "runs/hops";
    KNOWN = "runs/known";
    CREATE = "runs/create";
    STARTABLE = "runs/startable";
    START = "runs/start";
    HOLDS = "runs/holds";
    HAS_PATCH = "runs/has_patch";
    SAME_PATCH = "runs/same_patch";
    PATCH = "runs/patch";
    ADD_PATCH = "runs/add_patch";
    DROP_PATCHES = "runs/drop_patches";
    FINISH = "runs/finish";
    OWN = "runs/own";
    OF_AGENT = "runs/of_agent";
    MAY_CANCEL = "runs/may_cancel";
    ASK_TO_STOP = "runs/ask_to_stop";
    STALLED = "runs/stalled";
    READ = "runs/read";
    LIST = "runs/list";
    HELD = "runs/held";
    OPEN = "runs/open";
    UPDATE = "runs/update";
    DOC = "runs/doc";
    PATCHES = "runs/patches";
}

#[async_trait]
impl Runs for Sqlite {
    async fn create_run(&self, run: &NewRun) -> Result<RunCreated, StoreError> {
        let run = run.clone();
        self.write(move |tx| create_run(tx, &run)).await
    }

    async fn append_request(&self, message: &NewMessage, runs: &[NewRun]) -> Result<Requested, StoreError> {
        let (message, runs) = (message.clone(), runs.to_vec());
        self.write(move |tx| append_request(tx, &message, &runs)).await
    }

    async fn run(&self, reader: Principal, run: RunId) -> Result<Option<Run>, StoreError> {
        self.read(move |tx| {
            let Some(found) = tx.row(READ, &[&run.0], |row| read::run(row, tx.now()))? else {
                return Ok(None);
            };
            Ok(read::is_member(tx, found.room, reader)?.then_some(found))
        })
        .await
    }

    async fn runs_of_room(
        &self,
        reader: Principal,
        room: RoomId,
        before: Option<RunId>,
        limit: u32,
    ) -> Result<Option<Vec<Run>>, StoreError> {
        let before = before.map_or(Uuid::max(), Uuid::from);
        self.read(move |tx| {
            if !read::is_member(tx, room, reader)? {
                return Ok(None);
            }
            tx.rows(LIST, &[&room.0, &before, &limit], |row| read::run(row, tx.now())).map(Some)
        })
        .await
    }

    async fn start_run(
        &self,
        session: SlotSessionId,
        run: RunId,
        lease: Duration,
    ) -> Result<Started, StoreError> {
        self.write(move |tx| start::start(tx, session, run, lease)).await
    }

    async fn write_patches(&self, patches: &[Patch]) -> Result<Vec<PatchOutcome>, StoreError> {
        if patches.is_empty() {
            return Ok(Vec::new());
        }
        let patches = patches.to_vec();
        self.write(move |tx| patches.iter().map(|patch| patches::flush(tx, patch)).collect()).await
    }

    async fn finish_run(&self, finish: &FinishRun) -> Result<(Run, Vec<Event>), StoreError> {
        let (finish, status) = (finish.clone(), finish_status(finish.status)?);
        self.write(move |tx| finish::finish(tx, &finish, status)).await
    }

    async fn cancel_run(&self, actor: Principal, run: RunId) -> Result<(Run, Vec<Event>), StoreError> {
        self.write(move |tx| cancel(tx, actor, run)).await
    }

    async fn open_runs(&self, user: UserId) -> Result<Vec<OpenRun>, StoreError> {
        self.read(move |tx| {
            tx.rows(OPEN, &[&user.0], |row| {
                Ok(OpenRun { run: RunId(row.value("id")?), room: RoomId(row.value("room_id")?) })
            })
        })
        .await
    }

    async fn held_runs(&self, session: SlotSessionId) -> Result<Vec<Run>, StoreError> {
        self.read(move |tx| tx.rows(HELD, &[&session.0], |row| read::run(row, tx.now()))).await
    }

    async fn run_updates(&self, known: &[Known]) -> Result<Vec<RunUpdate>, StoreError> {
        let known = known.to_vec();
        self.read(move |tx| {
            known.iter().filter_map(|known| updates::update(tx, *known).transpose()).collect()
        })
        .await
    }

    async fn rescue_runs(&self, rules: &RescueRules, limit: u32) -> Result<Rescued, StoreError> {
        self.rescue(rules, limit).await
    }
}
