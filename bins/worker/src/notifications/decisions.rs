//! The loop that decides.

use std::sync::Arc;
use std::time::Duration;

use domain::notification::{self, Decision, Reason};
use domain::{LivePresence, NodeId, UserId};
use operations::{Error, Operations};
use push::PushSettings;
use realtime::PresenceView;
use store::StoreError;
use store::push::{Decided, Outcome, Undecided};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::is_too_old;
use super::metrics::NotificationMetrics;

/// Notifications that are decided together.
const TOGETHER: u32 = 500;
/// People who are asked about together.
const PEOPLE: u32 = 1000;

/// Decides on notifications.
pub struct Decisions {
    /// Which node this is.
    pub node: NodeId,
    /// The product.
    pub operations: Operations,
    /// Where people are.
    pub view: Arc<dyn PresenceView>,
    /// Section `push`.
    pub settings: PushSettings,
    /// Counters.
    pub metrics: NotificationMetrics,
    /// Told after each look: there may be something to push.
    pub pushes: Arc<Notify>,
}

impl Decisions {
    /// Decides until told to stop.
    pub async fn run(self, stop: CancellationToken) {
        let (new, moved) = (self.operations.notification_wake(), self.operations.people_wake());
        let mut failing = false;
        let mut swept = Instant::now();
        loop {
            let mut pause = match self.look().await {
                Ok(next) => {
                    failing = false;
                    next.map_or(self.settings.interval, |next| next.min(self.settings.interval))
                }
                Err(error) => {
                    self.failed(&error, &mut failing);
                    rand::random_range(Duration::from_millis(100)..Duration::from_millis(500))
                }
            };
            if swept.elapsed() >= self.settings.interval {
                swept = Instant::now();
                if let Err(error) = self.sweep().await {
                    self.failed(&error.into(), &mut failing);
                    pause = pause.min(Duration::from_millis(500));
                }
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = new.notified() => {}
                () = moved.notified() => {
                    if let Err(error) = self.people_moved().await {
                        // The sweep finds them.
                        self.failed(&error.into(), &mut failing);
                    }
                }
                () = sleep(pause) => {}
            }
        }
    }

    fn failed(&self, error: &Error, failing: &mut bool) {
        if *failing {
            tracing::debug!(%error, "still can't decide on notifications");
        } else {
            tracing::warn!(%error, "can't decide on notifications; trying again");
        }
        *failing = true;
    }

    /// Decides on all that is due; answers how long until the next is. Who pushes is told, unless all of it was something else.
    async fn look(&self) -> Result<Option<Duration>, Error> {
        let store = self.operations.store();
        let (mut decided, mut pushes) = (false, false);
        loop {
            let claim = Uuid::now_v7();
            let due = store.claim_undecided(claim, self.settings.lease, TOGETHER).await?;
            if due.is_empty() {
                break;
            }
            pushes |= self.decide(claim, &due).await?;
            decided = true;
        }
        // Woken without anything to decide: somebody asked for a push to try a device.
        if pushes || !decided {
            self.pushes.notify_one();
        }
        Ok(store.next_undecided().await?)
    }

    /// Whether something is to be pushed.
    async fn decide(&self, claim: Uuid, due: &[Undecided]) -> Result<bool, Error> {
        let mut people: Vec<UserId> = due.iter().map(|one| one.notification.user).collect();
        people.sort_unstable();
        people.dedup();
        let seen = self.view.of(&people).await?;
        let decided: Vec<Decided> = due
            .iter()
            .map(|one| Decided {
                notification: one.notification.id,
                waited: one.waited,
                outcome: outcome(
                    one,
                    seen.people.get(&one.notification.user).map_or(&[], Vec::as_slice),
                    seen.settles_in,
                    &self.settings,
                ),
            })
            .collect();
        let held = self.operations.decide(claim, self.node, &decided).await?;
        for one in decided.iter().filter(|one| held.contains(&one.notification)) {
            self.metrics.decided(&one.outcome);
        }
        Ok(decided.iter().any(|one| matches!(one.outcome, Outcome::Push(_))))
    }

    /// People are elsewhere than before.
    async fn people_moved(&self) -> Result<(), StoreError> {
        let people = self.operations.take_people_seen();
        for part in people.chunks(PEOPLE as usize) {
            self.operations.store().release(part).await?;
        }
        Ok(())
    }

    /// What waits for people who are no longer active is decided again, also when nobody said that they left.
    async fn sweep(&self) -> Result<(), StoreError> {
        let store = self.operations.store();
        let mut after = None;
        loop {
            let waiting = store.people_waiting(after, PEOPLE).await?;
            let Some(last) = waiting.last().copied() else { return Ok(()) };
            let seen = self.view.of(&waiting).await?;
            if seen.settles_in.is_none() {
                let active = |user: &UserId| {
                    seen.people.get(user).is_some_and(|live| live.iter().any(|connection| !connection.idle))
                };
                let left: Vec<UserId> = waiting.iter().copied().filter(|user| !active(user)).collect();
                if !left.is_empty() {
                    store.release(&left).await?;
                }
            }
            after = Some(last);
        }
    }
}

/// What becomes of a notification whose person is seen at these connections. `settles_in`: how long until it can be believed that somebody is
/// not there.
fn outcome(
    one: &Undecided,
    live: &[LivePresence],
    settles_in: Option<Duration>,
    settings: &PushSettings,
) -> Outcome {
    if is_too_old(&one.notification, settings.max_age, one.now) {
        return Outcome::Over(Reason::Expired);
    }
    let mut decision = notification::decide(&one.notification.facts, &one.preferences, live, one.now);
    if one.delay_over {
        decision = decision.after_delay();
    }
    match (decision, settles_in) {
        (Decision::Nothing(reason), _) => Outcome::Over(reason),
        // Its time has come, wherever the person is.
        (Decision::Push(reason), Some(wait)) if !one.delay_over && reason != Reason::PushDelayed => {
            Outcome::Later(wait)
        }
        (Decision::Push(reason), _) => Outcome::Push(reason),
        (Decision::Hint | Decision::Wait, _) if one.waited => Outcome::WaitsOn,
        (Decision::Hint | Decision::Wait, _) => Outcome::Waits(decision.reason(), settings.delay),
    }
}

#[cfg(test)]
mod tests;
