//! The bridge: from a run to a model and back.

use std::time::Duration;

use client::Api;
use client::api::Agent;
use client::consumer::{RunError, RunHandle, RunRequested, Work};
use domain::ErrorKind;
use domain::run::FinishStatus;
use futures_util::future::try_join_all;
use tokio::sync::OnceCell;
use tokio::time::sleep;

use crate::answer::{Answer, Failure, Whole, give_up_calls, show_result};
use crate::error::ModelError;
use crate::history;
use crate::message::Message;
use crate::model::{Model, Patience};
use crate::names::Names;
use crate::tools::{self, Tools};

/// How a bridge answers.
#[derive(Debug, Clone)]
pub struct BridgeSettings {
    /// What the model is told first.
    pub system: Option<String>,
    /// How many messages and answers of the room the model is given.
    pub history: usize,
    /// What the model may call in the browser of whoever asks.
    pub tools: Tools,
    /// How long a person has for a tool call; as the server says when there is none.
    pub tool_timeout: Option<Duration>,
    /// How many times in a row the model may call tools in one run.
    pub rounds: usize,
}

impl Default for BridgeSettings {
    fn default() -> Self {
        Self { system: None, history: 20, tools: Tools::default(), tool_timeout: None, rounds: 8 }
    }
}

/// An agent whose answers come from a model.
#[derive(Debug)]
pub struct Bridge {
    api: Api,
    model: Model,
    names: Names,
    settings: BridgeSettings,
    me: OnceCell<Agent>,
}

impl Work for Bridge {
    async fn work(&self, asked: RunRequested, run: RunHandle) {
        let answered = tokio::select! {
            () = run.stop().cancelled() => None,
            answered = self.answer(&asked, &run) => Some(answered),
        };
        let (status, error) = match answered {
            Some(Ok(())) => (FinishStatus::Succeeded, None),
            None => (FinishStatus::Cancelled, None),
            // The run says itself how it went.
            Some(Err(Failure::Run(RunError::Over(_) | RunError::Lost(_)))) => (FinishStatus::Cancelled, None),
            Some(Err(failure)) => {
                tracing::warn!(%failure, run = %asked.run_id, "a run failed");
                (FinishStatus::Failed, Some(failure.to_string()))
            }
        };
        if status != FinishStatus::Succeeded {
            give_up_calls(&run);
        }
        finish(&run, status, error.as_deref()).await;
    }
}

/// Finishes a run; one whose last change is refused fails with that.
async fn finish(run: &RunHandle, status: FinishStatus, error: Option<&str>) {
    let Err(why) = run.finish(status, error).await else { return };
    tracing::debug!(%why, run = %run.id(), "a run was not finished");
    if let RunError::Refused { .. } = why {
        // What comes of it is its end in any case.
        let _ = run.finish(FinishStatus::Failed, Some(&why.to_string())).await;
    }
}

impl Bridge {
    /// A bridge between the rooms of the agent that is signed in at `api`, and a model.
    #[must_use]
    pub fn new(api: Api, model: Model, settings: BridgeSettings) -> Self {
        Self { names: Names::new(api.clone()), api, model, settings, me: OnceCell::new() }
    }

    async fn answer(&self, asked: &RunRequested, run: &RunHandle) -> Result<(), Failure> {
        let mut messages: Vec<Message> =
            self.settings.system.iter().map(|content| Message::System { content: content.clone() }).collect();
        messages.extend(self.conversation(asked).await?);
        for round in 1..=self.settings.rounds {
            let Whole { text, calls } = self.ask(run, round, &messages).await?;
            if calls.is_empty() {
                return Ok(());
            }
            let calling = calls.iter().enumerate().map(|(index, called)| async move {
                let Self { settings: BridgeSettings { tools, tool_timeout, .. }, .. } = self;
                let outcome = tools::call(run, tools, asked.person(), *tool_timeout, called).await?;
                show_result(run, round, index, &outcome)?;
                Ok::<_, RunError>(Message::Tool { tool_call_id: called.id.clone(), content: outcome.content })
            });
            let results = try_join_all(calling).await?;
            messages
                .push(Message::Assistant { content: (!text.is_empty()).then_some(text), tool_calls: calls });
            messages.extend(results);
        }
        Err(ModelError::TooManyRounds(self.settings.rounds).into())
    }

    /// What was said in the room. A node that is just away is asked again.
    async fn conversation(&self, asked: &RunRequested) -> Result<Vec<Message>, Failure> {
        let patience = self.model.patience();
        let mut attempt = 0;
        loop {
            let read = async {
                let me = self.me.get_or_try_init(|| self.api.own_agent()).await?;
                history::conversation(&self.api, &self.names, me, asked, self.settings.history).await
            };
            let error = match read.await {
                Ok(messages) => return Ok(messages),
                Err(error) => error,
            };
            attempt += 1;
            let is_for_now = matches!(
                error.kind(),
                ErrorKind::Unavailable | ErrorKind::Timeout | ErrorKind::RateLimited | ErrorKind::Internal
            );
            if !is_for_now || attempt >= patience.attempts {
                tracing::warn!(%error, room = %asked.room_id, "a room can't be read");
                return Err(error.into());
            }
            sleep(pause(patience, attempt)).await;
        }
    }

    /// Asks the model, as often as may help while nothing is shown.
    async fn ask(&self, run: &RunHandle, round: usize, messages: &[Message]) -> Result<Whole, Failure> {
        let patience = self.model.patience();
        let mut attempt = 0;
        loop {
            let mut answer = Answer::new(run, round);
            let failure = match self.ask_once(&mut answer, messages).await {
                Ok(()) => return answer.whole(),
                Err(failure) => failure,
            };
            attempt += 1;
            let Failure::Model(error) = &failure else { return Err(failure) };
            let wait = error.retry_after().unwrap_or_else(|| pause(patience, attempt));
            let is_hopeless = !error.is_for_now() || attempt >= patience.attempts || wait > patience.most;
            if answer.is_begun() || is_hopeless {
                return Err(failure);
            }
            tracing::info!(%error, ?wait, "asking the model again");
            sleep(wait).await;
        }
    }

    async fn ask_once(&self, answer: &mut Answer<'_>, messages: &[Message]) -> Result<(), Failure> {
        let mut reply = self.model.ask(messages, self.settings.tools.definitions()).await?;
        while let Some(piece) = reply.next().await? {
            answer.take(piece)?;
        }
        Ok(())
    }
}

/// Anything from half to all of what doubles with each attempt.
fn pause(patience: Patience, attempt: u32) -> Duration {
    let whole = patience.first.saturating_mul(2_u32.saturating_pow(attempt - 1)).min(patience.most);
    whole.mul_f64(rand::random_range(0.5..=1.0))
}
