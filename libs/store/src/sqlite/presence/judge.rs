//! How people are seen by their live rows.

use std::collections::HashMap;
use std::time::Duration;

use domain::{ConnectionId, DeviceId, LivePresence, PersonStatus, RoomId, UserId};
use uuid::Uuid;

use super::{CLEAR, LIVE, MOVE, PEOPLE, WATCHED, bare, person, user};
use crate::number::micros;
use crate::presence::PersonPresence;
use crate::sqlite::fault::Fault;
use crate::sqlite::row::Columns;
use crate::sqlite::transaction::Tx;
use crate::sqlite::value::array;

/// The live connections of people, of each device the one of the highest epoch.
pub(super) fn live(
    tx: &Tx<'_>,
    people: &[UserId],
    ttl: Duration,
) -> Result<HashMap<UserId, Vec<LivePresence>>, Fault> {
    let mut live: HashMap<UserId, Vec<LivePresence>> = HashMap::new();
    let rows = tx.rows(LIVE, &[&bare(people), &tx.before(ttl), &tx.micros()], |row| {
        let connection = LivePresence {
            connection: ConnectionId(row.value("connection_id")?),
            device: row.value::<Option<Uuid>>("device_id")?.map(DeviceId),
            kind: row.named("device_kind")?,
            idle: row.value("idle")?,
            focus: row.value::<Option<Uuid>>("focused_room_id")?.map(RoomId),
        };
        Ok((user(row)?, connection))
    })?;
    for (user, connection) in rows {
        live.entry(user).or_default().push(connection);
    }
    Ok(live)
}

/// How long until the table is settled; none when it is.
pub(super) fn settles_in(tx: &Tx<'_>, ttl: Duration) -> Result<Option<Duration>, Fault> {
    let watched =
        tx.row(WATCHED, &[], |row| Ok((row.value::<i64>("since")?, row.value::<i64>("watched_at")?)))?;
    let left = match watched {
        Some((since, watched_at)) if watched_at > tx.before(ttl / 2) => since - tx.before(ttl),
        // Nobody looks after it, or it was emptied a moment ago.
        _ => micros(ttl),
    };
    Ok(u64::try_from(left).ok().filter(|left| *left > 0).map(Duration::from_micros))
}

/// Removes rows of people: those of connections that are gone, those that are live no more, and those of devices that have a row of a
/// higher epoch. A row that counted for nothing in a judgement is gone with it: a late refresh finds it missing, and its node writes it
/// anew, which is judged again. How many that were.
pub(super) fn clear(
    tx: &Tx<'_>,
    people: &[UserId],
    gone: &[ConnectionId],
    ttl: Duration,
) -> Result<u64, Fault> {
    if people.is_empty() {
        return Ok(0);
    }
    let gone = array(gone.iter().map(|connection| connection.0));
    Ok(tx.execute(CLEAR, &[&bare(people), &gone, &tx.before(ttl), &tx.micros()])? as u64)
}

/// Of these people those who are noted otherwise than their live rows say.
pub(super) fn differing(tx: &Tx<'_>, people: &[UserId], ttl: Duration) -> Result<Vec<UserId>, Fault> {
    let (live, noted) = (live(tx, people, ttl)?, noted(tx, people)?);
    let noted: HashMap<UserId, PersonStatus> =
        noted.into_iter().map(|noted| (noted.user, noted.status)).collect();
    let differs =
        |user: &UserId| noted.get(user).copied().unwrap_or(PersonStatus::Offline) != seen(&live, *user);
    Ok(people.iter().copied().filter(differs).collect())
}

/// Notes how people are seen now by their live rows, and gives those for whom that is a change. While the table is not settled rows may be
/// missing, so nobody is noted as less than they were.
pub(super) fn judge(tx: &Tx<'_>, people: &[UserId], ttl: Duration) -> Result<Vec<PersonPresence>, Fault> {
    if people.is_empty() {
        return Ok(Vec::new());
    }
    let (live, may_fall) = (live(tx, people, ttl)?, settles_in(tx, ttl)?.is_none());
    let mut changes = Vec::new();
    for noted in noted(tx, people)? {
        let status = seen(&live, noted.user);
        let (now, before) = (rank(status), rank(noted.status));
        if now > before || (now < before && may_fall) {
            changes.extend(tx.row(MOVE, &[&noted.user.0, &status.as_str()], person)?);
        }
    }
    Ok(changes)
}

fn noted(tx: &Tx<'_>, people: &[UserId]) -> Result<Vec<PersonPresence>, Fault> {
    tx.rows(PEOPLE, &[&bare(people)], person)
}

fn seen(live: &HashMap<UserId, Vec<LivePresence>>, user: UserId) -> PersonStatus {
    PersonStatus::of(live.get(&user).into_iter().flatten())
}

const fn rank(status: PersonStatus) -> u8 {
    match status {
        PersonStatus::Offline => 0,
        PersonStatus::Idle => 1,
        PersonStatus::Online => 2,
    }
}
