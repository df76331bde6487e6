//! Creating a room.
//!
//! The inboxes of all members are locked first, so calls that share one come one after the other, and the second finds what
//! the first made. Where they share none (the same id or key from elsewhere) the unique indexes decide,
//! and the loser begins anew.

use domain::{Event, Principal, RoomId};
use tokio_postgres::Row;
use uuid::Uuid;

use super::{CREATE, ENABLED, JOIN, RECALL, REMEMBER, ids_and_kinds, streams};
use crate::postgres::Postgres;
use crate::postgres::append::{self, Append};
use crate::postgres::row::{self, Columns};
use crate::postgres::sqlstate::Fault;
use crate::rooms::rules::{Before, Plan, Recalled, joining};
use crate::rooms::{NewRoom, RoomCreated};

/// Looks, under the lock, for what was there before and at the members.
fn judge(plan: &Plan<'_>, rows: &[Row], enabled: &[Row]) -> Result<Before, Fault> {
    let enabled: Vec<Principal> =
        enabled.iter().map(|row| row::principal(row, "kind", "id")).collect::<Result<_, Fault>>()?;
    Ok(plan.judge(&recalled(rows)?, &enabled)?)
}

fn recalled(rows: &[Row]) -> Result<Recalled, Fault> {
    let row = rows.first().ok_or_else(|| Fault::internal("rooms/recall gave no row"))?;
    let subject: Option<String> = row.value("subject")?;
    let created: Option<Uuid> = row.value("created_id")?;
    Ok(Recalled {
        used: subject.zip(created.map(RoomId)),
        repeated: row.value::<Option<Uuid>>("repeated")?.map(RoomId),
        dm: row.value::<Option<Uuid>>("dm")?.map(RoomId),
    })
}

impl Postgres {
    pub(super) async fn try_create_room(&self, plan: &Plan<'_>) -> Result<RoomCreated, Fault> {
        let (room, creator) = (plan.room.id.0, plan.room.creator.0);
        let (ids, kinds) = ids_and_kinds(plan.members.iter().copied());
        let session = self.session().await?;
        let (transaction, [_, recalled, enabled]) = session
            .begin([
                (append::LOCK, &[&streams(None, &plan.members)]),
                (RECALL, &[&creator, &plan.room.key, &room, &plan.pair]),
                (ENABLED, &[&ids, &kinds]),
            ])
            .await?;
        let (transaction, before) = transaction.decided(judge(plan, &recalled, &enabled)).await?;
        let there_before = |room| RoomCreated { room, created: false, events: Vec::new() };
        match before {
            Before::Nothing => {}
            Before::Made(room) => {
                transaction.rollback().await;
                return Ok(there_before(room));
            }
            Before::Dm(room) => {
                transaction.commit([(REMEMBER, &[&creator, &plan.room.key, &room.0])]).await?;
                return Ok(there_before(room));
            }
        }
        let [created, taken] = transaction
            .run([
                (CREATE, &[&room, &plan.room.kind.as_str(), &plan.name(), &plan.pair, &creator]),
                (REMEMBER, &[&creator, &plan.room.key, &room]),
            ])
            .await?;
        let first = if created.is_empty() || !taken.is_empty() {
            Err(Fault::Contended("another call created it first".into()))
        } else {
            Ok(())
        };
        let (transaction, ()) = transaction.decided(first).await?;
        let events = transaction.join(plan).await?;
        Ok(RoomCreated { room: plan.room.id, created: true, events })
    }
}

impl crate::postgres::transaction::Transaction<'_> {
    async fn join(self, plan: &Plan<'_>) -> Result<Vec<Event>, Fault> {
        let roles = plan.roles();
        let names: Vec<&str> = roles.iter().map(|(_, role)| role.as_str()).collect();
        let (ids, kinds) = ids_and_kinds(plan.members.iter().copied());
        let nothing_read = vec![0_i64; ids.len()];
        let NewRoom { id, kind, creator, .. } = plan.room;
        let drafts = joining(*creator, *id, *kind, plan.name(), 0, &roles);
        let append = Append::new(&drafts);
        let [_, rows] = self
            .commit([
                (JOIN, &[&id.0, &ids, &kinds, &names, &nothing_read]),
                (append::APPEND, &append.params()),
            ])
            .await?;
        append.events(&rows)
    }
}
