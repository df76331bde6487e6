//! Questions to agents: the [`Commands`] of SQLite.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use domain::{AgentId, RequestId, RoomId, UserId};
use rusqlite::Row;

use super::Sqlite;
use super::fault::Fault;
use super::row::Columns;
use super::statement::statements;
use super::transaction::Tx;
use super::value::array;
use crate::commands::{Commands, Question};
use crate::error::{Refusal, StoreError};

statements! {
    PERSON_IS_HERE = "commands/person_is_here";
    AGENT_IS_HERE = "commands/agent_is_here";
    ASK = "commands/ask";
    QUESTIONS = "commands/questions";
    ANSWER = "commands/answer";
    ANSWERED = "commands/answered";
}

#[async_trait]
impl Commands for Sqlite {
    async fn ask(&self, question: &Question, timeout: Duration) -> Result<(), StoreError> {
        let question = question.clone();
        self.write(move |tx| ask(tx, &question, timeout)).await
    }

    async fn questions(
        &self,
        requests: &[RequestId],
        agents: &[AgentId],
    ) -> Result<Vec<Question>, StoreError> {
        if requests.is_empty() || agents.is_empty() {
            return Ok(Vec::new());
        }
        let (requests, agents) = (requests.to_vec(), agents.to_vec());
        self.read(move |tx| {
            let requests = array(requests.iter().map(|request| request.0));
            let agents = array(agents.iter().map(|agent| agent.0));
            tx.rows(QUESTIONS, &[&requests, &agents, &tx.micros()], question)
        })
        .await
    }

    async fn answer(
        &self,
        request: RequestId,
        agent: AgentId,
        choices: &Arc<str>,
    ) -> Result<bool, StoreError> {
        let choices = choices.clone();
        self.write(move |tx| Ok(tx.execute(ANSWER, &[&request.0, &agent.0, &choices, &tx.micros()])? > 0))
            .await
    }

    async fn answer_to(&self, request: RequestId) -> Result<Option<Arc<str>>, StoreError> {
        self.read(move |tx| tx.row(ANSWERED, &[&request.0], |row| row.value("choices"))).await
    }
}

fn ask(tx: &Tx<'_>, question: &Question, timeout: Duration) -> Result<(), Fault> {
    let Question { id, agent, room, user, command, input } = question;
    if !tx.exists(PERSON_IS_HERE, &[&room.0, &user.0])? {
        return Err(Refusal::NotFound("room").into());
    }
    if !tx.exists(AGENT_IS_HERE, &[&room.0, &agent.0])? {
        return Err(Refusal::NotFound("agent").into());
    }
    tx.execute(ASK, &[&id.0, &agent.0, &room.0, &user.0, command, input, &tx.after(timeout)])?;
    Ok(())
}

fn question(row: &Row<'_>) -> Result<Question, Fault> {
    Ok(Question {
        id: RequestId(row.value("id")?),
        agent: AgentId(row.value("agent_id")?),
        room: RoomId(row.value("room_id")?),
        user: UserId(row.value("user_id")?),
        command: row.value("command")?,
        input: row.value("input")?,
    })
}
