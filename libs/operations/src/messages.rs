//! Messages: send, edit, delete, react.

use std::sync::Arc;

use domain::{AgentId, Event, EventId, Principal, RoomId, RunId, TaskId, UserId, mention, text};
use serde::Serialize;
use store::StoreError;
use store::messages::{Appended, MessageEdit, NewMessage, Reaction};
use store::runs::{NewRun, Requested};

use crate::Operations;
use crate::error::Error;

/// A message as it is sent.
#[derive(Debug, Clone)]
pub struct SendMessage {
    /// Where.
    pub room: RoomId,
    /// Who.
    pub sender: Principal,
    /// What.
    pub body: String,
    /// Makes the send safe to repeat.
    pub nonce: Option<String>,
    /// The message it answers.
    pub reply_to: Option<EventId>,
}

/// The members that a text mentions, each once.
#[derive(Default)]
struct Mentioned {
    people: Vec<UserId>,
    agents: Vec<AgentId>,
}

#[derive(Serialize)]
struct CreatedData<'a> {
    body: &'a str,
    nonce: Option<&'a str>,
    reply_to: Option<EventId>,
    mentions: &'a [UserId],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    agents: &'a [AgentId],
    /// The task that says it in the sender's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    task_id: Option<TaskId>,
}

#[derive(Serialize)]
struct EditedData<'a> {
    event_id: EventId,
    body: &'a str,
    mentions: &'a [UserId],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    agents: &'a [AgentId],
}

impl Operations {
    /// Sends a message. A nonce that the same sender used in the same room gives the first event again.
    ///
    /// # Errors
    ///
    /// `Invalid` for body or nonce, `NotFound` for a room the sender is not in, or a message
    /// that is answered but not there.
    pub async fn send_message(&self, send: SendMessage) -> Result<Appended, Error> {
        let (message, runs) = self.compose(send, None).await?;
        if runs.is_empty() {
            return self.combiner.append(message).await;
        }
        let requested = self.store.append_request(&message, &runs).await?;
        Ok(self.requested(message.room, requested))
    }

    /// A message as it is written, with the runs of the agents that it mentions, which go into the same commit.
    pub(crate) async fn compose(
        &self,
        send: SendMessage,
        task: Option<TaskId>,
    ) -> Result<(NewMessage, Vec<NewRun>), Error> {
        text::body(&send.body, self.messages.max_body_bytes)?;
        if let Some(nonce) = &send.nonce {
            text::nonce("nonce", nonce)?;
        }
        let mentioned = self.mentioned(send.room, &send.body).await?;
        let recipients = self.recipients(send.room, send.sender, &mentioned.people).await?;
        let data = CreatedData {
            body: &send.body,
            nonce: send.nonce.as_deref(),
            reply_to: send.reply_to,
            mentions: &mentioned.people,
            agents: &mentioned.agents,
            task_id: task,
        };
        let message = NewMessage {
            id: EventId::new(),
            room: send.room,
            sender: send.sender,
            data: json(&data)?,
            nonce: send.nonce,
            reply_to: send.reply_to,
            trace: trace::traceparent(),
            recipients,
        };
        let input = json(&send.body)?;
        // An agent that mentions itself asks nobody.
        let asked = mentioned.agents.into_iter().filter(|agent| Principal::Agent(*agent) != message.sender);
        let runs = asked.map(|agent| NewRun {
            id: RunId::new(),
            room: message.room,
            agent,
            requester: message.sender,
            cause: Some(format!("message:{}", message.id)),
            input: Arc::clone(&input),
            max_hops: self.runs.max_hops,
        });
        let runs = runs.collect();
        Ok((message, runs))
    }

    /// Tells what a message that asks agents has written.
    pub(crate) fn requested(&self, room: RoomId, requested: Requested) -> Appended {
        for (agent, refusal) in &requested.refused {
            tracing::info!(%agent, %room, ?refusal, "an agent that is mentioned was not asked");
        }
        self.announcer.events(requested.events);
        requested.appended
    }

    /// Gives a message a new body.
    ///
    /// # Errors
    ///
    /// `Invalid` for the body; `NotFound`, `Forbidden`, `MessageDeleted`.
    pub async fn edit_message(
        &self,
        actor: Principal,
        room: RoomId,
        message: EventId,
        body: &str,
    ) -> Result<Event, Error> {
        text::body(body, self.messages.max_body_bytes)?;
        let Mentioned { people, agents } = self.mentioned(room, body).await?;
        let data = json(&EditedData { event_id: message, body, mentions: &people, agents: &agents })?;
        let edit = MessageEdit { room, message, actor, id: EventId::new(), data };
        let event = self.store.edit_message(&edit).await?;
        self.announcer.events([event.clone()]);
        Ok(event)
    }

    /// Deletes a message; deleting it again changes nothing.
    ///
    /// # Errors
    ///
    /// `NotFound`, `Forbidden`.
    pub async fn delete_message(
        &self,
        actor: Principal,
        room: RoomId,
        message: EventId,
    ) -> Result<(), Error> {
        self.announcer.events(self.store.delete_message(actor, room, message).await?);
        Ok(())
    }

    /// Adds a reaction. The same one again changes nothing.
    ///
    /// # Errors
    ///
    /// `Invalid` for the emoji; `NotFound`, `MessageDeleted`.
    pub async fn add_reaction(&self, reaction: &Reaction) -> Result<(), Error> {
        text::emoji(&reaction.emoji)?;
        self.announcer.events(self.store.add_reaction(reaction).await?);
        Ok(())
    }

    /// Takes a reaction back. One that is not there changes nothing.
    ///
    /// # Errors
    ///
    /// `Invalid` for the emoji; `NotFound`.
    pub async fn remove_reaction(&self, reaction: &Reaction) -> Result<(), Error> {
        text::emoji(&reaction.emoji)?;
        self.announcer.events(self.store.remove_reaction(reaction).await?);
        Ok(())
    }

    /// The members that a text mentions. Costs nothing when it has no `@`.
    async fn mentioned(&self, room: RoomId, body: &str) -> Result<Mentioned, Error> {
        let handles: Vec<String> = mention::handles(body).into_iter().collect();
        let mut mentioned = Mentioned::default();
        if handles.is_empty() {
            return Ok(mentioned);
        }
        for member in self.store.members_by_handle(room, &handles).await? {
            match member {
                Principal::User(id) => mentioned.people.push(id),
                Principal::Agent(id) => mentioned.agents.push(id),
            }
        }
        Ok(mentioned)
    }
}

fn json(data: &impl Serialize) -> Result<Arc<str>, Error> {
    // Strings and ids always are JSON; were they not, nothing may be written.
    serde_json::to_string(data)
        .map(Into::into)
        .map_err(|error| StoreError::Internal(format!("a message that is no JSON: {error}")).into())
}
