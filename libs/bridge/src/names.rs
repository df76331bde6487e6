//! What people and agents are called, asked for once.

use std::collections::HashMap;

use client::Api;
use domain::{AgentId, UserId};
use parking_lot::Mutex;

/// Names that are kept; beyond that all are asked for again.
const MOST: usize = 10_000;

/// Whose name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Who {
    Person(UserId),
    Agent(AgentId),
}

#[derive(Debug)]
pub(crate) struct Names {
    api: Api,
    known: Mutex<HashMap<Who, String>>,
}

impl Names {
    pub(crate) fn new(api: Api) -> Self {
        Self { api, known: Mutex::default() }
    }

    /// The name for people to read; none when it can't be had now.
    pub(crate) async fn of(&self, who: Who) -> Option<String> {
        if let Some(name) = self.known.lock().get(&who) {
            return Some(name.clone());
        }
        let asked = match who {
            Who::Person(user) => self.api.user(user).await.map(|user| user.display_name),
            Who::Agent(agent) => self.api.agent(agent).await.map(|agent| agent.display_name),
        };
        let name = asked.inspect_err(|error| tracing::debug!(%error, "a name can't be had")).ok()?;
        let mut known = self.known.lock();
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(who, name.clone());
        Some(name)
    }
}
