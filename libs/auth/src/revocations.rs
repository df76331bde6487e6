//! Sign-ins that have ended, kept by each node so that their access tokens are refused at once.
//!
//! An access token is good by its signature alone, for `auth.access_ttl`. A sign-in that ends in the
//! meantime is known here by two ways: a notification (`session.revoked`, see [`Revocations::insert`]) and, for those that
//! got lost, a question to the store every `auth.revocation_interval`, and once this node hears notifications again
//! ([`Revocations::refresh`]). An entry is forgotten
//! when the last token of its sign-in is past its time.
//!
//! The set is bounded. When it overflows, or as long as the store could not be asked for the first
//! time, the node does not guess: [`Standing::Unknown`] tells the caller to ask the store about this one.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use domain::AuthSessionId;
use jiff::Timestamp;
use parking_lot::Mutex;
use store::{Sessions, StoreError};
use tokio::sync::Notify;
use tokio::time::Instant;

/// What a node knows of a sign-in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It has not ended, as far as anybody could have told us.
    Live,
    /// It has ended.
    Ended,
    /// This node does not know: ask the store.
    Unknown,
}

/// Ended sign-ins.
#[derive(Debug)]
pub struct Revocations {
    keep: Duration,
    capacity: usize,
    state: Mutex<State>,
    asked_for: Notify,
}

#[derive(Debug, Default)]
struct State {
    ended: HashMap<AuthSessionId, Instant>,
    by_age: VecDeque<(Instant, AuthSessionId)>,
    asked_until: Option<Timestamp>,
    // Entries were dropped: until then the set is not complete.
    incomplete_until: Option<Instant>,
}

impl Revocations {
    /// `keep`: how long an access token can outlive its sign-in; `capacity`: entries at most.
    #[must_use]
    pub fn new(keep: Duration, capacity: usize) -> Self {
        Self { keep, capacity, state: Mutex::default(), asked_for: Notify::new() }
    }

    /// What this node knows of a sign-in.
    #[must_use]
    pub fn standing(&self, session: AuthSessionId) -> Standing {
        let state = self.state.lock();
        if state.ended.contains_key(&session) {
            Standing::Ended
        } else if state.asked_until.is_none()
            || state.incomplete_until.is_some_and(|until| Instant::now() < until)
        {
            Standing::Unknown
        } else {
            Standing::Live
        }
    }

    /// Whether a sign-in is known to have ended.
    #[must_use]
    pub fn is_ended(&self, session: AuthSessionId) -> bool {
        self.standing(session) == Standing::Ended
    }

    /// Notes that a sign-in has ended; true when that is news.
    pub fn insert(&self, session: AuthSessionId) -> bool {
        self.note(&mut self.state.lock(), session, Instant::now())
    }

    /// Asks the store what has ended since the last time, and gives back what is news to this node.
    ///
    /// # Errors
    ///
    /// Those of the store; what is known stays.
    pub async fn refresh(
        &self,
        store: &(dyn Sessions + Send + Sync),
    ) -> Result<Vec<AuthSessionId>, StoreError> {
        let since = self.state.lock().asked_until;
        let (mut ended, asked_until) = store.sessions_ended_since(since).await?;
        let now = Instant::now();
        let mut state = self.state.lock();
        ended.retain(|session| self.note(&mut state, *session, now));
        state.asked_until = state.asked_until.max(Some(asked_until));
        Ok(ended)
    }

    /// Asks for the next question to be put now: notifications may have been missed.
    pub fn ask_soon(&self) {
        self.asked_for.notify_one();
    }

    /// Waits until somebody asks for that; nothing is lost between two waits.
    pub(crate) async fn asked_for(&self) {
        self.asked_for.notified().await;
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.state.lock().ended.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn note(&self, state: &mut State, session: AuthSessionId, now: Instant) -> bool {
        while state.by_age.front().is_some_and(|(noted, _)| now.duration_since(*noted) > self.keep) {
            state.forget_oldest();
        }
        if state.ended.contains_key(&session) {
            return false;
        }
        while !state.by_age.is_empty() && state.ended.len() >= self.capacity {
            state.forget_oldest();
            state.incomplete_until = Some(now + self.keep);
        }
        state.ended.insert(session, now);
        state.by_age.push_back((now, session));
        true
    }
}

impl State {
    fn forget_oldest(&mut self) {
        if let Some((_, session)) = self.by_age.pop_front() {
            self.ended.remove(&session);
        }
    }
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use domain::{Device, UserId};
    use store::sessions::{EndedSession, NewSession, Rotation, SecretHash};

    use super::*;

    const KEEP: Duration = Duration::from_secs(900);

    /// Knows which sign-ins ended, and what it was asked.
    #[derive(Default)]
    struct Fake {
        ended: Mutex<Vec<(Timestamp, AuthSessionId)>>,
        asked: Mutex<Vec<Option<Timestamp>>>,
        now: Mutex<Timestamp>,
    }

    #[async_trait]
    impl Sessions for Fake {
        async fn open_session(&self, _: &NewSession) -> Result<Option<Device>, StoreError> {
            unreachable!("not asked here")
        }
        async fn rotate_refresh(
            &self,
            _: &SecretHash,
            _: &SecretHash,
            _: Duration,
        ) -> Result<Rotation, StoreError> {
            unreachable!("not asked here")
        }
        async fn end_session(&self, _: UserId, _: AuthSessionId) -> Result<EndedSession, StoreError> {
            unreachable!("not asked here")
        }
        async fn sessions_ended_since(
            &self,
            since: Option<Timestamp>,
        ) -> Result<(Vec<AuthSessionId>, Timestamp), StoreError> {
            self.asked.lock().push(since);
            let ended = self.ended.lock();
            let found = ended.iter().filter(|(at, _)| since.is_none_or(|since| *at >= since));
            Ok((found.map(|(_, session)| *session).collect(), *self.now.lock()))
        }
        async fn not_live(&self, _: &[AuthSessionId]) -> Result<Vec<AuthSessionId>, StoreError> {
            unreachable!("not asked here")
        }
    }

    #[tokio::test]
    async fn before_the_first_answer_a_node_knows_nothing() {
        let revocations = Revocations::new(KEEP, 10);
        let session = AuthSessionId::new();
        assert_eq!(revocations.standing(session), Standing::Unknown);
        revocations.refresh(&Fake::default()).await.expect("fake");
        assert_eq!(revocations.standing(session), Standing::Live);
        assert!(revocations.insert(session) && !revocations.insert(session));
        assert_eq!(revocations.standing(session), Standing::Ended);
    }

    #[tokio::test]
    async fn an_end_that_is_told_twice_is_news_once() {
        let (fake, revocations) = (Fake::default(), Revocations::new(KEEP, 10));
        *fake.now.lock() = Timestamp::from_second(1000).expect("time");
        assert!(revocations.refresh(&fake).await.expect("fake").is_empty());
        // The store tells ends more than once, so that none that commits late is missed.
        let session = AuthSessionId::new();
        fake.ended.lock().push((Timestamp::from_second(1000).expect("time"), session));
        assert_eq!(revocations.refresh(&fake).await.expect("fake"), [session]);
        assert!(revocations.refresh(&fake).await.expect("fake").is_empty(), "no news twice");
        assert!(revocations.is_ended(session));
        let asked_until = Some(Timestamp::from_second(1000).expect("time"));
        assert_eq!(*fake.asked.lock(), [None, asked_until, asked_until]);
    }

    #[tokio::test(start_paused = true)]
    async fn entries_go_when_the_last_token_is_past_its_time() {
        let revocations = Revocations::new(KEEP, 10);
        let first = AuthSessionId::new();
        revocations.insert(first);
        tokio::time::advance(KEEP).await;
        revocations.insert(AuthSessionId::new());
        assert!(revocations.is_ended(first));
        tokio::time::advance(Duration::from_secs(1)).await;
        revocations.insert(AuthSessionId::new());
        assert!(!revocations.is_ended(first) && revocations.len() == 2);
    }

    #[tokio::test(start_paused = true)]
    async fn an_overflow_is_never_taken_for_live() {
        let (fake, revocations) = (Fake::default(), Revocations::new(KEEP, 2));
        revocations.refresh(&fake).await.expect("fake");
        let sessions: Vec<_> = (0..3).map(|_| AuthSessionId::new()).collect();
        for session in &sessions {
            revocations.insert(*session);
        }
        assert_eq!(revocations.len(), 2);
        assert_eq!(revocations.standing(sessions[0]), Standing::Unknown);
        assert_eq!(revocations.standing(sessions[2]), Standing::Ended);
        tokio::time::advance(KEEP).await;
        assert_eq!(revocations.standing(sessions[0]), Standing::Live, "its tokens are past their time");
    }
}
