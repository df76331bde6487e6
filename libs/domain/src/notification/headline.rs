//! What a notification says on a screen.

use super::NotificationKind;
use crate::run::RunStatus;

/// Characters of a message that are shown.
const EXCERPT: usize = 200;

/// What is known of a notification, to be said in two lines.
#[derive(Debug, Clone, Copy, Default)]
pub struct Subject<'a> {
    /// What the one is called whose doing it is.
    pub sender: Option<&'a str>,
    /// What the room is called; a dm has no name.
    pub room: Option<&'a str>,
    /// The message.
    pub body: Option<&'a str>,
    /// How the run ended.
    pub run_status: Option<RunStatus>,
    /// The tool that is called.
    pub tool: Option<&'a str>,
}

/// Two lines for a screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Headline {
    /// From whom, and where.
    pub title: String,
    /// What.
    pub body: String,
}

impl Headline {
    /// The lines of a notification; `previews` says whether they tell what was written.
    #[must_use]
    pub fn of(kind: NotificationKind, subject: &Subject<'_>, previews: bool) -> Self {
        let sender = subject.sender.unwrap_or("Somebody");
        let title = match subject.room {
            Some(room) => format!("{sender} in {room}"),
            None => sender.to_owned(),
        };
        Self { title, body: body(kind, subject, previews) }
    }
}

fn body(kind: NotificationKind, subject: &Subject<'_>, previews: bool) -> String {
    let written = subject.body.filter(|_| previews);
    match kind {
        NotificationKind::Mention => written.map_or_else(|| "Mentioned you".to_owned(), excerpt),
        NotificationKind::DirectMessage => written.map_or_else(|| "Sent you a message".to_owned(), excerpt),
        NotificationKind::RunFinished => match subject.run_status {
            Some(RunStatus::Succeeded) => "Is done",
            Some(RunStatus::Expired) => "Took too long",
            _ => "Could not do it",
        }
        .to_owned(),
        NotificationKind::RunWaiting => asks("Waits for you", subject.tool.filter(|_| previews)),
        NotificationKind::ToolCall => asks("Asks you", subject.tool.filter(|_| previews)),
    }
}

fn asks(text: &str, tool: Option<&str>) -> String {
    tool.map_or_else(|| text.to_owned(), |tool| format!("{text}: {tool}"))
}

/// The first characters of a message.
fn excerpt(text: &str) -> String {
    let mut shown: String = text.chars().take(EXCERPT).collect();
    if shown.len() < text.len() {
        shown.push_str("...");
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUBJECT: Subject<'_> = Subject {
        sender: Some("Sam"),
        room: Some("Garden"),
        body: Some("Soup?"),
        run_status: Some(RunStatus::Succeeded),
        tool: Some("locate"),
    };

    #[test]
    fn each_kind_has_its_words() {
        for (kind, with, without) in [
            (NotificationKind::Mention, "Soup?", "Mentioned you"),
            (NotificationKind::DirectMessage, "Soup?", "Sent you a message"),
            (NotificationKind::RunFinished, "Is done", "Is done"),
            (NotificationKind::RunWaiting, "Waits for you: locate", "Waits for you"),
            (NotificationKind::ToolCall, "Asks you: locate", "Asks you"),
        ] {
            assert_eq!(Headline::of(kind, &SUBJECT, true).body, with);
            assert_eq!(Headline::of(kind, &SUBJECT, false).body, without);
        }
        assert_eq!(Headline::of(NotificationKind::Mention, &SUBJECT, true).title, "Sam in Garden");
        let alone = Subject { room: None, ..SUBJECT };
        assert_eq!(Headline::of(NotificationKind::DirectMessage, &alone, true).title, "Sam");
    }

    #[test]
    fn long_messages_are_cut_between_characters() {
        let long = "\u{1F332}".repeat(5000);
        let shown =
            Headline::of(NotificationKind::DirectMessage, &Subject { body: Some(&long), ..SUBJECT }, true);
        assert_eq!(shown.body.chars().count(), EXCERPT + 3);
    }
}
