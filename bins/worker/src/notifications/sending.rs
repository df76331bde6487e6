//! One claimed device: what is still wanted of what waits for it, and the push.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use domain::notification::{self, Decision, Reason};
use domain::{DeviceId, LivePresence, NotificationKind};
use push::{Driver, Message, Outcome, PushSettings, Subscription, Target, Topic, Urgency, Verdict};
use store::notifications::Notification;
use store::push::{ClaimedDevice, DeviceAfter, FinishedDevice, PushAddress, PushStep};
use tokio::time::{Instant, timeout_at};
use tracing::{Instrument as _, Span};
use uuid::Uuid;

use super::is_too_old;
use super::metrics::NotificationMetrics;
use super::payload::{self, Detail};

/// The first pause after a failure; each further one doubles it.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause that we choose.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);
/// The shortest one when we are not let in: somebody has to do something.
const DENIED_PAUSE: Duration = Duration::from_secs(60);

/// What is needed to send.
pub(super) struct Sender {
    driver: Arc<dyn Driver>,
    settings: PushSettings,
    metrics: NotificationMetrics,
    /// We are not let in somewhere, which was said.
    denied: AtomicBool,
}

impl Sender {
    pub(super) fn new(driver: Arc<dyn Driver>, settings: PushSettings, metrics: NotificationMetrics) -> Self {
        Self { driver, settings, metrics, denied: AtomicBool::new(false) }
    }

    /// Sends the push of a claimed device, or the one that its owner asked for to try it. `live` are the person's connections now.
    /// Nothing is sent after the deadline: it could come beside the attempt of who takes over.
    pub(super) async fn send(
        &self,
        claim: Uuid,
        device: ClaimedDevice,
        live: &[LivePresence],
        deadline: Instant,
    ) -> FinishedDevice {
        let mut finished = FinishedDevice {
            claim,
            device: device.device,
            tested: device.is_test,
            steps: Vec::new(),
            after: DeviceAfter::Free { result: None },
        };
        if device.is_test {
            let verdict = self.attempt(&device, &self.test(&device), deadline).await;
            finished.after = after(&verdict, device.failures);
            return finished;
        }
        let (kept, dropped) = self.still_wanted(&device, live);
        finished.steps = dropped;
        if !kept.is_empty() {
            let verdict = self.push(&device, &kept, deadline).await;
            finished.steps.extend(steps(&verdict, &kept));
            finished.after = after(&verdict, device.failures);
        }
        finished
    }

    /// What is still wanted of what waits, and what is told of the rest.
    fn still_wanted<'a>(
        &self,
        device: &'a ClaimedDevice,
        live: &[LivePresence],
    ) -> (Vec<&'a Notification>, Vec<PushStep>) {
        let (mut kept, mut dropped) = (Vec::new(), Vec::new());
        for (notification, _) in &device.waiting {
            let decision = notification::decide(&notification.facts, &device.preferences, live, device.now);
            let reason = match decision {
                Decision::Nothing(reason) => Some(reason),
                _ if is_too_old(notification, self.settings.max_age, device.now) => Some(Reason::Expired),
                Decision::Hint | Decision::Wait | Decision::Push(_) => None,
            };
            match reason {
                None => kept.push(notification),
                Some(reason) => dropped.push(over(notification, "dropped", Some(reason.as_str()), None)),
            }
        }
        (kept, dropped)
    }

    /// Sends; what is too long for the push service is sent again, shorter.
    async fn push(&self, device: &ClaimedDevice, kept: &[&Notification], deadline: Instant) -> Verdict {
        let previews = device.preferences.previews;
        let mut detail = Detail::Full;
        loop {
            let fits = payload::of(kept, device.unread, previews, detail, self.settings.max_payload_bytes);
            let Some((payload, told)) = fits else { return too_large() };
            let verdict = self.attempt(device, &self.message(device, kept, payload), deadline).await;
            match (verdict.outcome, told.shorter()) {
                (Outcome::TooLarge, Some(shorter)) => detail = shorter,
                _ => return verdict,
            }
        }
    }

    async fn attempt(&self, device: &ClaimedDevice, message: &Message, deadline: Instant) -> Verdict {
        let began = Instant::now();
        if began >= deadline {
            // This process stood still: somebody else has the device by now.
            return too_late();
        }
        let (target, span) = (target(device.device, &device.address), span(device));
        let sent = timeout_at(deadline, self.driver.send(&target, message).instrument(span.clone())).await;
        let verdict = sent.unwrap_or_else(|_| too_late());
        let outcome = verdict.outcome;
        tracing::record_all!(span, outcome = outcome.as_str(), failed = outcome != Outcome::Sent);
        self.metrics.sent(verdict.outcome, began.elapsed().as_secs_f64());
        self.alert(device.device, &verdict);
        verdict
    }

    /// Says once that a push service does not let us in, until one does.
    fn alert(&self, device: DeviceId, verdict: &Verdict) {
        match verdict.outcome {
            Outcome::Denied if !self.denied.swap(true, Ordering::Relaxed) => tracing::error!(
                %device,
                reason = verdict.reason,
                "a push service does not let us in: see push.contact and the key in push.vapid_key_dir; subscriptions are kept"
            ),
            Outcome::Denied => tracing::debug!(%device, reason = verdict.reason, "still not let in"),
            Outcome::Sent => self.denied.store(false, Ordering::Relaxed),
            _ => {}
        }
    }

    fn message(&self, device: &ClaimedDevice, kept: &[&Notification], payload: String) -> Message {
        let newest = kept.last();
        let quiet = newest.is_some_and(|newest| newest.facts.kind == NotificationKind::RunFinished);
        Message {
            id: newest.map_or(device.device.0, |newest| id(newest, device.device)),
            payload,
            topic: newest.map(|newest| Topic::of_room(newest.facts.room)),
            urgency: if quiet { Urgency::Normal } else { Urgency::High },
            ttl: self.settings.ttl,
            sent_at: device.now,
        }
    }

    fn test(&self, device: &ClaimedDevice) -> Message {
        Message { id: Uuid::now_v7(), ..self.message(device, &[], payload::test()) }
    }
}

/// An attempt belongs to the trace of what it tells of.
fn span(device: &ClaimedDevice) -> Span {
    let make = || {
        tracing::info_span!(
            target: trace::CLIENT,
            "push",
            device = %device.device,
            notifications = device.waiting.len(),
            test = device.is_test,
            outcome = tracing::field::Empty,
            failed = tracing::field::Empty
        )
    };
    match &device.trace {
        Some(trace) => trace::below(trace, [], make),
        None => make(),
    }
}

/// The same in each attempt, another for each device.
fn id(notification: &Notification, device: DeviceId) -> Uuid {
    Uuid::from_u128(notification.id.0.as_u128() ^ device.0.as_u128())
}

fn too_late() -> Verdict {
    Verdict {
        outcome: Outcome::Later { after: None },
        status: None,
        reason: "a worker may not have it for longer".to_owned(),
    }
}

fn too_large() -> Verdict {
    Verdict { outcome: Outcome::TooLarge, status: None, reason: "does not fit however short".to_owned() }
}

fn target(device: DeviceId, address: &PushAddress) -> Target {
    match address {
        PushAddress::WebPush { endpoint, p256dh, auth } => Target::WebPush(Subscription {
            endpoint: endpoint.clone(),
            p256dh: p256dh.clone(),
            auth: auth.clone(),
        }),
        PushAddress::Webhook { token } => {
            Target::Webhook { device, token: push::target::Token(token.clone()) }
        }
    }
}

fn over(
    notification: &Notification,
    step: &'static str,
    reason: Option<&str>,
    detail: Option<&str>,
) -> PushStep {
    PushStep {
        notification: notification.id,
        step,
        reason: reason.map(str::to_owned),
        detail: detail.map(str::to_owned),
        is_over: true,
    }
}

/// What is told of notifications that were in a push.
fn steps(verdict: &Verdict, kept: &[&Notification]) -> Vec<PushStep> {
    let detail = Some(&*verdict.reason);
    let step = |notification: &&Notification| match verdict.outcome {
        Outcome::Sent => Some(over(notification, "sent", None, detail)),
        Outcome::TooLarge | Outcome::Refused => {
            Some(over(notification, "dropped", Some(verdict.outcome.as_str()), detail))
        }
        Outcome::Later { .. } | Outcome::Denied => {
            let reason = Some(verdict.outcome.as_str());
            Some(PushStep { is_over: false, ..over(notification, "retried", reason, detail) })
        }
        // Told with all else that waits for the device.
        Outcome::Gone => None,
    };
    kept.iter().filter_map(step).collect()
}

/// What becomes of the device.
fn after(verdict: &Verdict, failures: u32) -> DeviceAfter {
    let result = format!("{}: {}", verdict.outcome.as_str(), verdict.reason);
    match verdict.outcome {
        Outcome::Sent | Outcome::TooLarge | Outcome::Refused => DeviceAfter::Free { result: Some(result) },
        Outcome::Gone => DeviceAfter::Gone,
        Outcome::Later { after: Some(pause) } => DeviceAfter::Rests { pause, result },
        Outcome::Later { after: None } => DeviceAfter::Rests { pause: backoff(failures), result },
        Outcome::Denied => DeviceAfter::Rests { pause: backoff(failures).max(DENIED_PAUSE), result },
    }
}

/// Twice as long with each failure, and never at the same time as others.
fn backoff(failures: u32) -> Duration {
    let longest = FIRST_PAUSE.saturating_mul(1 << failures.min(16)).min(LONGEST_PAUSE);
    rand::random_range(longest / 2..=longest)
}

#[cfg(test)]
mod tests;
