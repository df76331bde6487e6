//! Questions to agents that wait for their answer: completions of a command.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use domain::{AgentId, RequestId, RoomId, UserId};

use crate::error::StoreError;

/// A question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The id chosen by the asking node.
    pub id: RequestId,
    /// Who is asked; must be in the room.
    pub agent: AgentId,
    /// Where.
    pub room: RoomId,
    /// Who asks; must be in the room.
    pub user: UserId,
    /// The command that is being typed.
    pub command: String,
    /// What was typed after it.
    pub input: String,
}

/// Questions and their answers.
#[async_trait]
pub trait Commands {
    /// Notes a question for `timeout`.
    ///
    /// # Errors
    ///
    /// `NotFound` when the person or the agent is not in the room.
    async fn ask(&self, question: &Question, timeout: Duration) -> Result<(), StoreError>;

    /// Of these questions those for one of these agents that wait still.
    async fn questions(
        &self,
        requests: &[RequestId],
        agents: &[AgentId],
    ) -> Result<Vec<Question>, StoreError>;

    /// Answers a question with a JSON array as text; the first answer in time counts. False when it did not.
    async fn answer(
        &self,
        request: RequestId,
        agent: AgentId,
        choices: &Arc<str>,
    ) -> Result<bool, StoreError>;

    /// The answer to a question, once there is one.
    async fn answer_to(&self, request: RequestId) -> Result<Option<Arc<str>>, StoreError>;
}
