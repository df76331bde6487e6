//! Questions to agents: the [`Commands`] of PostgreSQL. One statement each.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use domain::{AgentId, RequestId, RoomId, UserId};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::commands::{Commands, Question};
use crate::error::{Refusal, StoreError};
use crate::postgres::Postgres;
use crate::postgres::interval::micros;
use crate::postgres::row::Columns;
use crate::postgres::sqlstate::Fault;
use crate::postgres::statement::statements;

statements! {
    ASK = "commands/ask";
    QUESTIONS = "commands/questions";
    ANSWER = "commands/answer";
    ANSWERED = "commands/answered";
}

#[async_trait]
impl Commands for Postgres {
    async fn ask(&self, question: &Question, timeout: Duration) -> Result<(), StoreError> {
        let Question { id, agent, room, user, command, input } = question;
        let here = self
            .row(ASK, &[&id.0, &agent.0, &room.0, &user.0, command, input, &micros(timeout)])
            .await?
            .ok_or_else(|| StoreError::Internal("no answer about who is in a room".into()))?;
        match (here.value("person")?, here.value("agent")?) {
            (true, true) => Ok(()),
            (false, _) => Err(Refusal::NotFound("room").into()),
            (true, false) => Err(Refusal::NotFound("agent").into()),
        }
    }

    async fn questions(
        &self,
        requests: &[RequestId],
        agents: &[AgentId],
    ) -> Result<Vec<Question>, StoreError> {
        let requests: Vec<Uuid> = requests.iter().map(|request| request.0).collect();
        let agents: Vec<Uuid> = agents.iter().map(|agent| agent.0).collect();
        if requests.is_empty() || agents.is_empty() {
            return Ok(Vec::new());
        }
        let rows = self.rows(QUESTIONS, &[&requests, &agents]).await?;
        Ok(rows.iter().map(question).collect::<Result<_, Fault>>()?)
    }

    async fn answer(
        &self,
        request: RequestId,
        agent: AgentId,
        choices: &Arc<str>,
    ) -> Result<bool, StoreError> {
        Ok(self.row(ANSWER, &[&request.0, &agent.0, &&**choices]).await?.is_some())
    }

    async fn answer_to(&self, request: RequestId) -> Result<Option<Arc<str>>, StoreError> {
        let row = self.row(ANSWERED, &[&request.0]).await?;
        Ok(row.map(|row| row.value::<&str>("choices").map(Arc::from)).transpose()?)
    }
}

fn question(row: &Row) -> Result<Question, Fault> {
    Ok(Question {
        id: RequestId(row.value("id")?),
        agent: AgentId(row.value("agent_id")?),
        room: RoomId(row.value("room_id")?),
        user: UserId(row.value("user_id")?),
        command: row.value("command")?,
        input: row.value("input")?,
    })
}
