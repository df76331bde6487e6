//! One answer: what a model says, put into the document of a run as it comes.

use client::consumer::{RunError, RunHandle};
use serde_json::json;

use crate::error::ModelError;
use crate::message::Called;
use crate::model::Piece;

/// Tool calls of one answer; a model that wants more is out of its mind.
const MOST_CALLS: usize = 16;
/// Longest arguments of a tool call.
const MOST_ARGUMENTS: usize = 64 * 1024;
/// As much of a result is shown in the document.
const MOST_SHOWN: usize = 4 * 1024;

/// Why a run did not come to its answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error("the room can't be read")]
    Room(#[from] client::ApiError),
    #[error(transparent)]
    Run(#[from] RunError),
}

/// What is shown of one answer of a model. A run has one of them for each round of tool calls.
pub(crate) struct Answer<'a> {
    run: &'a RunHandle,
    round: usize,
    text: String,
    has_reasoning: bool,
    calls: Vec<Called>,
    /// Why it ended.
    finish: Option<String>,
}

/// An answer that is whole.
#[derive(Debug)]
pub(crate) struct Whole {
    pub(crate) text: String,
    pub(crate) calls: Vec<Called>,
}

impl<'a> Answer<'a> {
    pub(crate) fn new(run: &'a RunHandle, round: usize) -> Self {
        Self { run, round, text: String::new(), has_reasoning: false, calls: Vec::new(), finish: None }
    }

    /// Whether something of it is shown: it can't be asked for again.
    pub(crate) fn is_begun(&self) -> bool {
        self.has_reasoning || !self.text.is_empty() || !self.calls.is_empty()
    }

    pub(crate) fn take(&mut self, piece: Piece) -> Result<(), Failure> {
        match piece {
            Piece::Text(text) => self.say(&text)?,
            Piece::Reasoning(text) => self.think(&text)?,
            Piece::Call { index, id, name, arguments } => self.call(index, id, name, &arguments)?,
            Piece::Finished(reason) => self.finish = Some(reason),
        }
        Ok(())
    }

    fn say(&mut self, text: &str) -> Result<(), RunError> {
        let id = format!("text-{}", self.round);
        if self.text.is_empty() {
            self.run.push_item(json!({ "id": id, "type": "text", "text": "" }))?;
        }
        self.text.push_str(text);
        self.run.append_text(&id, &without_nul(text))
    }

    fn think(&mut self, text: &str) -> Result<(), RunError> {
        let id = format!("reasoning-{}", self.round);
        if !self.has_reasoning {
            self.run.push_item(json!({ "id": id, "type": "reasoning", "text": "" }))?;
            self.has_reasoning = true;
        }
        self.run.append_text(&id, &without_nul(text))
    }

    fn call(
        &mut self,
        index: usize,
        id: Option<String>,
        name: Option<String>,
        arguments: &str,
    ) -> Result<(), Failure> {
        let unreadable = |why: &str| Failure::Model(ModelError::Unreadable(why.to_owned()));
        if index >= MOST_CALLS {
            return Err(unreadable("too many tool calls at once"));
        }
        let item = item_id(self.round, index);
        if index == self.calls.len() {
            let name = name.ok_or_else(|| unreadable("a tool call without a name"))?;
            let shown = json!({
                "id": item, "type": "tool", "tool": without_nul(&name), "arguments": "", "state": "asked",
            });
            self.run.push_item(shown)?;
            self.calls.push(Called {
                id: id.unwrap_or_else(|| item.clone()),
                name,
                arguments: String::new(),
            });
        }
        let Some(call) = self.calls.get_mut(index) else {
            return Err(unreadable("a tool call out of turn"));
        };
        if arguments.is_empty() {
            return Ok(());
        }
        if call.arguments.len() + arguments.len() > MOST_ARGUMENTS {
            return Err(unreadable("the arguments of a tool call are too long"));
        }
        call.arguments.push_str(arguments);
        Ok(self.run.append(&item, "arguments", &without_nul(arguments))?)
    }

    /// The answer, now that nothing more comes.
    pub(crate) fn whole(self) -> Result<Whole, Failure> {
        match self.finish.as_deref() {
            Some("content_filter") => return Err(ModelError::Stopped("content_filter".to_owned()).into()),
            Some("length") if self.is_begun() => {
                let text = "The answer is not whole: the model may not say more at once.";
                self.run.push_item(
                    json!({ "id": format!("status-{}", self.round), "type": "status", "text": text }),
                )?;
            }
            _ => {}
        }
        if self.text.is_empty() && self.calls.is_empty() {
            return Err(ModelError::Empty.into());
        }
        Ok(Whole { text: self.text, calls: self.calls })
    }
}

/// Shows what came of a tool call.
pub(crate) fn show_result(
    run: &RunHandle,
    round: usize,
    index: usize,
    outcome: &crate::tools::Outcome,
) -> Result<(), RunError> {
    let item = item_id(round, index);
    let shown = &outcome.content[..outcome.content.floor_char_boundary(MOST_SHOWN)];
    run.set(&item, "result", without_nul(shown).into())?;
    run.set(&item, "state", if outcome.went_well { "done" } else { "failed" }.into())
}

/// Says of tool calls that nobody waits for any more that they were given up.
pub(crate) fn give_up_calls(run: &RunHandle) {
    let document = run.document();
    let items = document.value()["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    for item in items.iter().filter(|item| item["type"] == "tool" && item["state"] == "asked") {
        if let Some(id) = item["id"].as_str() {
            // A run that is over shows what it shows.
            let _ = run.set(id, "state", "cancelled".into());
        }
    }
}

fn item_id(round: usize, index: usize) -> String {
    format!("call-{round}-{index}")
}

/// A document can't hold NUL.
fn without_nul(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}
