//! The [`Agents`] of SQLite.

use async_trait::async_trait;
use domain::{Agent, AgentId, AuthSessionId, Event, Principal, Sender, UserId};
use rusqlite::Row;
use uuid::Uuid;

use super::Sqlite;
use super::append::append_all;
use super::fault::Fault;
use super::row::{self, Columns};
use super::runs::{end_runs, offer};
use super::statement::statements;
use super::transaction::Tx;
use super::value::array;
use crate::agents::judge::{Before, Judged, NO_AGENT, max_runs};
use crate::agents::{AgentSettings, AgentToken, Agents, NewAgent, SignedInAgent, TokenStanding};
use crate::error::StoreError;

statements! {
    CREATE = "agents/create";
    REMEMBER = "agents/remember";
    RESERVE = "agents/reserve";
    OPEN_INBOX = "agents/open_inbox";
    RECALL = "agents/recall";
    AGENT = "agents/agent";
    LIST = "agents/list";
    BY_TOKEN = "agents/by_token";
    JUDGE = "agents/judge";
    ROTATE = "agents/rotate";
    SET = "agents/set";
    REVOKE = "agents/revoke";
    ENDED_TOKENS = "agents/ended_tokens";
    TOKENS_OF = "agents/tokens_of";
    PRINCIPALS = "agents/principals";
}

#[async_trait]
impl Agents for Sqlite {
    async fn create_agent(&self, agent: &NewAgent) -> Result<(Agent, bool), StoreError> {
        let new = agent.clone();
        self.write(move |tx| create(tx, &new)).await
    }

    async fn agent(&self, id: AgentId) -> Result<Option<Agent>, StoreError> {
        self.read(move |tx| tx.row(AGENT, &[&id.0], read)).await
    }

    async fn agents(&self, after: Option<AgentId>, limit: u32) -> Result<Vec<Agent>, StoreError> {
        let after = after.map_or(Uuid::nil(), Uuid::from);
        self.read(move |tx| tx.rows(LIST, &[&after, &limit], read)).await
    }

    async fn agent_by_token(&self, hash: &[u8; 32]) -> Result<TokenStanding, StoreError> {
        let hash = *hash;
        let standing = self.read(move |tx| tx.row(BY_TOKEN, &[&hash], standing)).await?;
        Ok(standing.unwrap_or(TokenStanding::Unknown))
    }

    async fn rotate_agent_token(
        &self,
        actor: UserId,
        agent: AgentId,
        token: &AgentToken,
    ) -> Result<AuthSessionId, StoreError> {
        let token = *token;
        self.write(move |tx| {
            let judged = judge(tx, actor, agent)?.in_use()?;
            tx.execute(ROTATE, &[&agent.0, &token.id.0, &token.hash])?;
            Ok(judged.token)
        })
        .await
    }

    async fn set_agent_settings(
        &self,
        actor: UserId,
        agent: AgentId,
        settings: &AgentSettings,
    ) -> Result<(Agent, Vec<Event>), StoreError> {
        let name = settings.display_name.clone();
        let places = settings.max_runs.map(max_runs).transpose()?;
        self.write(move |tx| {
            judge(tx, actor, agent)?;
            let changed = tx.row(SET, &[&agent.0, &name, &places], read)?.ok_or(NO_AGENT)?;
            Ok((changed, append_all(tx, &offer(tx, [agent])?)?))
        })
        .await
    }

    async fn revoke_agent(
        &self,
        actor: UserId,
        agent: AgentId,
    ) -> Result<(AuthSessionId, Vec<Event>), StoreError> {
        self.write(move |tx| {
            let judged = judge(tx, actor, agent)?;
            if judged.revoked {
                return Ok((judged.token, Vec::new()));
            }
            // Before its runs end, so that their places are given to none.
            tx.execute(REVOKE, &[&agent.0, &tx.micros()])?;
            let drafts = end_runs(tx, agent, None, Sender::User(actor))?;
            Ok((judged.token, append_all(tx, &drafts)?))
        })
        .await
    }

    async fn ended_agent_tokens(&self, tokens: &[AuthSessionId]) -> Result<Vec<AuthSessionId>, StoreError> {
        let asked: Vec<Uuid> = tokens.iter().map(|token| token.0).collect();
        self.read(move |tx| {
            tx.rows(ENDED_TOKENS, &[&array(asked)], |row| Ok(AuthSessionId(row.value("id")?)))
        })
        .await
    }

    async fn agent_tokens_of(&self, owner: UserId) -> Result<Vec<AuthSessionId>, StoreError> {
        self.read(move |tx| tx.rows(TOKENS_OF, &[&owner.0], |row| Ok(AuthSessionId(row.value("token_id")?))))
            .await
    }

    async fn principals(&self, ids: &[Uuid]) -> Result<Vec<Principal>, StoreError> {
        let asked = ids.to_vec();
        self.read(move |tx| tx.rows(PRINCIPALS, &[&array(asked)], |row| row::principal(row, "kind", "id")))
            .await
    }
}

/// Makes an agent with its handle and inbox, or finds the one that this call made before.
fn create(tx: &Tx<'_>, new: &NewAgent) -> Result<(Agent, bool), Fault> {
    let NewAgent { id, owner, handle, display_name, token, key, .. } = new;
    let max_runs = max_runs(new.max_runs)?;
    let before = tx
        .row(RECALL, &[&id.0, &owner.0, handle, key], before)?
        .ok_or_else(|| Fault::internal("agents/recall gave no row"))?;
    if let Some(there) = before.made(new)? {
        return Ok((there, false));
    }
    if key.is_some() {
        tx.execute(REMEMBER, &[&owner.0, key, &id.0, &tx.micros()])?;
    }
    tx.execute(RESERVE, &[handle, &id.0])?;
    tx.execute(OPEN_INBOX, &[&id.0])?;
    tx.execute(
        CREATE,
        &[&id.0, &owner.0, handle, display_name, &max_runs, &token.id.0, &token.hash, &tx.micros()],
    )?;
    let made = tx.row(AGENT, &[&id.0], read)?;
    Ok((made.ok_or_else(|| Fault::internal("an agent was not made"))?, true))
}

/// An agent for one who may change it.
fn judge(tx: &Tx<'_>, actor: UserId, agent: AgentId) -> Result<Judged, Fault> {
    let judged = tx.row(JUDGE, &[&agent.0, &actor.0], |row| {
        Ok(Judged {
            token: AuthSessionId(row.value("token_id")?),
            may: row.value("may")?,
            revoked: row.value("revoked")?,
        })
    })?;
    Ok(judged.ok_or(NO_AGENT)?.allowed()?)
}

fn before(row: &Row<'_>) -> Result<Before, Fault> {
    let there = row.value::<Option<Uuid>>("id")?.is_some();
    Ok(Before {
        subject: row.value("subject")?,
        agent: if there { Some(read(row)?) } else { None },
        may: row.value("may")?,
        taken: row.value("taken")?,
    })
}

fn standing(row: &Row<'_>) -> Result<TokenStanding, Fault> {
    let token = AuthSessionId(row.value("token_id")?);
    Ok(if row.value("signs_in")? {
        TokenStanding::Good(SignedInAgent { agent: read(row)?, token })
    } else {
        TokenStanding::Ended(token)
    })
}

/// An agent, from its columns.
pub(super) fn read(row: &Row<'_>) -> Result<Agent, Fault> {
    Ok(Agent {
        id: AgentId(row.value("id")?),
        owner: UserId(row.value("owner_id")?),
        handle: row.value("handle")?,
        display_name: row.value("display_name")?,
        max_runs: row.value("max_runs")?,
        revoked: row.value("revoked")?,
        created_at: row.time("created_at")?,
    })
}
