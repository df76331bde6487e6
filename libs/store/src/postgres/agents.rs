//! Agents: the [`Agents`] of PostgreSQL.
//!
//! Whoever changes an agent holds the lock of its inbox, as does whoever gives it runs or takes them. So what a transaction
//! finds after the lock (owner, token, whether it is revoked) stands until it commits.

use async_trait::async_trait;
use domain::{Agent, AgentId, AuthSessionId, Event, Principal, Sender, UserId};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use crate::agents::judge::{Before, Judged, NO_AGENT, max_runs};
use crate::agents::{AgentSettings, AgentToken, Agents, NewAgent, SignedInAgent, TokenStanding};
use crate::error::{Refusal, StoreError};
use crate::postgres::append;
use crate::postgres::row::{self, Columns};
use crate::postgres::sqlstate::Fault;
use crate::postgres::statement::statements;
use crate::postgres::transaction::Transaction;
use crate::postgres::{Postgres, Session, repeated};

statements! {
    CREATE = "agents/create";
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
impl Agents for Postgres {
    async fn create_agent(&self, agent: &NewAgent) -> Result<(Agent, bool), StoreError> {
        repeated!(self.try_create_agent(agent))
    }

    async fn agent(&self, id: AgentId) -> Result<Option<Agent>, StoreError> {
        Ok(self.row(AGENT, &[&id.0]).await?.as_ref().map(read).transpose()?)
    }

    async fn agents(&self, after: Option<AgentId>, limit: u32) -> Result<Vec<Agent>, StoreError> {
        let rows = self.rows(LIST, &[&after.map(AgentId::uuid), &i64::from(limit)]).await?;
        Ok(rows.iter().map(read).collect::<Result<_, _>>()?)
    }

    async fn agent_by_token(&self, hash: &[u8; 32]) -> Result<TokenStanding, StoreError> {
        let Some(row) = self.row(BY_TOKEN, &[&hash.as_slice()]).await? else {
            return Ok(TokenStanding::Unknown);
        };
        let token = AuthSessionId(row.value("token_id")?);
        Ok(if row.value("signs_in")? {
            TokenStanding::Good(SignedInAgent { agent: read(&row)?, token })
        } else {
            TokenStanding::Ended(token)
        })
    }

    async fn rotate_agent_token(
        &self,
        actor: UserId,
        agent: AgentId,
        token: &AgentToken,
    ) -> Result<AuthSessionId, StoreError> {
        repeated!(self.try_rotate(actor, agent, token))
    }

    async fn set_agent_settings(
        &self,
        actor: UserId,
        agent: AgentId,
        settings: &AgentSettings,
    ) -> Result<(Agent, Vec<Event>), StoreError> {
        repeated!(self.try_set(actor, agent, settings))
    }

    async fn revoke_agent(
        &self,
        actor: UserId,
        agent: AgentId,
    ) -> Result<(AuthSessionId, Vec<Event>), StoreError> {
        repeated!(self.try_revoke(actor, agent))
    }

    async fn ended_agent_tokens(&self, tokens: &[AuthSessionId]) -> Result<Vec<AuthSessionId>, StoreError> {
        if tokens.is_empty() {
            return Ok(Vec::new());
        }
        let asked: Vec<Uuid> = tokens.iter().map(|token| token.0).collect();
        let rows = self.rows(ENDED_TOKENS, &[&asked]).await?;
        Ok(rows.iter().map(|row| row.value("id").map(AuthSessionId)).collect::<Result<_, _>>()?)
    }

    async fn agent_tokens_of(&self, owner: UserId) -> Result<Vec<AuthSessionId>, StoreError> {
        let rows = self.rows(TOKENS_OF, &[&owner.0]).await?;
        Ok(rows.iter().map(|row| row.value("token_id").map(AuthSessionId)).collect::<Result<_, _>>()?)
    }

    async fn principals(&self, ids: &[Uuid]) -> Result<Vec<Principal>, StoreError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let rows = self.rows(PRINCIPALS, &[&ids]).await?;
        Ok(rows.iter().map(|row| row::principal(row, "kind", "id")).collect::<Result<_, _>>()?)
    }
}

impl Postgres {
    async fn try_create_agent(&self, agent: &NewAgent) -> Result<(Agent, bool), Fault> {
        let NewAgent { id, owner, handle, display_name, token, key, .. } = agent;
        let max_runs = max_runs(agent.max_runs)?;
        let session = self.session().await?;
        let (transaction, [created]) = session
            .begin([(
                CREATE,
                &[&id.0, &owner.0, handle, display_name, &max_runs, &token.id.0, &token.hash.as_slice(), key],
            )])
            .await?;
        if let Some(row) = created.first() {
            let (transaction, agent) = transaction.decided(read(row)).await?;
            transaction.commit([]).await?;
            return Ok((agent, true));
        }
        transaction.rollback().await;
        let recalled = session.query(RECALL, &[&id.0, &owner.0, handle, key]).await?;
        let row = recalled.first().ok_or_else(|| Fault::internal("agents/recall gave no row"))?;
        let there = before(row)?.made(agent)?;
        let gone = || Fault::Contended("what was in the way of an agent went meanwhile".into());
        Ok((there.ok_or_else(gone)?, false))
    }

    async fn try_rotate(
        &self,
        actor: UserId,
        agent: AgentId,
        token: &AgentToken,
    ) -> Result<AuthSessionId, Fault> {
        let session = self.session().await?;
        let (transaction, judged) = judge(&session, actor, agent, &[agent.0], Judged::in_use).await?;
        let rotated =
            transaction.commit([(ROTATE, &[&agent.0, &token.id.0, &token.hash.as_slice()])]).await?;
        match rotated {
            [rows] if rows.is_empty() => Err(Fault::internal("an agent was revoked under its lock")),
            _ => Ok(judged.token),
        }
    }

    async fn try_set(
        &self,
        actor: UserId,
        agent: AgentId,
        settings: &AgentSettings,
    ) -> Result<(Agent, Vec<Event>), Fault> {
        let max_runs = settings.max_runs.map(max_runs).transpose()?;
        let session = self.session().await?;
        let (transaction, _) = judge(&session, actor, agent, &[agent.0], Ok).await?;
        let [rows] = transaction.run([(SET, &[&agent.0, &settings.display_name, &max_runs])]).await?;
        let drafts = transaction.offer(&[agent.0]).await;
        let changed = drafts.and_then(|drafts| Ok((read(rows.first().ok_or(NO_AGENT)?)?, drafts)));
        let (transaction, (agent, drafts)) = transaction.decided(changed).await?;
        Ok((agent, transaction.append_all(&drafts).await?))
    }

    async fn try_revoke(&self, actor: UserId, agent: AgentId) -> Result<(AuthSessionId, Vec<Event>), Fault> {
        let session = self.session().await?;
        let streams = session.concerned_by(agent, None).await?;
        let (transaction, judged) = judge(&session, actor, agent, &streams, Ok).await?;
        if judged.revoked {
            transaction.rollback().await;
            return Ok((judged.token, Vec::new()));
        }
        // Before its runs end, so that their places are given to none.
        transaction.run([(REVOKE, &[&agent.0])]).await?;
        let drafts = transaction.end_runs(agent, None, Sender::User(actor), &streams).await;
        let (transaction, drafts) = transaction.decided(drafts).await?;
        Ok((judged.token, transaction.append_all(&drafts).await?))
    }
}

/// Begins a transaction on an agent, under its lock and those of other `streams`, for one who may change it.
async fn judge<'a>(
    session: &'a Session,
    actor: UserId,
    agent: AgentId,
    streams: &[Uuid],
    also: fn(Judged) -> Result<Judged, Refusal>,
) -> Result<(Transaction<'a>, Judged), Fault> {
    let params: [&(dyn ToSql + Sync); 2] = [&agent.0, &actor.0];
    let (transaction, [_, judged]) = session.begin([(append::LOCK, &[&streams]), (JUDGE, &params)]).await?;
    transaction.decided(judged_row(&judged).and_then(|judged| Ok(also(judged.allowed()?)?))).await
}

/// Read under the agent's lock.
fn judged_row(rows: &[Row]) -> Result<Judged, Fault> {
    let row = rows.first().ok_or(NO_AGENT)?;
    Ok(Judged {
        token: AuthSessionId(row.value("token_id")?),
        may: row.value("may")?,
        revoked: row.value("revoked")?,
    })
}

/// What a creating call that wrote nothing found.
fn before(row: &Row) -> Result<Before, Fault> {
    let there = row.value::<Option<Uuid>>("id")?.is_some();
    Ok(Before {
        subject: row.value("subject")?,
        agent: if there { Some(read(row)?) } else { None },
        may: row.value("may")?,
        taken: row.value("taken")?,
    })
}

fn read(row: &Row) -> Result<Agent, Fault> {
    Ok(Agent {
        id: AgentId(row.value("id")?),
        owner: UserId(row.value("owner_id")?),
        handle: row.value("handle")?,
        display_name: row.value("display_name")?,
        max_runs: u32::try_from(row.value::<i32>("max_runs")?)
            .map_err(|_| Fault::internal("max_runs is negative"))?,
        revoked: row.value("revoked")?,
        created_at: row.value("created_at")?,
    })
}
