//! Completions of commands: a question to an agent, wherever a consumer of it is connected.
//!
//! The question is a row. Its notification goes to every node; those with a consumer of the agent load the row and ask it. The first answer in
//! time counts, and its notification wakes the asker. An agent that is not connected does not answer: the asker waits until its time is
//! over, as for one that is slow.

use std::collections::HashSet;
use std::time::Duration;

use domain::{AgentId, RequestId, RoomId, UserId};
use parking_lot::Mutex;
use protocol::ServerFrame;
use protocol::frame::{AutocompleteRequest, RawJson};
use protocol::notify::{Entry, Kind};
use realtime::Encoded;
use store::commands::Question;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::Operations;
use crate::error::Error;
use crate::runs::{check_json, check_text};

/// Questions of one query.
const QUESTIONS: usize = 500;

/// Questions that other nodes have asked, and this one has not looked at.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    heard: Mutex<HashSet<RequestId>>,
    wake: Notify,
}

/// What is asked.
#[derive(Debug, Clone)]
pub struct Autocomplete {
    /// Who asks.
    pub user: UserId,
    /// Who is asked.
    pub agent: AgentId,
    /// Where.
    pub room: RoomId,
    /// The command that is being typed.
    pub command: String,
    /// What was typed after it.
    pub input: String,
}

impl Operations {
    /// Asks an agent how a command could go on. None when nobody answered in time.
    ///
    /// # Errors
    ///
    /// `Invalid`; `NotFound` when the person or the agent is not in the room.
    pub async fn autocomplete(&self, asked: Autocomplete) -> Result<Option<RawJson>, Error> {
        check_text("command", &asked.command, 200)?;
        check_text("input", &asked.input, self.commands.max_bytes)?;
        let question = Question {
            id: RequestId::new(),
            agent: asked.agent,
            room: asked.room,
            user: asked.user,
            command: asked.command,
            input: asked.input,
        };
        let timeout = self.commands.autocomplete_timeout;
        let waiter = self.waiters.register(question.id.0);
        self.store.ask(&question, timeout).await?;
        let deadline = Instant::now() + timeout;
        self.announcer.asked(question.id);
        self.put(&question);
        while waiter.look_again(deadline).await {
            if let Some(choices) = self.store.answer_to(question.id).await? {
                // Checked when it was answered.
                return Ok(RawJson::new(&*choices).ok());
            }
        }
        Ok(None)
    }

    /// An agent answers a question. Nothing happens when somebody did, or its time is over.
    ///
    /// # Errors
    ///
    /// `Invalid` for the choices.
    pub async fn answer(&self, agent: AgentId, request: RequestId, choices: &RawJson) -> Result<(), Error> {
        check_json("choices", choices, self.commands.max_bytes)?;
        check_choices(choices)?;
        if self.store.answer(request, agent, &choices.get().into()).await? {
            self.waiters.wake(request.0);
            self.announcer.answered(request);
        }
        Ok(())
    }

    /// Puts a question to a consumer of this node, if there is one.
    fn put(&self, question: &Question) {
        if let Some(connection) = self.announcer.hub().consumer_of(question.agent) {
            let frame = AutocompleteRequest {
                request_id: question.id.0,
                room_id: question.room.0,
                user_id: question.user.0,
                command: question.command.clone(),
                input: question.input.clone(),
            };
            connection.outbox.push_ephemeral(&Encoded::frame(ServerFrame::Autocomplete(frame)));
        }
    }

    /// Acts on one notification of another node; never blocks.
    pub fn notified(&self, entry: &Entry) {
        let Some(id) = entry.id.one() else { return };
        match entry.kind {
            Kind::ToolResult | Kind::AutocompleteAnswered | Kind::RunUpdated => self.waiters.wake(id),
            Kind::TaskDue => self.announcer.task_wake().notify_one(),
            Kind::NotificationDue => self.announcer.notification_wake().notify_one(),
            Kind::UserPresence => self.announcer.people().hear(UserId(id)),
            Kind::AutocompleteRequested => {
                self.asked.heard.lock().insert(RequestId(id));
                self.asked.wake.notify_one();
            }
            _ => {}
        }
    }

    /// Notifications may have been missed.
    pub fn heard_again(&self) {
        self.waiters.wake_all();
        self.announcer.task_wake().notify_one();
        self.announcer.notification_wake().notify_one();
        self.announcer.people().wake();
    }

    /// Puts questions of other nodes to consumers of this one, until the token is cancelled.
    pub async fn put_questions(self, stop: CancellationToken) {
        while stop.run_until_cancelled(self.asked.wake.notified()).await.is_some() {
            loop {
                let heard: Vec<RequestId> = self.asked.heard.lock().drain().collect();
                if heard.is_empty() {
                    break;
                }
                for part in heard.chunks(QUESTIONS) {
                    if let Err(error) = self.put_some(part).await {
                        // Whoever asked asks again: a completion that is late is worth nothing.
                        tracing::warn!(%error, questions = part.len(), "can't read questions");
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                }
            }
        }
    }

    async fn put_some(&self, heard: &[RequestId]) -> Result<(), Error> {
        let consumers = self.announcer.hub().consumers();
        let mut agents: Vec<AgentId> = consumers
            .iter()
            .filter_map(|connection| connection.hold.consumer().map(|slot| slot.agent))
            .collect();
        agents.sort_unstable();
        agents.dedup();
        if agents.is_empty() {
            return Ok(());
        }
        for question in self.store.questions(heard, &agents).await? {
            self.put(&question);
        }
        Ok(())
    }
}

fn check_choices(choices: &RawJson) -> Result<(), domain::Invalid> {
    #[derive(serde::Deserialize)]
    struct Choice {
        #[serde(rename = "value")]
        _value: String,
        #[serde(rename = "label", default)]
        _label: Option<String>,
    }
    serde_json::from_str::<Vec<Choice>>(choices.get()).map(drop).map_err(|error| {
        domain::Invalid::described("choices", error.to_string(), "a list of {value, label?}, both text")
    })
}
