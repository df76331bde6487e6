//! Writing rows of connections.

use domain::{RoomId, UserId};

use super::WRITE;
use crate::number::bigint;
use crate::presence::{PresenceBatch, PresenceRow};
use crate::sqlite::fault::Fault;
use crate::sqlite::transaction::Tx;

/// Everybody whom a batch concerns, once.
pub(super) fn people(batch: &PresenceBatch) -> Vec<UserId> {
    let gone = batch.gone.iter().map(|(_, user)| *user);
    let mut people: Vec<UserId> = batch.rows.iter().map(|row| row.user).chain(gone).collect();
    people.sort_unstable();
    people.dedup();
    people
}

pub(super) fn write(tx: &Tx<'_>, batch: &PresenceBatch) -> Result<(), Fault> {
    batch.rows.iter().try_for_each(|row| write_one(tx, batch, row))
}

fn write_one(tx: &Tx<'_>, batch: &PresenceBatch, row: &PresenceRow) -> Result<(), Fault> {
    let (device, epoch) = row.device.map(|(device, epoch)| (device.0, bigint(epoch))).unzip();
    tx.execute(
        WRITE,
        &[
            &row.connection.0,
            &batch.node.0,
            &row.user.0,
            &device,
            &epoch,
            &row.kind.as_str(),
            &row.idle,
            &row.focus.map(RoomId::uuid),
            &tx.before(row.age),
            &tx.micros(),
            &row.resumable_for.map(|duration| tx.after(duration)),
        ],
    )
    .map(drop)
}
