//! Calls of tools in PostgreSQL.
//!
//! A call is made and comes to its end under the lock of its agent's stream, as everything that its run does, and that of the
//! person's. Its own row says by compare-and-swap which end that is: the first answer, its deadline, or the end of its run.

use std::sync::Arc;

use async_trait::async_trait;
use domain::{AgentId, Event, RoomId, RunId, Sender, ToolCallId, UserId};
use tokio_postgres::Row;

use crate::error::{Refusal, StoreError};
use crate::postgres::notifications::WITHDRAW;
use crate::postgres::row::Columns;
use crate::postgres::sqlstate::Fault;
use crate::postgres::statement::statements;
use crate::postgres::{Postgres, append, repeated};
use crate::tools::judge::{NO_CALL, TOO_LATE, ended};
use crate::tools::{NewToolCall, Resolution, ToolCall, Tools};

mod call;
mod expire;

statements! {
    JUDGE = "tools/judge";
    CALL = "tools/call";
    WAIT = "tools/wait";
    GO_ON = "tools/go_on";
    READ = "tools/read";
    RESOLVE = "tools/resolve";
    PENDING = "tools/pending";
    OVERDUE = "tools/overdue";
    EXPIRE = "tools/expire";
    CANCEL = "tools/cancel";
}

#[async_trait]
impl Tools for Postgres {
    async fn call_tool(&self, call: &NewToolCall) -> Result<(ToolCall, Vec<Event>), StoreError> {
        repeated!(self.try_call(call))
    }

    async fn tool_call(&self, call: ToolCallId) -> Result<Option<ToolCall>, StoreError> {
        Ok(self.row(READ, &[&call.0]).await?.as_ref().map(read).transpose()?)
    }

    async fn resolve_tool(&self, resolution: &Resolution) -> Result<(ToolCall, Vec<Event>), StoreError> {
        let call = self.tool_call(resolution.call).await?.ok_or(NO_CALL)?;
        if call.user != resolution.user {
            return Err(Refusal::Forbidden.into());
        }
        repeated!(self.try_resolve(&call, resolution))
    }

    async fn pending_tools(&self, user: UserId) -> Result<Vec<ToolCall>, StoreError> {
        let rows = self.rows(PENDING, &[&user.0]).await?;
        Ok(rows.iter().map(read).collect::<Result<_, Fault>>()?)
    }

    async fn expire_tools(&self, limit: u32) -> Result<(Vec<ToolCall>, Vec<Event>), StoreError> {
        self.expire(limit).await
    }
}

impl Postgres {
    /// `call` as it was before; whom it concerns does not change.
    async fn try_resolve(
        &self,
        call: &ToolCall,
        resolution: &Resolution,
    ) -> Result<(ToolCall, Vec<Event>), Fault> {
        let (result, error) = match &resolution.outcome {
            Ok(result) => (Some(&**result), None),
            Err(error) => (None, Some(error)),
        };
        let run = vec![call.run.0];
        let session = self.session().await?;
        let (transaction, [_, _, resolved, _]) = session
            .begin([
                (append::LOCK, &[&[call.agent.0, call.user.0].as_slice()]),
                (crate::postgres::runs::LOCK, &[&run]),
                (RESOLVE, &[&call.id.0, &call.user.0, &result, &error]),
                (GO_ON, &[&run]),
            ])
            .await?;
        let resolved = resolved.first().ok_or_else(|| TOO_LATE.into()).and_then(read);
        let told = resolved.and_then(|call| Ok((ended(&call, Sender::User(call.user))?, call)));
        let (transaction, (drafts, call)) = transaction.decided(told).await?;
        transaction.run([(WITHDRAW, &[&[call.id.0].as_slice()])]).await?;
        let events = transaction.append_all(&drafts).await?;
        Ok((call, events))
    }
}

fn read(row: &Row) -> Result<ToolCall, Fault> {
    let args = json_text(row, "args")?.ok_or_else(|| Fault::internal("a call without arguments"))?;
    Ok(ToolCall {
        id: ToolCallId(row.value("id")?),
        run: RunId(row.value("run_id")?),
        room: RoomId(row.value("room_id")?),
        agent: AgentId(row.value("agent_id")?),
        user: UserId(row.value("user_id")?),
        tool: row.value("tool")?,
        args,
        status: row.named("status")?,
        deadline: row.value("deadline")?,
        result: json_text(row, "result")?,
        error: row.value("error")?,
    })
}

/// A column of JSON text.
fn json_text(row: &Row, column: &str) -> Result<Option<Arc<str>>, Fault> {
    Ok(row.value::<Option<&str>>(column)?.map(Arc::from))
}
