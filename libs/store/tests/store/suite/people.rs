//! People for the cases.

use std::time::Duration;

use domain::{Agent, AgentId, AuthSessionId, DeviceId, DeviceKind, Role, User, UserId};
use store::accounts::NewUser;
use store::agents::{AgentToken, NewAgent};
use store::devices::NewDevice;
use store::sessions::{NewSession, SecretHash};

use super::AnyStore;

pub(crate) const HOUR: Duration = Duration::from_secs(3600);

pub(crate) fn new_user(handle: &str) -> NewUser {
    NewUser {
        id: UserId::new(),
        handle: handle.into(),
        display_name: handle.to_uppercase(),
        role: Role::User,
        password_hash: format!("$argon2id$of-{handle}"),
    }
}

/// Somebody with this handle.
pub(crate) async fn person(store: &dyn AnyStore, handle: &str) -> User {
    store.create_user(&new_user(handle)).await.expect("a new person")
}

pub(crate) fn new_agent(owner: UserId, handle: &str) -> NewAgent {
    NewAgent {
        id: AgentId::new(),
        owner,
        handle: handle.into(),
        display_name: handle.to_uppercase(),
        max_runs: 4,
        token: agent_token(),
        key: None,
    }
}

/// An agent of somebody's, with this handle.
pub(crate) async fn agent(store: &dyn AnyStore, owner: UserId, handle: &str) -> Agent {
    let (agent, created) = store.create_agent(&new_agent(owner, handle)).await.expect("a new agent");
    assert!(created);
    agent
}

/// A token that nobody else has.
pub(crate) fn agent_token() -> AgentToken {
    AgentToken { id: AuthSessionId::new(), hash: secret() }
}

/// A hash that nobody else has.
pub(crate) fn secret() -> SecretHash {
    let mut hash = [0; 32];
    hash[..16].copy_from_slice(UserId::new().0.as_bytes());
    hash
}

pub(crate) fn new_session(user: UserId) -> NewSession {
    NewSession { id: AuthSessionId::new(), user, device: None, refresh: secret(), refresh_ttl: HOUR }
}

/// Signs somebody in.
pub(crate) async fn signed_in(store: &dyn AnyStore, user: UserId) -> NewSession {
    let session = new_session(user);
    store.open_session(&session).await.expect("a sign-in");
    session
}

pub(crate) fn new_device(name: &str) -> NewDevice {
    NewDevice { id: DeviceId::new(), kind: DeviceKind::Web, name: name.into() }
}
