//! Asking for runs, alone or by a message.

use domain::{EventId, Principal, RunId};
use uuid::Uuid;

use super::moves::offer;
use super::read::{is_member, the_run};
use super::{CREATE, HOPS, KNOWN};
use crate::messages::NewMessage;
use crate::runs::rules::{Asked, LATELY, Made, Verdict, copy};
use crate::runs::{NewRun, Requested, RunCreated};
use crate::sqlite::append::{append, append_all};
use crate::sqlite::fault::Fault;
use crate::sqlite::messages;
use crate::sqlite::row::Columns;
use crate::sqlite::transaction::Tx;

/// Makes a run.
pub(in crate::sqlite) fn create_run(tx: &Tx<'_>, run: &NewRun) -> Result<RunCreated, Fault> {
    let hops = match asked(tx, run)?.verdict(run) {
        Verdict::New(hops) => hops,
        Verdict::Known(known) => {
            return Ok(RunCreated { run: the_run(tx, known)?, created: false, events: Vec::new() });
        }
        Verdict::Refused(refusal) => return Err(refusal.into()),
    };
    let made = make(tx, &[(run, hops)], None)?;
    let events = append(tx, &made.drafts(|_| None))?;
    Ok(RunCreated { run: the_run(tx, run.id)?, created: true, events })
}

/// Appends a message with the runs that it asks for.
pub(in crate::sqlite) fn append_request(
    tx: &Tx<'_>,
    message: &NewMessage,
    runs: &[NewRun],
) -> Result<Requested, Fault> {
    let outcome = messages::append(tx, std::slice::from_ref(message))?.pop();
    let mut appended = outcome.ok_or_else(|| Fault::internal("a message without an outcome"))??;
    let mut events = std::mem::take(&mut appended.notified);
    let mut outcome = Requested { appended, events: Vec::new(), runs: Vec::new(), refused: Vec::new() };
    if !outcome.appended.fresh {
        return Ok(outcome);
    }
    // All are judged before any is made, as what was asked for at once.
    let mut fresh = Vec::new();
    for run in runs {
        match asked(tx, run)?.verdict(run) {
            Verdict::New(hops) => fresh.push((run, hops)),
            Verdict::Known(_) => {}
            Verdict::Refused(refusal) => outcome.refused.push((run.agent, refusal)),
        }
    }
    let made = make(tx, &fresh, Some(message.id))?;
    outcome.runs = made.runs.iter().map(|run| run.id).collect();
    let event = outcome.appended.event.clone();
    let drafts = made.drafts(|run| Some(copy(&event, run.agent)));
    outcome.events.push(event);
    outcome.events.append(&mut events);
    outcome.events.extend(append_all(tx, &drafts)?);
    Ok(outcome)
}

fn asked(tx: &Tx<'_>, run: &NewRun) -> Result<Asked, Fault> {
    let NewRun { id, room, agent, requester, cause, .. } = run;
    let hops = match requester {
        Principal::User(_) => None,
        Principal::Agent(asks) => {
            tx.row(HOPS, &[&room.0, &asks.0, &tx.before(LATELY)], |row| row.value("hops"))?
        }
    };
    let known =
        tx.row(KNOWN, &[&id.0, &room.0, &agent.0, &requester.kind(), &requester.id(), cause], |row| {
            Ok((RunId(row.value("id")?), row.value("same")?))
        })?;
    Ok(Asked {
        requester_in: is_member(tx, *room, *requester)?,
        agent_in: is_member(tx, *room, (*agent).into())?,
        hops: hops.unwrap_or_default(),
        known: known.map(|(known, _)| known),
        same: known.is_some_and(|(_, same)| same),
    })
}

/// Makes runs, so far along their chains, that a message asks for, and gives them the places that are free. Of two with one cause
/// the first is made.
fn make<'a>(tx: &Tx<'_>, runs: &[(&'a NewRun, i32)], message: Option<EventId>) -> Result<Made<'a>, Fault> {
    let message = message.map(Uuid::from);
    let mut made = Made::default();
    for (run, hops) in runs {
        let NewRun { id, room, agent, requester, cause, input, .. } = *run;
        let created = tx.execute(
            CREATE,
            &[
                &id.0,
                &room.0,
                &agent.0,
                &requester.kind(),
                &requester.id(),
                cause,
                input,
                hops,
                &message,
                &tx.micros(),
            ],
        )?;
        if created > 0 {
            made.runs.push(*run);
        }
    }
    made.requested = offer(tx, runs.iter().map(|(run, _)| run.agent))?;
    Ok(made)
}
