//! The tools that a model may call: those of the browser of whoever asks.

use client::consumer::{NewToolCall, RunError, RunHandle, ToolError};
use domain::UserId;
use serde_json::{Value, json};
use std::time::Duration;

use crate::message::Called;

/// Tools as the model is told of them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tools {
    definitions: Vec<Value>,
}

impl Tools {
    /// Reads definitions: a JSON array of `{"type": "function", "function": {"name", "description", "parameters"}}`.
    ///
    /// # Errors
    ///
    /// What is wrong with them, in words.
    pub fn parse(text: &str) -> Result<Self, String> {
        let definitions: Vec<Value> =
            serde_json::from_str(text).map_err(|error| format!("no JSON array: {error}"))?;
        let mut names = Vec::new();
        for (position, definition) in definitions.iter().enumerate() {
            let name = definition["function"]["name"].as_str().filter(|name| !name.is_empty());
            match name {
                Some(name) if definition["type"] == "function" && !names.contains(&name) => names.push(name),
                Some(name) if names.contains(&name) => {
                    return Err(format!("[{position}]: {name} is named twice"));
                }
                _ => {
                    return Err(format!(
                        "[{position}]: allowed is {{\"type\": \"function\", \"function\": {{\"name\": ..., \
                         \"description\": ..., \"parameters\": ...}}}}"
                    ));
                }
            }
        }
        Ok(Self { definitions })
    }

    pub(crate) fn definitions(&self) -> &[Value] {
        &self.definitions
    }

    fn has(&self, name: &str) -> bool {
        self.definitions.iter().any(|definition| definition["function"]["name"] == name)
    }
}

/// What the model is told of a call.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) content: String,
    pub(crate) went_well: bool,
}

impl Outcome {
    fn failed(why: &str) -> Self {
        Self { content: json!({ "error": why }).to_string(), went_well: false }
    }
}

/// Calls a tool in the browser of a person. What goes wrong with the call is told to the model.
///
/// # Errors
///
/// The run is over, lost, or to be stopped.
pub(crate) async fn call(
    run: &RunHandle,
    tools: &Tools,
    person: Option<UserId>,
    timeout: Option<Duration>,
    called: &Called,
) -> Result<Outcome, RunError> {
    if !tools.has(&called.name) {
        return Ok(Outcome::failed("there is no such tool"));
    }
    let Some(user) = person else {
        return Ok(Outcome::failed("nobody is there to ask: an agent asked, not a person"));
    };
    // Some models leave them out where there are none.
    let arguments = if called.arguments.trim().is_empty() { "{}" } else { &called.arguments };
    let args = match serde_json::from_str(arguments) {
        Ok(args) => args,
        Err(error) => return Ok(Outcome::failed(&format!("the arguments are no JSON: {error}"))),
    };
    match run.call_tool(NewToolCall { tool: called.name.clone(), args, user, timeout }).await {
        Ok(result) => Ok(Outcome { content: result.get().to_owned(), went_well: true }),
        Err(ToolError::Failed(why)) => Ok(Outcome::failed(&why)),
        Err(ToolError::Expired) => Ok(Outcome::failed("nobody answered in time")),
        Err(ToolError::Run(RunError::Refused { detail, .. })) => Ok(Outcome::failed(&detail)),
        Err(ToolError::Cancelled) => Err(RunError::Lost("the call was cancelled".to_owned())),
        Err(ToolError::Run(why)) => Err(why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_looked_at_when_they_are_read() {
        let good = r#"[{"type":"function","function":{"name":"open_page","parameters":{"type":"object"}}}]"#;
        let tools = Tools::parse(good).expect("good");
        assert!(tools.has("open_page") && !tools.has("close_page"));
        for (bad, reason) in [
            ("{}", "no JSON array"),
            (r#"[{"name":"open_page"}]"#, "[0]: allowed is"),
            (r#"[{"type":"function","function":{"name":""}}]"#, "[0]: allowed is"),
            (
                &format!("[{},{}]", &good[1..good.len() - 1], &good[1..good.len() - 1]),
                "[1]: open_page is named twice",
            ),
        ] {
            let refused = Tools::parse(bad).expect_err(bad);
            assert!(refused.contains(reason), "{refused}");
        }
    }
}
