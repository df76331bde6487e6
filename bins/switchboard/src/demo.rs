//! The account of the demo agent, and its token, which stays the same over restarts.

use auth::{NewAgentToken, secret};
use domain::{Agent, AgentId, UserId};
use store::agents::{NewAgent, TokenStanding};
use store::{Refusal, Store, StoreError};

use crate::secret_file::SecretFile;

/// The handle of the agent.
pub(crate) const HANDLE: &str = "demo";
/// Names the call that made it.
const KEY: &str = "demo-agent";

/// The agent with a token that is good: the one in the file, or else a fresh one, which is then there. The agent is made for this owner when
/// there is none.
///
/// # Errors
///
/// In words for whoever started it: the handle is somebody else's; the database or the file can't be used.
pub(crate) async fn agent(
    store: &dyn Store,
    owner: UserId,
    kept: &SecretFile,
) -> Result<(Agent, String), String> {
    if let Some(token) = kept.read() {
        let standing = store.agent_by_token(&secret::hash(&token)).await.map_err(told)?;
        if let TokenStanding::Good(signed_in) = standing {
            return Ok((signed_in.agent, token));
        }
    }
    let token = NewAgentToken::generate().map_err(|error| error.to_string())?;
    let new = NewAgent {
        id: AgentId::new(),
        owner,
        handle: HANDLE.to_owned(),
        display_name: "Demo".to_owned(),
        max_runs: 16,
        token: token.kept,
        key: Some(KEY.to_owned()),
    };
    let (agent, is_new) = store.create_agent(&new).await.map_err(told)?;
    if !is_new {
        store.rotate_agent_token(owner, agent.id, &token.kept).await.map_err(told)?;
    }
    let token = token.secret.into_string();
    kept.write(&token).map_err(|error| format!("can't write {}: {error}", kept.path().display()))?;
    Ok((agent, token))
}

fn told(error: StoreError) -> String {
    match error {
        StoreError::Refused(Refusal::HandleTaken) => format!("the handle {HANDLE} is somebody else's"),
        StoreError::Refused(refusal) => refusal.public_message(),
        other => other.to_string(),
    }
}
