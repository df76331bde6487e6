//! An agent that needs no model, to see what agents can do.

use std::time::Duration;

use client::consumer::{Choice, NewToolCall, Question, RunError, RunHandle, RunRequested, Work};
use domain::run::FinishStatus;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::history::question;

/// The most that it counts to.
const MOST: u32 = 1000;
/// How long a browser has to say where it is.
const TOOL_TIMEOUT: Duration = Duration::from_secs(20);
/// The text item of each answer.
const ANSWER: &str = "answer";

/// What it can be asked, for `/demo`.
const QUESTIONS: [(&str, &str); 3] = [
    ("count to 10 slowly", "counts, so that there is time to stop it"),
    ("hello", "says what it was told"),
    ("what time is it", "asks your browser for its time zone"),
];

/// Answers in a room by streaming text: repeats what it was asked, counts (`count to 10 slowly`), tells the time by a tool call
/// (`time_zone`) of the browser, and completes `/demo`.
#[derive(Debug, Clone, Copy)]
pub struct Demo {
    /// The pause between two words.
    pub word: Duration,
    /// The pause between two numbers.
    pub number: Duration,
}

impl Default for Demo {
    fn default() -> Self {
        Self { word: Duration::from_millis(60), number: Duration::from_millis(700) }
    }
}

impl Work for Demo {
    async fn work(&self, asked: RunRequested, run: RunHandle) {
        let answered = tokio::select! {
            () = run.stop().cancelled() => None,
            answered = self.answer(&asked, &run) => Some(answered),
        };
        let (status, error) = match answered {
            None => (FinishStatus::Cancelled, None),
            Some(Ok(())) => (FinishStatus::Succeeded, None),
            Some(Err(why)) => (FinishStatus::Failed, Some(why.to_string())),
        };
        if let Err(why) = run.finish(status, error.as_deref()).await {
            tracing::debug!(%why, run = %asked.run_id, "a run was not finished");
        }
    }

    async fn complete(&self, question: Question) -> Vec<Choice> {
        if question.command.trim_start_matches('/') != "demo" {
            return Vec::new();
        }
        let begin = question.input.trim_start().to_lowercase();
        let fitting = QUESTIONS.iter().filter(|(value, _)| value.starts_with(&begin));
        fitting
            .map(|(value, label)| Choice { value: (*value).to_owned(), label: Some((*label).to_owned()) })
            .collect()
    }
}

impl Demo {
    async fn answer(&self, asked: &RunRequested, run: &RunHandle) -> Result<(), RunError> {
        let text = question(asked);
        let asked_for = without_mention(&text).trim();
        let plain = asked_for.to_lowercase();
        if let Some(last) = count_to(&plain) {
            let pause = if plain.contains("slowly") { self.number } else { self.word };
            return count(run, last, pause).await;
        }
        if plain.contains("what time is it") {
            let told = tell_time(run, asked).await?;
            return self.say(run, &told).await;
        }
        let repeated = format!(
            "Hello! You said: {asked_for}\n\nI am the demo agent. Ask me what time is it, or let me count to 10 slowly and stop me."
        );
        self.say(run, &repeated).await
    }

    /// Says a text word by word.
    async fn say(&self, run: &RunHandle, text: &str) -> Result<(), RunError> {
        run.push_item(json!({ "id": ANSWER, "type": "text", "text": "" }))?;
        for word in text.split_inclusive(char::is_whitespace) {
            run.append_text(ANSWER, word)?;
            sleep(self.word).await;
        }
        Ok(())
    }
}

async fn count(run: &RunHandle, last: u32, pause: Duration) -> Result<(), RunError> {
    run.push_item(json!({ "id": ANSWER, "type": "text", "text": "" }))?;
    for number in 1..=last {
        let end = if number == last { "." } else { ", " };
        run.append_text(ANSWER, &format!("{number}{end}"))?;
        sleep(pause).await;
    }
    Ok(())
}

/// Asks the browser of whoever asks where it is.
async fn tell_time(run: &RunHandle, asked: &RunRequested) -> Result<String, RunError> {
    let now = Timestamp::now();
    let utc = now.to_zoned(TimeZone::UTC).strftime("%H:%M");
    let Some(user) = asked.person() else { return Ok(format!("In UTC it is {utc}.")) };
    run.push_item(json!({ "id": "zone", "type": "tool", "tool": "time_zone", "state": "asked" }))?;
    let call =
        NewToolCall { tool: "time_zone".to_owned(), args: json!({}), user, timeout: Some(TOOL_TIMEOUT) };
    let (state, told) = match run.call_tool(call).await {
        Ok(result) => match serde_json::from_str(result.get()).ok().as_ref().and_then(zone) {
            Some((name, zone)) => {
                let time = now.to_zoned(zone).strftime("%H:%M");
                ("done", format!("It is {time} where you are ({name})."))
            }
            None => ("failed", format!("Your browser named no time zone that I know. In UTC it is {utc}.")),
        },
        Err(why) => ("failed", format!("Your browser did not say where it is: {why}. In UTC it is {utc}.")),
    };
    run.set("zone", "state", state.into())?;
    Ok(told)
}

/// The zone that a browser names: `"Europe/Berlin"`, or an object with `time_zone`.
fn zone(result: &Value) -> Option<(&str, TimeZone)> {
    let name = result.as_str().or_else(|| result["time_zone"].as_str())?;
    TimeZone::get(name).ok().map(|zone| (name, zone))
}

/// The number in `count to 10`.
fn count_to(question: &str) -> Option<u32> {
    let (_, rest) = question.split_once("count to ")?;
    let digits = rest.split(|next: char| !next.is_ascii_digit()).next()?;
    digits.parse().ok().filter(|last| (1..=MOST).contains(last))
}

/// A question without the name that it begins with.
fn without_mention(text: &str) -> &str {
    match text.trim_start().strip_prefix('@').and_then(|rest| rest.split_once(char::is_whitespace)) {
        Some((_, question)) => question,
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use domain::{RoomId, UserId};
    use uuid::Uuid;

    use super::*;

    #[test]
    fn it_understands_what_it_is_asked() {
        assert_eq!(count_to("please count to 12 slowly"), Some(12));
        for text in ["count to", "count to 0", "count to 1001", "count to ten", "to 12"] {
            assert_eq!(count_to(text), None, "{text}");
        }
        assert_eq!(without_mention("@demo hello there"), "hello there");
        assert_eq!(without_mention("hello @demo"), "hello @demo");
        assert_eq!(without_mention("@demo"), "@demo");
    }

    #[test]
    fn it_knows_time_zones_wherever_it_runs() {
        for named in [json!("Europe/Berlin"), json!({ "time_zone": "Asia/Kolkata" })] {
            let (name, zone) = zone(&named).expect("known");
            let offset = Timestamp::UNIX_EPOCH.to_zoned(zone).offset().seconds();
            assert_eq!(offset, if name == "Europe/Berlin" { 3600 } else { 19800 });
        }
        assert!(zone(&json!("Moon/Crater")).is_none() && zone(&json!(7)).is_none());
    }

    #[tokio::test]
    async fn it_completes_its_own_command_by_what_was_typed() {
        let question = |command: &str, input: &str| Question {
            request_id: Uuid::nil(),
            room_id: RoomId::new(),
            user_id: UserId::new(),
            command: command.to_owned(),
            input: input.to_owned(),
        };
        let values = async |command, input| -> Vec<String> {
            let choices = Demo::default().complete(question(command, input)).await;
            choices.into_iter().map(|choice| choice.value).collect()
        };
        assert_eq!(values("demo", "").await.len(), 3);
        assert_eq!(values("/demo", "Co").await, ["count to 10 slowly"]);
        assert!(values("demo", "x").await.is_empty() && values("lunch", "").await.is_empty());
    }
}
