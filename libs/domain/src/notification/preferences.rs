//! What a person wants to be told, and when not.

use jiff::Timestamp;
use jiff::civil::{Time, Weekday};
use serde::{Deserialize, Serialize};

use super::NotificationKind;
use crate::error::Invalid;
use crate::schedule::Zone;

/// What a person wants of notifications. What is not wanted stays in the list, without hint and push.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Preferences {
    /// Messages that name them.
    pub mentions: bool,
    /// Messages in rooms of two.
    pub direct_messages: bool,
    /// Runs that they asked for: at their end.
    pub runs: bool,
    /// Tool calls that wait for them, of their own runs and of others'.
    pub tool_calls: bool,
    /// Whether a push says what was written; else only from whom and where.
    pub previews: bool,
    /// When they are not to be disturbed.
    pub dnd: DoNotDisturb,
}

impl Default for Preferences {
    fn default() -> Self {
        Self {
            mentions: true,
            direct_messages: true,
            runs: true,
            tool_calls: true,
            previews: true,
            dnd: DoNotDisturb::default(),
        }
    }
}

impl Preferences {
    /// Whether a kind is wanted.
    #[must_use]
    pub const fn wants(&self, kind: NotificationKind) -> bool {
        match kind {
            NotificationKind::Mention => self.mentions,
            NotificationKind::DirectMessage => self.direct_messages,
            NotificationKind::RunFinished => self.runs,
            NotificationKind::RunWaiting | NotificationKind::ToolCall => self.tool_calls,
        }
    }
}

/// When a person is not to be disturbed: until a time, at certain hours, or both.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DoNotDisturb {
    /// Not before this time.
    pub until: Option<Timestamp>,
    /// At these hours.
    pub hours: Option<QuietHours>,
}

impl DoNotDisturb {
    /// Whether it holds at a time.
    #[must_use]
    pub fn holds_at(&self, now: Timestamp) -> bool {
        self.until.is_some_and(|until| now < until)
            || self.hours.as_ref().is_some_and(|hours| hours.hold_at(now))
    }
}

/// Hours of the day, as the clock on the person's wall shows them.
///
/// From `from` until before `to`; over midnight when `from` is the later one, the whole day when both are the same. `days` are those on
/// which they begin. When the clock is put forward, what it does not show does not hold; when it is put back,
/// what it shows twice holds twice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct QuietHours {
    from: Time,
    to: Time,
    zone: Zone,
    days: Vec<Weekday>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Written {
    from: String,
    to: String,
    timezone: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    days: Vec<String>,
}

const DAYS: [(&str, Weekday); 7] = [
    ("mon", Weekday::Monday),
    ("tue", Weekday::Tuesday),
    ("wed", Weekday::Wednesday),
    ("thu", Weekday::Thursday),
    ("fri", Weekday::Friday),
    ("sat", Weekday::Saturday),
    ("sun", Weekday::Sunday),
];

impl QuietHours {
    /// Hours from `from` to `to` (`HH:MM`) in a zone of the IANA database, beginning on these days (`mon` to `sun`; none given: every
    /// day).
    ///
    /// # Errors
    ///
    /// The field that is not good: `dnd.hours`, and where inside.
    pub fn new(from: &str, to: &str, timezone: &str, days: &[&str]) -> Result<Self, Invalid> {
        Ok(Self {
            from: time(from).map_err(|error| error.inside(".from"))?,
            to: time(to).map_err(|error| error.inside(".to"))?,
            zone: Zone::get(timezone)
                .map_err(|error| Invalid { field: "dnd.hours", ..error }.inside(".timezone"))?,
            days: weekdays(days)?,
        })
    }

    fn hold_at(&self, now: Timestamp) -> bool {
        let shown = self.zone.shows(now);
        let (day, time) = (shown.date(), shown.time());
        let on = |day: jiff::civil::Date| self.days.is_empty() || self.days.contains(&day.weekday());
        if self.from < self.to {
            return self.from <= time && time < self.to && on(day);
        }
        let began_today = self.from <= time && on(day);
        let began_yesterday = time < self.to && day.yesterday().is_ok_and(on);
        began_today || began_yesterday
    }
}

fn time(text: &str) -> Result<Time, Invalid> {
    let (hour, minute) = text.split_once(':').unwrap_or_default();
    let two_digits = |text: &str| text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = |text: &str| two_digits(text).then(|| text.parse::<i8>().ok()).flatten();
    number(hour)
        .zip(number(minute))
        .and_then(|(hour, minute)| Time::new(hour, minute, 0, 0).ok())
        .ok_or_else(|| Invalid::new("dnd.hours", text, "a time of the day such as 22:00"))
}

fn weekdays(names: &[&str]) -> Result<Vec<Weekday>, Invalid> {
    let mut days = Vec::new();
    for text in names {
        let known = DAYS.iter().find(|(name, _)| name == text).map(|(_, day)| *day);
        match known.filter(|day| !days.contains(day)) {
            Some(day) => days.push(day),
            None => {
                let allowed = "mon, tue, wed, thu, fri, sat or sun, each once";
                return Err(Invalid::new("dnd.hours", text, allowed).inside(".days"));
            }
        }
    }
    Ok(days)
}

impl TryFrom<Written> for QuietHours {
    type Error = Invalid;

    fn try_from(written: Written) -> Result<Self, Invalid> {
        let days: Vec<&str> = written.days.iter().map(String::as_str).collect();
        Self::new(&written.from, &written.to, &written.timezone, &days)
    }
}

impl From<QuietHours> for Written {
    fn from(hours: QuietHours) -> Self {
        let text = |time: Time| format!("{:02}:{:02}", time.hour(), time.minute());
        let name =
            |day: &Weekday| DAYS.iter().find(|(_, known)| known == day).map(|(name, _)| (*name).into());
        Self {
            from: text(hours.from),
            to: text(hours.to),
            timezone: hours.zone.name().to_owned(),
            days: hours.days.iter().filter_map(name).collect(),
        }
    }
}

#[cfg(test)]
mod tests;
