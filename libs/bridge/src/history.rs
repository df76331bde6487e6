//! What was said in a room, as a model is given it.
//!
//! The newest events are read from their end: messages of people and agents, and runs, whose texts are what agents
//! answered. What was said after the message that asks is left out, so that a run that waited for its turn answers what
//! it was asked. Messages of one side in a row become one: many models want the sides to take turns.

use std::collections::{HashMap, HashSet};

use client::api::{EventPage, Range};
use client::consumer::RunRequested;
use client::{Api, ApiError};
use domain::{AgentId, RoomId, RunId, UserId};
use futures_util::stream::{self, StreamExt, TryStreamExt};
use protocol::frame::Event;
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use crate::message::Message;
use crate::names::Names;

/// Events of a page.
const PAGE: u32 = 100;
/// Pages that are read for one run: a room full of reactions is not read to its beginning.
const MOST_PAGES: usize = 10;
/// Runs that are read at one time.
const AT_ONCE: usize = 4;

/// Something said.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Said {
    by: Speaker,
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Speaker {
    Person(Uuid),
    Agent(Uuid),
}

/// An entry of the log that may have something said.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Entry {
    Message(Said),
    Run { run: RunId, agent: AgentId },
}

/// Reads what a model needs to know for a run: at most `limit` entries of the room, and what is asked.
///
/// # Errors
///
/// The room can't be read.
pub(crate) async fn conversation(
    api: &Api,
    names: &Names,
    me: &client::api::Agent,
    asked: &RunRequested,
    limit: usize,
) -> Result<Vec<Message>, ApiError> {
    let mut entries = entries(api, asked.room_id, limit.max(1)).await?;
    let question = question(asked);
    let asker = speaker(&asked.requester.kind, asked.requester.id);
    let is_question = |entry: &Entry| matches!(entry, Entry::Message(said) if Some(said.by) == asker && said.text == question);
    let place = entries.iter().rposition(is_question);
    entries.truncate(place.map_or(entries.len(), |place| place + 1));
    entries.retain(|entry| !matches!(entry, Entry::Run { run, .. } if *run == asked.run_id));
    let mut said = spoken(api, entries).await?;
    if place.is_none() {
        said.extend(asker.map(|by| Said { by, text: question }));
    }
    Ok(messages(said, names, me).await)
}

/// The newest entries of a room, oldest first.
async fn entries(api: &Api, room: RoomId, limit: usize) -> Result<Vec<Entry>, ApiError> {
    let mut found = Vec::new();
    let mut edits = HashMap::new();
    let mut range = Range::Newest;
    for _ in 0..MOST_PAGES {
        let EventPage { items, floor, .. } = api.events(room, &range, Some(PAGE)).await?;
        let Some(first) = items.first().map(|event| event.seq) else { break };
        for event in items.iter().rev() {
            found.extend(entry(event, &mut edits));
        }
        if found.len() >= limit || first <= floor + 1 {
            break;
        }
        range = Range::Before(first);
    }
    found.truncate(limit);
    found.reverse();
    Ok(found)
}

/// Read backwards: the newest edit of a message comes before the message.
fn entry(event: &Event, edits: &mut HashMap<Uuid, String>) -> Option<Entry> {
    #[derive(Deserialize)]
    struct Edited {
        event_id: Uuid,
        body: String,
    }
    #[derive(Deserialize)]
    struct Created {
        body: String,
    }
    #[derive(Deserialize)]
    struct Begun {
        run_id: RunId,
        agent_id: AgentId,
    }
    let data = event.data.get();
    match event.kind.as_str() {
        "message.edited" => {
            let Edited { event_id, body } = serde_json::from_str(data).ok()?;
            edits.entry(event_id).or_insert(body);
            None
        }
        "message.created" => {
            let Created { body } = serde_json::from_str(data).ok()?;
            // A deleted message has none, whatever it was edited to.
            let text = if body.is_empty() { body } else { edits.remove(&event.id).unwrap_or(body) };
            let by = speaker(&event.sender.kind, event.sender.id)?;
            (!text.is_empty()).then_some(Entry::Message(Said { by, text }))
        }
        "run.created" => {
            let Begun { run_id, agent_id } = serde_json::from_str(data).ok()?;
            Some(Entry::Run { run: run_id, agent: agent_id })
        }
        _ => None,
    }
}

fn speaker(kind: &str, id: Option<Uuid>) -> Option<Speaker> {
    match kind {
        "user" => id.map(Speaker::Person),
        "agent" => id.map(Speaker::Agent),
        _ => None,
    }
}

/// What was said in each entry: of runs what they were asked, unless a message did that, and what they answered.
async fn spoken(api: &Api, entries: Vec<Entry>) -> Result<Vec<Said>, ApiError> {
    let reading = entries.into_iter().map(|entry| async move {
        match entry {
            Entry::Message(said) => Ok((Some(said), None)),
            Entry::Run { run, agent } => ran(api, run, agent).await,
        }
    });
    let mut pairs = stream::iter(reading).buffered(AT_ONCE);
    let mut said: Vec<Said> = Vec::new();
    while let Some((asked, answered)) = pairs.try_next().await? {
        // The message that asks for a run comes right before it.
        said.extend(asked.filter(|asked| answered.is_none() || said.last() != Some(asked)));
        said.extend(answered);
    }
    Ok(said)
}

/// What a run was asked and what it answered, if it is over and said something.
async fn ran(api: &Api, run: RunId, agent: AgentId) -> Result<(Option<Said>, Option<Said>), ApiError> {
    let run = match api.run(run).await {
        Ok(run) => run,
        // No longer kept.
        Err(error) if error.status() == Some(404) => return Ok((None, None)),
        Err(error) => return Err(error),
    };
    let items = run.doc["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    let texts = items.iter().filter(|item| item["type"] == "text").filter_map(|item| item["text"].as_str());
    let text = texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n");
    if !run.status.is_final() || text.is_empty() {
        return Ok((None, None));
    }
    let asker = run.requested_by.and_then(|by| speaker(&by.kind, by.id));
    let asked = asker.map(|by| Said { by, text: text_of(&run.input) });
    Ok((asked, Some(Said { by: Speaker::Agent(agent.0), text })))
}

/// The question of a run: text as it is, the text of an object that has one, or the JSON.
pub(crate) fn text_of(input: &Value) -> String {
    let text = match input {
        Value::String(text) => Some(text.as_str()),
        Value::Object(members) => ["text", "prompt", "question", "message", "body"]
            .iter()
            .find_map(|name| members.get(*name)?.as_str()),
        _ => None,
    };
    text.map_or_else(|| input.to_string(), str::to_owned)
}

/// The question of a run that is asked for.
pub(crate) fn question(asked: &RunRequested) -> String {
    // It was JSON when it came.
    text_of(&serde_json::from_str(asked.input.get()).unwrap_or_default())
}

async fn messages(said: Vec<Said>, names: &Names, me: &client::api::Agent) -> Vec<Message> {
    let is_me = |speaker: Speaker| speaker == Speaker::Agent(me.id.0);
    let others: HashSet<Speaker> = said.iter().map(|said| said.by).filter(|by| !is_me(*by)).collect();
    let mut messages: Vec<Message> = Vec::new();
    for Said { by, text } in said {
        let message = if is_me(by) {
            Message::Assistant { content: Some(text), tool_calls: Vec::new() }
        } else {
            let text = without_mention(&text, &me.handle);
            let name = if others.len() > 1 { names.of(by.into()).await } else { None };
            Message::User { content: name.map_or(text.to_owned(), |name| format!("{name}: {text}")) }
        };
        match (messages.last_mut(), message) {
            (Some(Message::User { content }), Message::User { content: more }) => {
                content.push('\n');
                content.push_str(&more);
            }
            (
                Some(Message::Assistant { content: Some(content), .. }),
                Message::Assistant { content: Some(more), .. },
            ) => {
                content.push_str("\n\n");
                content.push_str(&more);
            }
            // What it answered to was cut off.
            (None, Message::Assistant { .. }) => {}
            (_, message) => messages.push(message),
        }
    }
    messages
}

/// A question without the handle that it begins with: the model knows that it is asked.
fn without_mention<'a>(text: &'a str, handle: &str) -> &'a str {
    let rest = text.trim_start().strip_prefix('@').and_then(|rest| {
        let (begin, rest) = rest.split_at_checked(handle.len())?;
        begin.eq_ignore_ascii_case(handle).then_some(rest)
    });
    match rest {
        Some(rest) if rest.starts_with(|next: char| next.is_whitespace() || ",:;".contains(next)) => {
            rest.trim_start_matches(|next: char| next.is_whitespace() || ",:;".contains(next))
        }
        _ => text,
    }
}

impl From<Speaker> for crate::names::Who {
    fn from(speaker: Speaker) -> Self {
        match speaker {
            Speaker::Person(id) => Self::Person(UserId(id)),
            Speaker::Agent(id) => Self::Agent(AgentId(id)),
        }
    }
}

#[cfg(test)]
mod tests;
